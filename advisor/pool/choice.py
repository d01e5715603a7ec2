"""The size of the buffer pool that is advised: the smallest that is expected to save nearly as much as the largest."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from advisor.facts import Choice
from advisor.observe.window import Window
from advisor.pool.estimate import Explained
from advisor.pool.model import PoolModel
from advisor.pool.settings import size_as_set
from advisor.pool.tables import GROWTH, written_growth

LARGER = (1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0)
"""Multiples of today's size to try."""
ENOUGH = 0.1
"""Share of the reads that the largest pool saves: memory has its price, so a smaller pool may miss that much."""
EQUAL = 0.005
"""Share of today's reads: candidates that differ by less are equal."""
_BETWEEN, _ROUNDS = 4, 2
"""Sizes to try between two of these, and how often."""


def choose_size(model: PoolModel, at_most: float | None) -> Choice:
    """The smallest size that is expected to save nearly as many reads as the largest one; the most reads are promised.

    Args:
        model: Of the window.
        at_most: Largest size, bytes. It is never more than the machine has memory for, if that is known.

    Raises:
        Unanswerable: The window does not tell enough, or time is over.
    """
    explained, value = model.explained, smallest_size(model, at_most)
    most = (
        explained.evidence.reads
        if value == explained.bytes
        else explained.most(value / explained.bytes / _grown(model.window))
    )
    return _choice(explained, value, most, model.pages_read_per_second)


def smallest_size(model: PoolModel, at_most: float | None) -> float:
    """The size that ``choose_size`` chooses, bytes; today's where no larger one saves anything."""
    explained, window = model.explained, model.window
    grown, today = _grown(window), explained.evidence.reads
    largest = min(at_most or math.inf, model.most_bytes or math.inf, LARGER[-1] * explained.bytes)
    reads = {
        size: explained.planned(size / explained.bytes, grown)
        for size in sorted(_sizes(window, explained.bytes, largest))
    }
    value = _enough(reads, today, explained.bytes)
    for _ in range(_ROUNDS if value != explained.bytes else 0):
        less = max((size for size in reads if size < value), default=explained.bytes)
        step = (value - less) / (_BETWEEN + 1)
        between = {size_as_set(window, less + step * (n + 1)) for n in range(_BETWEEN)}
        reads |= {size: explained.planned(size / explained.bytes, grown) for size in between if less < size < value}
        value = _enough(reads, today, explained.bytes)
    return value


def _grown(window: Window) -> float:
    """How many times as large the tables may be: they grow, and take their part of the pool."""
    return max(GROWTH, written_growth(window))


def _sizes(window: Window, today: float, most: float) -> Iterator[float]:
    """Sizes that the server would set."""
    for times in LARGER:
        size = size_as_set(window, today * times)
        if today < size <= most:
            yield size
    largest = size_as_set(window, most, up=False)
    if largest > today:
        yield largest


def _enough(reads: Mapping[float, float], today: float, now: float) -> float:
    """The smallest size that misses at most ENOUGH of what the best one saves; ``now`` if none saves anything."""
    least = min(reads.values(), default=today)
    if today - least <= EQUAL * today:
        return now
    return min(size for size, read in reads.items() if read <= least + ENOUGH * (today - least))


def _choice(explained: Explained, value: float, most: float, now: float) -> Choice:
    before = explained.evidence.reads
    scale = now / before if before else 1.0  # the reads of this window, which may be a little more than those explained
    size = explained.size(value / explained.bytes)
    then = size.pages_read_per_second.expected
    error = size.error
    return Choice(
        value=value,
        now=None,
        predicted=None,
        model_now=None,
        predicted_by_pct=None,
        read_now=round(now, 2),
        read_predicted=round(scale * then, 2),
        read_most=round(scale * max(most, then), 2),
        model_read_now=round(scale * before, 2),
        cost_now=explained.evidence.pages,
        cost_predicted=explained.evidence.pages * value / explained.bytes,
        saved=scale * (before - then),
        error=error,
        read_error=error,
        confidence=size.confidence,
    )
