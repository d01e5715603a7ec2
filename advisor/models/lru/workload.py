"""What a server does to its buffer pool, in rates, and the scenario that the model of the LRU list makes of it.

Lengths are pages, times seconds unless a name says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from advisor.models.lru.scenario import Fetch, Pass, Points, Pool, Repeat, Scan, Scenario, Set, Settings, Step
from exporter.midpoint import MINIMUM_LENGTH

HOT, UNSEEN, OTHER = "(hot set)", "(unseen hot set)", "(other pages)"
"""Objects of a scenario beside the tables: no table has such a name."""
ROUNDS = 20
LAST_ROUNDS = 2
"""What the pool comes to is read off so many rounds: passes may take turns in reading more and less."""
MOST_PASSES = 8
"""Of a table in a round. One that is scanned still more often than that is cached at eight, too, or not at all."""
_QUIET_ROUND = 10.0
_WARM_UP = 3
"""Accesses to each page of the hot set before anything else, on average: it has been in use for long."""
_SMALLEST_PCT, _LARGEST_PCT = 5, 95


@dataclass(frozen=True, slots=True)
class TableScan:
    """A table that is scanned as a whole again and again.

    Attributes:
        name: It may stand in a workload twice, once for each way of fetching.
        period: From the beginning of one pass to that of the next.
        seconds: How long a pass takes.
        kept: The part of it, 0 to 1, that the pool holds to begin with.
    """

    name: str
    pages: int
    period: float
    seconds: float
    fetch: Fetch
    kept: float = 0.0


@dataclass(frozen=True, slots=True)
class Background:
    """Accesses to single pages; the page of rank r is chosen with weight ``r ** -skew``.

    Attributes:
        per_second: On average.
        warm: Whether the young sublist holds them to begin with; else they come into it, if ever, by the old one.
        spread: The part of the time between two scans over which they are spread; bursts where it is less than 1.
    """

    pages: int
    skew: float
    per_second: float
    warm: bool = False
    spread: float = 1.0
    name: str = HOT


@dataclass(frozen=True, slots=True)
class Workload:
    """All that is done to a pool; ``other_pages`` were read before and are asked for no more."""

    scans: tuple[TableScan, ...]
    other_pages: int
    backgrounds: tuple[Background, ...] = ()

    @property
    def round_seconds(self) -> float:
        """The longest period: every table is scanned in it at least once."""
        return max((scan.period for scan in self.scans), default=_QUIET_ROUND)

    @property
    def passes_per_second(self) -> Mapping[str, float]:
        """By table, over all its ways of fetching."""
        found: dict[str, float] = {}
        for scan in self.scans:
            found[scan.name] = found.get(scan.name, 0.0) + 1 / scan.period
        return found


@dataclass(frozen=True, slots=True)
class Rates:
    """What the pool comes to under a workload.

    Attributes:
        per_pass: Pages read, by table.
        scans: Pages read per second by all scans.
        other: The same by the background.
        made_young: Pages made young per second.
    """

    per_pass: Mapping[str, float]
    scans: float
    other: float
    made_young: float

    @property
    def read(self) -> float:
        """Pages read per second."""
        return self.scans + self.other


def scenario(
    workload: Workload, pool: Pool, rounds: int = ROUNDS, then: tuple[Settings, Workload] | None = None
) -> Scenario:
    """A pool as it is before the first round, and the rounds.

    Args:
        workload: What a round is made of; something is done in it.
        pool: The settings of today.
        rounds: How many.
        then: Settings to change after them, and the workload of as many rounds that follow.
    """
    steps = [*_fill(workload, pool), *_rounds(workload, rounds)]
    if then is not None:
        steps += [Set(set=then[0]), *_rounds(then[1], rounds)]
    return Scenario(pool=pool, steps=tuple(steps))


def passes_of(workload: Workload, rounds: int = ROUNDS) -> int:
    """How many passes so many rounds are, lookups included."""
    return rounds * len(_round(workload))


def rates(workload: Workload, passes: Sequence[Pass], ago: int = 0) -> Rates:
    """What the last rounds of a scenario of this workload come to, or those so many rounds before."""
    length = len(_round(workload))
    end = len(passes) - ago * length
    last = passes[end - LAST_ROUNDS * length : end]
    per_second = workload.passes_per_second
    per_pass, scans, made_young = {}, 0.0, 0.0
    for name, rate in per_second.items():
        of_table = [each for each in last if each.object == name]
        per_pass[name] = sum(each.pages_read for each in of_table) / len(of_table)
        scans += per_pass[name] * rate
        made_young += sum(each.made_young for each in of_table) / len(of_table) * rate
    seconds = LAST_ROUNDS * workload.round_seconds
    hot = [each for each in last if each.object in (HOT, UNSEEN)]
    return Rates(
        per_pass=per_pass,
        scans=scans,
        other=sum(each.pages_read for each in hot) / seconds,
        made_young=made_young + sum(each.made_young for each in hot) / seconds,
    )


def _fill(workload: Workload, pool: Pool) -> list[Step]:
    """A pool full of others' pages, beside a hot set in use and what the pool keeps of the tables."""
    tables = {scan.name: scan for scan in workload.scans}.values()
    young = 1 - _SMALLEST_PCT / 100
    parts = [
        Scan(scan=each.name, pages=min(each.pages, math.ceil(each.kept * each.pages / young)))
        for each in tables
        if 0 < each.kept < 1
    ]
    whole = [each for each in tables if each.kept == 1]
    steps: list[Step] = []
    warm = [hot for hot in workload.backgrounds if hot.warm]
    if parts or warm:  # what comes early into a pool with next to no old sublist stays in its young one
        steps.append(_set(_SMALLEST_PCT))
    if parts and workload.other_pages:  # below the minimum all pages are inserted at the head, and the first are last
        steps += [Scan(scan=OTHER, pages=min(workload.other_pages, MINIMUM_LENGTH + 64)), *parts]
    steps += [_points(hot, _WARM_UP * hot.pages, _WARM_UP * hot.pages / hot.per_second) for hot in warm]
    if workload.other_pages:
        steps.append(Scan(scan=OTHER, pages=workload.other_pages))
    if parts or warm or whole:  # the largest old sublist takes whatever fits the pool
        steps.append(_set(_LARGEST_PCT))
    steps += [
        Scan(
            scan=scan.name,
            pages=scan.pages,
            passes=2,
            seconds=min(scan.seconds, scan.period),
            gap_seconds=max(0.0, scan.period - scan.seconds),
            fetch=scan.fetch,
        )
        for scan in whole
    ]
    if parts or warm or whole:  # from above, which leaves the midpoint where a pool that filled up has it
        steps.append(_set(pool.old_blocks_pct))
    return steps


