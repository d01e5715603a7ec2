"""The grade of a change: what was measured before and after it, by the same work."""

from __future__ import annotations

import statistics

from advisor.ledger.entry import Compared, Outcome, Result
from advisor.ledger.reading import Measure, Reading
from advisor.ledger.verdict import verdict

_MATTERS = 0.2


def grade(outcome: Outcome, before: Reading | None, after: Reading) -> Outcome:
    """The outcome, closed."""
    closed = {"closed_at": after.at}
    if before is None:
        why = "what was read before the change is not known"
        return outcome.model_copy(update={**closed, "result": Result.NOT_COMPARABLE, "why": why})
    compared = [found for each in before.measures if (found := _compared(each, after)) is not None]
    promise = outcome.promise
    measured = None
    if promise is not None:
        measured = next(
            (each for each in compared if (each.quantity, each.subject) == (promise.quantity, outcome.subject)), None
        )
    judged = None if promise is None or measured is None else verdict(promise, measured)
    result, error = judged or (Result.UNPROMISED, None)
    return outcome.model_copy(
        update={
            **closed,
            "result": result,
            "why": "measured",
            "measured": measured,
            "error": error,
            "others": tuple(each for each in compared if each is not measured),
        }
    )


def _compared(before: Measure, reading: Reading) -> Compared | None:
    after = reading.measure(before.quantity, before.subject)
    if after is None or before.value is None or after.value is None:
        return None
    noise = 2.0 * (_error(before) ** 2 + _error(after) ** 2) ** 0.5
    rise = after.value - before.value
    return Compared(
        quantity=before.quantity,
        unit=before.unit,
        subject=before.subject,
        before=before.value,
        after=after.value,
        noise=noise,
        worse=rise > noise and rise > _MATTERS * before.value,
    )


def _error(measure: Measure) -> float:
    values = [amount / base for amount, base in zip(measure.amounts, measure.bases, strict=True) if base]
    return statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
