"""The size of the buffer pool that is advised: the smallest that is expected to save nearly as much as the largest."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from advisor.facts import Choice
from advisor.observe.window import Window
from advisor.pool.estimate import SizeModel
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
    """The smallest size that is expected to save nearly as many reads as the largest one, and the most reads with it.

    Args:
        model: Of the window.
        at_most: Largest size, bytes. Never more than the machine has memory for, where that is known.

    Raises:
        Unanswerable: The evidence is not enough, or time is over.
    """
    sizes, value = model.sizes, smallest_size(model, at_most)
    times = value / sizes.evidence.pool_bytes
    most = sizes.evidence.reads if times == 1.0 else sizes.most(times / _grown(model.window))
    return _choice(sizes, value, most, model.facts.pool.pages_read_per_second or 0.0)


def smallest_size(model: PoolModel, at_most: float | None) -> float:
    """The size that ``choose_size`` chooses, bytes; today's where no larger one saves anything."""
    window, grown = model.window, _grown(model.window)
    pool_bytes, today = model.sizes.evidence.pool_bytes, model.sizes.evidence.reads
    largest = min(at_most or math.inf, model.facts.pool.most_bytes or math.inf, LARGER[-1] * pool_bytes)

    def planned(size: float) -> float:
        return model.sizes.planned(size / pool_bytes, grown)

    reads: dict[float, float] = {}
    for size in sorted(_sizes(window, pool_bytes, largest)):
        reads[size] = planned(size)
        if not reads[size]:
            break  # no larger one reads less, and it takes longest to simulate
    value = _enough(reads, today, pool_bytes)
    for _ in range(_ROUNDS if value != pool_bytes else 0):
        less = max((size for size in reads if size < value), default=pool_bytes)
        step = (value - less) / (_BETWEEN + 1)
        between = {size_as_set(window, less + step * (n + 1)) for n in range(_BETWEEN)}
        reads |= {size: planned(size) for size in between if less < size < value}
        value = _enough(reads, today, pool_bytes)
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
    """The smallest size that misses at most ENOUGH of the best one's saving; ``now`` if no size saves anything."""
    least = min(reads.values(), default=today)
    if today - least <= EQUAL * today:
        return now
    return min(size for size, read in reads.items() if read <= least + ENOUGH * (today - least))


def _choice(sizes: SizeModel, value: float, most: float, now: float) -> Choice:
    evidence, before = sizes.evidence, sizes.evidence.reads
    scale = now / before if before else 1.0  # the reads of this window, which may be a little more than those explained
    size = sizes.size(value / evidence.pool_bytes)
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
        cost_now=evidence.pages,
        cost_predicted=evidence.pages * value / evidence.pool_bytes,
        saved=scale * (before - then),
        error=error,
        read_error=error,
        confidence=size.confidence,
    )