def _set(pct: int) -> Set:
    return Set(set=Settings(old_blocks_pct=pct))


def _rounds(workload: Workload, rounds: int) -> list[Step]:
    steps = _round(workload)
    return [Repeat(repeat=rounds, steps=tuple(steps))] if steps else []


def _round(workload: Workload) -> list[Step]:
    """The scans in the order in which they begin, each after the accesses that come between it and the one before."""
    length = workload.round_seconds
    begins = sorted(
        ((number + place / len(workload.scans)) * length / passes, place)
        for place, scan in enumerate(workload.scans)
        for passes in [_passes(scan, length)]
        for number in range(passes)
    )
    if not begins:
        return [*_accesses(workload, 0.0, length, length, 1)]
    steps: list[Step] = []
    for number, ((begin, place), (end, _)) in enumerate(pairwise([*begins, (begins[0][0] + length, 0)])):
        scan = workload.scans[place]
        seconds = min(scan.seconds, end - begin)
        lookups = list(_accesses(workload, begin, end, end - begin - seconds, number + 2))
        steps += lookups
        busy = sum(each.seconds for each in lookups)
        pause = max(0.0, end - begin - seconds - busy)
        steps.append(Scan(scan=scan.name, pages=scan.pages, seconds=seconds, gap_seconds=pause, fetch=scan.fetch))
    return steps


def _accesses(workload: Workload, begin: float, end: float, seconds: float, seed: int) -> Iterator[Points]:
    """The accesses of a part of the round, in ``seconds`` of it; those of all backgrounds one after the other."""
    for hot in workload.backgrounds:
        accesses = round(hot.per_second * end) - round(hot.per_second * begin)
        if accesses:
            yield _points(hot, accesses, seconds * hot.spread / len(workload.backgrounds), seed)


def _points(hot: Background, accesses: int, seconds: float, seed: int = 1) -> Points:
    return Points(points=hot.name, pages=hot.pages, accesses=accesses, seconds=seconds, skew=hot.skew, seed=seed)


def _passes(scan: TableScan, length: float) -> int:
    return min(max(1, round(length / scan.period)), MOST_PASSES)
