"""The section of docs/proofs.md on advice that is followed by hand."""

from __future__ import annotations

from collections.abc import Iterator

from advisor.contract.recommendation import tidy
from advisor.ledger.entry import Outcome
from lab.campaign import records
from lab.outcomes.record import GROUP, MOST_OFF, OutcomeRecord
from lab.outcomes.trial import WINDOW
from lab.reports.markdown import ran_on, table

_TITLES = ("load, server", "followed", "promised", "outcome", "the ledger measured", "the lab counted", "closed after")
_HEAD = f"""\

## Outcomes

`make outcomes` follows advice by hand under a load that goes on, while the sidecar's sampler and its ledger watch. The
ledger has to close an outcome whose measurement is within {MOST_OFF:.0%} of the lab's own count: pages that the
server's status counts, for the work that the clients count. Where a batch job begins at the same time, the outcome has
to be `not comparable`. A window has {WINDOW:g} s here, and five minutes in production.

"""


def section() -> str:
    """The section; empty while there is no record."""
    record = records.load(GROUP)
    if record is None:
        return ""
    found = _found()
    loads = "".join(f"- {name.rpartition(', ')[0]}: {each.about}\n" for name, each in found.items() if "mysql" in name)
    return f"{_HEAD}{loads}\n{table(_TITLES, (_row(name, each) for name, each in found.items()))}\n{ran_on(record)}\n"


def outcomes() -> Iterator[tuple[str, Outcome]]:
    """Each with the load and the server, for the calibration of all predictions."""
    for name, each in _found().items():
        if each.comparable:
            yield f"followed by hand: {name}", each.outcome


def _found() -> dict[str, OutcomeRecord]:
    record = records.load(GROUP)
    return {} if record is None else {name: OutcomeRecord(**data) for name, data in records.data(record).items()}


def _row(name: str, record: OutcomeRecord) -> tuple[str, ...]:
    outcome, measured = record.outcome, record.outcome.measured
    promise = outcome.promise
    return (
        name,
        "; ".join(f"`{each}`" for each in record.applied),
        "–" if promise is None else f"{promise.quantity}: {_change(promise.now, promise.predicted)}",
        outcome.result.value if record.comparable else f"{outcome.result.value}: {outcome.why}",
        "–" if measured is None else _change(measured.before, measured.after),
        _change(*record.counted),
        f"{record.windows:.1f} windows",
    )


def _change(before: float, after: float) -> str:
    return f"{tidy(float(f'{before:.3g}')):,} → {tidy(float(f'{after:.3g}')):,}"
