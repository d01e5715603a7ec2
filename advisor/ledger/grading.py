"""The grade of a change: what was measured before and after it, by the same work."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

from advisor.contract.recommendation import Number, tidy
from advisor.ledger.comparison import LevelChange, compared, level_changes, sum_of
from advisor.ledger.entry import Compared, Outcome, Promise, Result
from advisor.ledger.reading import (
    CHECKPOINT_AGE,
    LATENCY,
    MERGES,
    PER_PASS,
    READ,
    WAITED,
    WINDOW_SECONDS,
    PromisedQuantity,
    Reading,
    Subject,
)
from advisor.ledger.work import changed_work
from advisor.observe.limits import MAY_READ

MOST_OTHERS = 12
"""Quantities that an outcome names beside the promised one: what got worse, and then what moved most."""
UNSTATED_ERROR = 0.2
"""The error of a promise that states none: the bound that the proofs hold every effect to."""
_SAME_NOW = 2.0
"""Factor between the quantity before the change and in the finding: beyond it, the finding was of another load."""
OTHERS: Subject = {"tables": "all others"}
"""All other tables than those of the change together, with what is read beside tables."""
IN_ALL = "pages read by the same work"
"""All pages read, over the finding's window."""
PART = "secondary-index pages read per second by inserts and updates"
"""Pages that are read beside others. Nobody counts them alone: all pages read tell by how many they fell."""
AT_MOST = "pages read per second in the worst hour, at most"
"""All pages read, of which a smaller pool promises a bound: most hours read fewer."""
_RATES = (READ, MERGES)
"""Quantities that depend on how much work is done in a second."""


def promised_quantity(promise: Promise, subject: Subject) -> PromisedQuantity:
    """What `reading` has to measure for a promise."""
    return promise.quantity, subject if promise.quantity in PER_PASS else {}


def measurable(quantity: str) -> bool:
    """Whether a promised quantity can be measured in production."""
    return quantity in (*_RATES, IN_ALL, PART, AT_MOST, *PER_PASS, CHECKPOINT_AGE)


def predicted_range(promise: Promise) -> tuple[float, float]:
    """The least and the most that keep a promise, chance left aside."""
    now, predicted = abs(float(promise.now)), float(promise.predicted)
    if promise.quantity == AT_MOST:
        return 0.0, predicted
    margin = _stated_error(promise) * now
    return max(0.0, predicted - margin), predicted + margin


def _stated_error(promise: Promise) -> float:
    return UNSTATED_ERROR if promise.error is None else float(promise.error)


def grade(
    outcome: Outcome,
    before: Reading,
    after: Reading,
    *,
    spared: Collection[Subject] = (),
    window_seconds: float = WINDOW_SECONDS,
) -> Outcome:
    """The outcome, closed.

    Args:
        outcome: With its promise, if anybody promised anything.
        before: What was measured before the change.
        after: What was measured once the pool had settled.
        spared: Subjects that the change was for: their reads and waits are no harm.
        window_seconds: Length of a window that counts as one.
    """
    closed = partial(_closed, outcome, after.at)
    if before.server != after.server:
        return closed(Result.NOT_COMPARABLE, f"the server was {before.server}, and is {after.server} now")
    if reason := changed_work(before, after):
        return closed(Result.NOT_COMPARABLE, reason)
    changes = level_changes(before, after, window_seconds)
    comparisons = len(changes) + 2  # with both sums
    promise = outcome.promise
    measured = None if promise is None else _promised(changes, comparisons, promise, outcome.subject)
    others = [compared(change, comparisons) for change in _others(changes, spared)]
    unpromised = closed(Result.UNPROMISED, _unpromised(outcome), others=_fewest(others), measured=measured)
    return unpromised if promise is None or measured is None else _judged(unpromised, promise, measured)


def verdict(promise: Promise, measured: Compared) -> tuple[Result, float] | None:
    """Kept or missed, and what was measured less what was predicted, relative to now; None where now is 0.

    It is kept if the stated error, or chance, explains what it is off.
    """
    now = abs(float(promise.now))
    if not now:
        return None
    error = (float(measured.after) - float(promise.predicted)) / now
    within_error = abs(error) <= max(_stated_error(promise), float(measured.noise) / now)
    return Result.KEPT if within_error else Result.MISSED, error


