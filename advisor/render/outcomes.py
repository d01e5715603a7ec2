"""The phrases of an outcome: what was changed, predicted and measured."""

from __future__ import annotations

from collections.abc import Iterator

from advisor.contract.recommendation import Number, tidy
from advisor.ledger.entry import Changed, Compared, Found, Outcome, Promise
from advisor.ledger.history import GoneFinding, GradedAdvice, History
from advisor.render.phrases import BYTES, moment, setting_text, shown, statement, value_text

NOTHING = "No change of a setting was seen."
OUTCOMES = "What became of changes"
BESIDE_ADVICE = 10
"""Outcomes that are shown after advice; `history` shows the others."""
FINDINGS = "Findings that stood"
FINDING_COLUMNS = ("rule", "of", "first seen", "last seen", "asked for", "fingerprint")


def head(outcome: Outcome) -> str:
    """When, which settings, and what became of it."""
    return f"{moment(outcome.at)}  {'; '.join(map(change, outcome.changes))}: {outcome.result.value}"


def change(changed: Changed) -> str:
    """A setting with both values."""
    before, after = (
        setting_text(changed.setting, each if each is None or isinstance(each, str) else tidy(float(each)))
        for each in (changed.before, changed.after)
    )
    return f"{changed.setting} {before} -> {after}"


def details(outcome: Outcome) -> Iterator[tuple[str, str]]:
    """The finding, the promise beside what was measured, and what got worse: label and text of each line."""
    return shown(_details(outcome))


def _details(outcome: Outcome) -> Iterator[tuple[str, str]]:
    if outcome.rule is not None:
        of = ".".join(outcome.subject.values())
        advised = "followed" if outcome.followed else "another value than it advises"
        yield "rule", ", ".join(each for each in (outcome.rule, of, advised, outcome.fingerprint) if each)
    if outcome.promise is not None:
        yield "predicted", predicted(outcome.promise)
    if outcome.measured is not None:
        off = "" if outcome.error is None else f", off by {signed(outcome.error)}"
        yield "measured", f"{compared(outcome.measured)}{off}"
    for each in outcome.harm:
        yield "worse", compared(each)
    if outcome.harm:
        for changed in outcome.changes:
            yield from (("take back", statement(sql)) for sql in changed.undo)
            if changed.undo_config and not changed.undo:
                yield "take back", f"{changed.undo_config}, and a restart"
    if outcome.why:
        yield "why", outcome.why


def gone(found: GoneFinding) -> str:
    """Whether a finding is known to be gone."""
    return "not seen now" if found.resolved_at is None else "resolved"


def gone_details(found: GoneFinding) -> Iterator[tuple[str, str]]:
    """Since when and why it is gone: label and text of each line."""
    return shown(_gone_details(found))


def _gone_details(found: GoneFinding) -> Iterator[tuple[str, str]]:
    if found.resolved_at is not None:
        yield "resolved", moment(found.resolved_at)
    yield "because", found.because
    yield "seen", f"{moment(found.first_seen)} to {moment(found.last_seen)}"
    of = ".".join(found.subject.values())
    yield "rule", ", ".join(each for each in (found.rule, of, found.severity.value, found.fingerprint) if each)


def left_out(history: History) -> Iterator[str]:
    """What an answer lacks, and whether it would outlive a restart."""
    if history.more_outcomes:
        yield f"and {history.more_outcomes} older ones"
    if history.more_findings:
        yield f"and {history.more_findings} more findings"
    if history.problem is not None:
        yield f"not kept: {history.problem}"


def older(advice: GradedAdvice) -> Iterator[str]:
    """The outcomes that are not shown after advice."""
    more = len(advice.outcomes) - BESIDE_ADVICE
    if more > 0:
        yield f"and {more} older ones: `innodb-advisor history` has them"


def finding(found: Found) -> tuple[str, str, str, str, str, str]:
    """A finding that stood, as FINDING_COLUMNS."""
    asked = dict.fromkeys(f"{each.setting} = {setting_text(each.setting, each.to)}" for each in found.promises)
    of = ".".join(found.subject.values())
    return found.rule, of, moment(found.first_seen), moment(found.last_seen), ", or ".join(asked), found.fingerprint


def predicted(promise: Promise) -> str:
    """The promised quantity, and the stated error."""
    stated = "" if promise.error is None else f" (at most {share(promise.error)} off)"
    now, then = (_amount(each, promise.unit) for each in (promise.now, promise.predicted))
    return f"{promise.quantity}: {now} -> {then}{stated}"


def compared(found: Compared) -> str:
    """A quantity before and after."""
    of = f" of {'.'.join(found.subject.values())}" if found.subject else ""
    before, after, noise = (_amount(each, found.unit) for each in (found.before, found.after, found.noise))
    return f"{found.quantity}{of}: {before} -> {after} (noise {noise})"


def share(value: Number) -> str:
    """A share in per cent, without its sign: one decimal below ten."""
    percent = 100 * abs(float(value))
    return f"{percent:.0f} %" if percent >= 9.95 else f"{percent:.1f} %"


def signed(value: Number) -> str:
    """A share in per cent with its sign; 0 has none."""
    shown = share(value)
    return shown if float(shown.split()[0]) == 0 else f"{'-' if value < 0 else '+'}{shown}"


def _amount(value: Number, unit: str) -> str:
    return value_text(value if unit.startswith(BYTES) else tidy(float(value)), unit)
