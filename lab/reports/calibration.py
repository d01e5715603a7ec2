"""The calibration of docs/proofs.md: predictions of the lab's records, judged by the code of production."""

from __future__ import annotations

from collections.abc import Iterable

from advisor.ledger.calibration import Calibration, calibration
from advisor.ledger.entry import Compared, Outcome, Promise
from advisor.ledger.verdict import verdict
from advisor.render.calibration_svg import svg
from advisor.render.calibration_text import TITLES, cells
from lab.reports import pictures
from lab.reports.markdown import table

PICTURE = pictures.FOLDER / "proofs" / "calibration.svg"
_HEAD = """\

## The calibration

Every prediction that the proofs, [the gauntlet](#the-gauntlet) and outcomes of advice followed by hand measured, by
rule. Errors are what was measured less what was predicted, relative to the rule's number for today. A promise is kept
if the stated error, or chance, explains what it is off; one that states no error may be 20 % off. The sidecar grades
advice in production by the same code, and `innodb-advisor grade` does so over recordings.

"""


def outcome(rule: str, promise: Promise, measured: Compared, others: Iterable[Compared] = ()) -> Outcome | None:
    """What became of a change in the lab; None where now is 0, for which nothing can be a share of it."""
    judged = verdict(promise, measured)
    if judged is None:
        return None
    result, error = judged
    return Outcome(
        id="",
        at=0.0,
        changes=(),
        rule=rule,
        followed=True,
        promise=promise,
        result=result,
        measured=measured,
        error=error,
        others=tuple(others),
    )


def section(found: Calibration) -> str:
    """The section; empty while there are no records."""
    if not found.predictions:
        return ""
    rows = [(f"`{name}`", *rest) for name, *rest in map(cells, found.rules)]
    summary = f"{found.kept} of {len(found.predictions)} promises are kept.\n"
    link = f"![Measured over predicted, by rule](img/proofs/{PICTURE.name})\n"
    return f"{_HEAD}{summary}\n{table(TITLES, rows)}\n{link}\n"


__all__ = ["PICTURE", "calibration", "outcome", "section", "svg"]