def _others(changes: Sequence[LevelChange], spared: Collection[Subject]) -> list[LevelChange]:
    """Reads and waits of each table but the spared ones, of these together, and what else tells of harm."""
    others: list[LevelChange] = []
    for quantity in (READ, WAITED):
        of_others = [change for change in changes if change.quantity == quantity and change.subject not in spared]
        others += [change for change in of_others if change.subject]
        others += [sum_of(of_others, OTHERS if spared else {})] if of_others else []
    return others + [change for change in changes if change.quantity in (LATENCY, CHECKPOINT_AGE)]


def _promised(changes: Sequence[LevelChange], comparisons: int, promise: Promise, subject: Subject) -> Compared | None:
    """The promised quantity; None where it is not measured."""
    if promise.quantity in (READ, IN_ALL, PART, AT_MOST):
        reads = [change for change in changes if change.quantity == READ]
        return _as_promised(compared(sum_of(reads, {}), comparisons), promise) if reads else None
    quantity = promised_quantity(promise, subject)
    change = next((change for change in changes if (change.quantity, change.subject) == quantity), None)
    return None if change is None else compared(change, comparisons)


def _closed(outcome: Outcome, at: float, result: Result, why: str, **measured: object) -> Outcome:
    return outcome.model_copy(
        update={"closed_at": at, "result": result, "why": why, "others": (), "measured": None, **measured}
    )


def _unpromised(outcome: Outcome) -> str:
    if outcome.promise is not None:
        return f"{outcome.promise.quantity}: not measured in production"
    return "nobody advised it" if outcome.rule is None else f"{outcome.rule} advised another value"


def _as_promised(read: Compared, promise: Promise) -> Compared:
    """All pages read as the promised quantity."""
    now, before = float(promise.now), float(read.before)
    if promise.quantity in (READ, AT_MOST) or not before:
        return read
    scale = now / before if promise.quantity == IN_ALL else 1.0
    update = {
        "quantity": promise.quantity,
        "unit": promise.unit,
        "before": now,
        "after": now + scale * (float(read.after) - before),
        "noise": scale * float(read.noise),
    }
    return read.model_copy(update=update)


def _judged(outcome: Outcome, promise: Promise, measured: Compared) -> Outcome:
    """Whether the promise was kept."""
    now, predicted = float(promise.now), float(promise.predicted)
    before, after = float(measured.before), float(measured.after)
    if promise.quantity == AT_MOST:
        return _bounded(outcome, predicted, measured)
    if not now / _SAME_NOW <= before <= now * _SAME_NOW:
        why = f"before the change it was {_shown(before)} {measured.unit}, but {_shown(now)} when it was predicted"
        return outcome.model_copy(update={"result": Result.NOT_COMPARABLE, "why": why})
    # A rate is as many times as high, or as low, as at the time of the prediction: the work of a second is.
    pace = now / before if promise.quantity in _RATES else 1.0
    scaled = {"after": after * pace, "noise": float(measured.noise) * pace}
    if (judged := verdict(promise, measured.model_copy(update=scaled))) is None:
        return outcome
    result, error = judged
    why = f"predicted {_shown(predicted)} after {_shown(now)}, measured {_shown(after)} after {_shown(before)}"
    return outcome.model_copy(update={"result": result, "why": why, "error": float(f"{error:.4g}")})


def _bounded(outcome: Outcome, most: float, measured: Compared) -> Outcome:
    """Whether a bound was kept. What is below it is no error; what is above it counts by the bound."""
    after, noise = float(measured.after), float(measured.noise)
    update: dict[str, object] = {
        "result": Result.KEPT if after <= most + max(noise, MAY_READ) else Result.MISSED,
        "why": f"predicted {_shown(most)} at most, measured {_shown(after)} after {_shown(measured.before)}",
        "error": float(f"{max(0.0, after - most) / max(most, MAY_READ):.4g}"),
    }
    return outcome.model_copy(update=update)


def _shown(value: Number) -> str:
    return f"{tidy(float(value)):,}"


def _fewest(others: Collection[Compared]) -> tuple[Compared, ...]:
    """What got worse, and then what moved most beside its noise."""

    def moved(other: Compared) -> float:
        return abs(other.after - other.before) / (other.noise + 0.01 * abs(other.before) or 1.0)

    ranked = sorted(others, key=lambda other: (not other.worse, other.subject not in ({}, OTHERS), -moved(other)))
    return tuple(ranked[: max(MOST_OTHERS, sum(other.worse for other in others))])
