"""The size of the buffer pool that the miss curve chooses, on what holds for all accesses that explain the evidence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from advisor.curve.curve import Size
from advisor.curve.estimate import TAKEN, Explained, explain
from advisor.curve.evidence import Evidence, evidence
from advisor.facts import Facts
from advisor.facts.choice import Choice
from advisor.observe.window import Window
from advisor.whatif.calibration import evidence as lru_evidence
from advisor.whatif.calibration import written_growth
from advisor.whatif.choice import ENOUGH, EQUAL, ROUGH
from advisor.whatif.fit import ACCEPTED_ERROR
from advisor.whatif.model import GROWTH
from advisor.whatif.settings import size_as_set
from exporter.rows import number

_LARGER = (1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0)
"""Multiples of today's size to try."""
_BETWEEN, _ROUNDS = 4, 2
"""Sizes to try between two of these, and how often."""
_MOST = 4
"""That are kept: windows of several lengths are judged."""
_LEAST = 0.05
"""Share of today's size: no smaller one is tried."""
_STEP = 0.02
"""Between sizes that leave room for other pages, as a multiple of today's."""
_MOVED = 0.1
"""Share that reads, accesses, pages made young and the list may move by: what explained them stands."""


class SizeChoices:
    """Chooses sizes. What explained the evidence of a window is kept while later evidence is nearly the same."""

    def __init__(self) -> None:
        """Nothing is kept yet."""
        self._kept: list[_Kept] = []

    def choose(
        self, window: Window, known: Facts, at_most: float | None, check_time: Callable[[], None] = lambda: None
    ) -> Choice:
        """The smallest size that saves nearly as many reads as the largest one, at worst.

        Args:
            window: What has been watched.
            known: Its facts.
            at_most: Largest size, bytes. It is never more than the machine has memory for, if that is known.
            check_time: Called between two steps; an exception from it ends the work.

        Raises:
            Unanswerable: A section is not known, or nothing explains what was measured.
        """
        kept = self._keep(window, known, check_time)
        explained = kept.explained
        now = known.pool.pages_read_per_second or 0.0
        pages = explained.evidence.size
        # What may come instead: tables grow, and undo logs and dirty pages take their part of the pool.
        grown = max(GROWTH, written_growth(window))
        strain = 1.0 / grown / (1 - TAKEN), lru_evidence(window, known).reserved / pages

        def tried(sizes: list[float]) -> dict[float, _Reads]:
            check_time()
            times = {size: size / explained.bytes for size in sizes}
            strained = {size: max(_down(each * strain[0] - strain[1]), _LEAST) for size, each in times.items()}
            found = kept.sizes([*times.values(), *strained.values()])
            return {size: _Reads.of(found[times[size]], found[strained[size]]) for size in sizes}

        most = min(at_most or math.inf, known.pool.most_bytes or math.inf, _LARGER[-1] * explained.bytes)
        reads = tried(sorted(_sizes(window, explained.bytes, most)))
        value = _enough(reads, explained)
        for _ in range(_ROUNDS if value != explained.bytes else 0):
            less = max((size for size in reads if size < value), default=explained.bytes)
            step = (value - less) / (_BETWEEN + 1)
            between = {size_as_set(window, less + step * (n + 1)) for n in range(_BETWEEN)}
            reads |= tried(sorted(size for size in between if less < size < value))
            value = _enough(reads, explained)
        return _choice(explained, reads.get(value), value, now)

    def _keep(self, window: Window, known: Facts, check_time: Callable[[], None]) -> _Kept:
        found = evidence(window.snapshots, window, known)
        today = number(window.latest.setting("innodb_buffer_pool_size"))
        same = (each for each in self._kept if each.explained.bytes == today)
        kept = next((each for each in same if _stands(each.explained.evidence, found)), None)
        if kept is None:
            kept = _Kept(explain(found, today, check_time))
        self._kept = [kept, *(each for each in self._kept if each is not kept)][:_MOST]
        return kept


