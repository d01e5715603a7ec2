"""The measurement of an open outcome: harm as soon as it shows, and the rest once the pool has settled."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial

from advisor.ledger.comparison import LEAST_WINDOWS, matters
from advisor.ledger.entry import Compared, Outcome, Result
from advisor.ledger.grading import grade, promised_quantity
from advisor.ledger.reading import SLICES, Reading, Subject, reading
from advisor.ledger.settling import LIMIT, Settling, is_steady, settling
from advisor.observe.window import Window


def measured(
    outcome: Outcome, before: Reading, window: Window, spared: Collection[Subject], window_seconds: float
) -> Outcome | None:
    """An open outcome that did harm, or that is closed now; None while it is as before.

    It is measured once a slice, from LEAST_WINDOWS windows after the change on.

    Args:
        outcome: An open one.
        before: What was measured before its change.
        window: Since the change, or since a restart that came later.
        spared: As in ``grade``.
        window_seconds: Length of a window that counts as one.
    """
    slice_ = window_seconds / SLICES
    if window.seconds < LEAST_WINDOWS * window_seconds - slice_ / 2 or not _slice_ended(outcome, window, slice_):
        return None
    state = settling(outcome, window, window_seconds)
    promised = () if outcome.promise is None else (promised_quantity(outcome.promise, outcome.subject),)
    graded = partial(grade, outcome, before, spared=spared, window_seconds=window_seconds)
    limit = window.latest.at - outcome.at >= LIMIT * window_seconds - slice_ / 2
    settled = _settled(window, state, window_seconds)
    if limit and settled is None:
        settled = window.recent(LEAST_WINDOWS * window_seconds + slice_ / 2)
    after = None if settled is None else reading(settled, window_seconds, promised, before)
    if after is not None and (limit or is_steady(after, promised, window_seconds)):
        closed = graded(after)
        if limit or closed.result is not Result.NOT_COMPARABLE:
            return _closed(outcome, closed, state)
    if state.warms or outcome.harm or (until_now := reading(window, window_seconds, promised, before)) is None:
        return None
    harmed = graded(until_now)
    return outcome.model_copy(update={"others": harmed.others, "why": "it did harm"}) if harmed.harm else None


def _slice_ended(outcome: Outcome, window: Window, slice_: float) -> bool:
    last, latest = (round((snapshot.at - outcome.at) / slice_) for snapshot in window.snapshots[-2:])
    return last != latest


def _settled(window: Window, state: Settling, window_seconds: float) -> Window | None:
    """The window since the pool settled; None until it has LEAST_WINDOWS windows."""
    if state.since is None:
        return None
    settled = Window(tuple(snapshot for snapshot in window.snapshots if snapshot.at >= state.since))
    return settled if settled.seconds >= (LEAST_WINDOWS - 0.5 / SLICES) * window_seconds else None


def _closed(outcome: Outcome, closed: Outcome, state: Settling) -> Outcome:
    """A closed outcome, with its earlier harm, and with what it still waited for."""
    if closed.result is Result.NOT_COMPARABLE:
        return outcome.ended(closed.why, closed.closed_at or outcome.at)
    update: dict[str, object] = {"others": _with_earlier_harm(outcome.harm, closed.others)}
    if state.since is None:
        update |= {"why": f"{closed.why}; not settled within {LIMIT} windows: {state.why}"}
    return closed.model_copy(update=update)


def _with_earlier_harm(harm: Iterable[Compared], others: Iterable[Compared]) -> tuple[Compared, ...]:
    """The last comparisons. What did harm before is worse while its rise matters."""
    harmed = {(rise.quantity, *rise.subject.items()) for rise in harm}
    return tuple(
        other.model_copy(update={"worse": True})
        if (other.quantity, *other.subject.items()) in harmed
        and float(other.after) - float(other.before) > matters(other.unit, float(other.before))
        else other
        for other in others
    )