class _Kept:
    """What explained the evidence of a window, and the sizes that were answered for."""

    def __init__(self, explained: Explained) -> None:
        self.explained = explained
        self._sizes: dict[float, Size] = {}

    def sizes(self, times: Iterable[float]) -> Mapping[float, Size]:
        """The reads by multiples of today's size."""
        new = [each for each in dict.fromkeys(times) if each not in self._sizes]
        if new:
            self._sizes |= {each.times: each for each in self.explained.sizes(new)}
        return self._sizes


@dataclass(frozen=True, slots=True)
class _Reads:
    """Pages read a second with a size: expected, and the fewest and most."""

    expected: float
    low: float
    high: float

    @classmethod
    def of(cls, size: Size, strained: Size) -> _Reads:
        """Of a size, and of one that leaves room for what may come instead."""
        reads = size.with_first
        return cls(reads.expected, reads.low, max(reads.high, strained.with_first.high))


def _down(times: float) -> float:
    """To a whole step, so that a size that was answered for serves later windows too."""
    return math.floor(times / _STEP) * _STEP


def _sizes(window: Window, today: float, most: float) -> Iterator[float]:
    """Sizes that the server would set."""
    for times in _LARGER:
        size = size_as_set(window, today * times)
        if today < size <= most:
            yield size
    largest = size_as_set(window, most, up=False)
    if largest > today:
        yield largest


def _enough(reads: Mapping[float, _Reads], explained: Explained) -> float:
    """The smallest size that at worst misses ENOUGH of what the best one saves; today's if none saves anything."""
    today = explained.evidence.reads
    least = min((each.high for each in reads.values()), default=today)
    if today - least <= EQUAL * today:
        return explained.bytes
    return min(size for size, each in reads.items() if each.high <= least + ENOUGH * (today - least))


def _choice(explained: Explained, found: _Reads | None, value: float, now: float) -> Choice:
    before = explained.evidence.reads
    scale = now / before if before else 1.0  # the reads of this window, which may be a little more than those explained
    then = _Reads(before, before, before) if found is None else found
    error = max(then.high - then.expected, then.expected - then.low) / before if before else 0.0
    error = max(error, ROUGH) if found is not None else error
    return Choice(
        value=value,
        now=None,
        predicted=None,
        model_now=None,
        predicted_by_pct=None,
        read_now=round(now, 2),
        read_predicted=round(scale * then.expected, 2),
        read_most=round(scale * then.high, 2),
        model_read_now=round(scale * before, 2),
        cost_now=explained.evidence.pages,
        cost_predicted=explained.evidence.pages * value / explained.bytes,
        saved=scale * (before - then.expected),
        error=error,
        read_error=error,
        confidence=min(1.0, ACCEPTED_ERROR / error) if error else 1.0,
    )


def _stands(before: Evidence, now: Evidence) -> bool:
    """Whether what explained earlier evidence explains this, too."""
    was, has = before.measured, now.measured
    if (was.made_young is None) is not (has.made_young is None):
        return False
    if was.tables.keys() != has.tables.keys() or was.full is not has.full or len(was.scans) != len(has.scans):
        return False
    scans = zip(was.scans, has.scans, strict=True)
    moved = [
        (was.held.young, has.held.young, now.pages),
        (was.held.old, has.held.old, now.pages),
        *(
            [(was.made_young, has.made_young, max(has.made_young, before.reads))]
            if was.made_young is not None and has.made_young is not None
            else []
        ),
        *((table.reads, has.tables[name].reads, before.reads) for name, table in was.tables.items()),
        *((table.accesses, has.tables[name].accesses, table.accesses) for name, table in was.tables.items()),
        *((scan.read / scan.period, each.read / each.period, before.reads) for scan, each in scans),
    ]
    return all(abs(a - b) <= _MOVED * whole for a, b, whole in moved)
