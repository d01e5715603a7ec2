"""What a pool misses while it fills: the miss curve of a server, measured by each of its restarts.

Until the first eviction a pool with c pages of data holds the c pages that were asked for last. So its next access
misses as often as in a full pool of c pages (Mattson et al.: Evaluation techniques for storage hierarchies, 1970).
"""

from __future__ import annotations

import bisect
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

Counter = Mapping[float, float]
"""Values by time, Unix seconds."""


@dataclass(frozen=True, slots=True)
class _Limits:
    """Where warm-ups and their parts begin and end."""

    read: float = 400
    """Pages read in a stretch: chance moves them by a twentieth."""
    filled: float = 0.02
    """Share of the pool that a stretch fills at least."""
    gap: float = 10.0
    """Times the usual interval: two points further apart are of two warm-ups."""
    fell: float = 0.1
    """Share of the pages in the pool: where more are gone, the server restarted, or a table was dropped."""
    loaded: float = 1.2
    """Times the pages that are loaded at a start: others come in meanwhile."""


_LIMITS = _Limits()


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a warm-up.

    Attributes:
        begin, end: Pages of data in the pool.
        accesses: Page gets in between, without those that MySQL repeats once a page is read.
        read: Pages read in between.
    """

    begin: float
    end: float
    accesses: float
    read: float

    @property
    def ratio(self) -> float:
        """Pages read an access."""
        return self.read / self.accesses

    @property
    def most(self) -> float:
        """The most that the ratio may be by chance (two standard deviations of a Poisson count; 3 where none is)."""
        return (self.read + 2 * math.sqrt(self.read + 1) + 1) / self.accesses

    def joined(self, other: Stretch) -> Stretch:
        """Both, this one first."""
        return Stretch(self.begin, other.end, self.accesses + other.accesses, self.read + other.read)


@dataclass(frozen=True, slots=True)
class WarmUp:
    """The miss curve as one warm-up measured it.

    Attributes:
        at: Its first point, Unix seconds.
        stretches: In the order of time, so that pages ascend; at least one.
    """

    at: float
    stretches: tuple[Stretch, ...]

    def knows(self, pages: float) -> bool:
        """Whether the pool held as few pages, and as many."""
        return self.stretches[0].end <= pages <= self.stretches[-1].end

    def expected(self, pages: float) -> float:
        """Pages read an access in a pool that holds so many: between the two stretches around it.

        A larger pool never misses more (LRU is a stack algorithm), so stretches with a rising ratio count as one.
        """
        middles, ratios = zip(*_falling(self.stretches), strict=True)
        after = bisect.bisect(middles, pages)
        if after in (0, len(middles)):
            return float(ratios[max(0, after - 1)])
        part = (pages - middles[after - 1]) / (middles[after] - middles[after - 1])
        return float(ratios[after - 1] + part * (ratios[after] - ratios[after - 1]))

    def most(self, pages: float) -> float:
        """The most, by the stretch below, which a pool of so many pages cannot miss more than, and by all above."""
        below = bisect.bisect([stretch.end for stretch in self.stretches], pages)
        return max((stretch.most for stretch in self.stretches[below - 1 :]), default=math.inf) if below else math.inf


def warm_ups(
    pages: Counter, read: Counter, gets: Counter, *, pool_pages: float, loaded: float = 0.0, mariadb: bool = False
) -> tuple[WarmUp, ...]:
    """The warm-ups in a server's counters, the oldest first.

    Args:
        pages: Pages of data in the pool, while it has free pages.
        read: Pages read since the server's start.
        gets: Page gets since the server's start.
        pool_pages: Size of the pool.
        loaded: Pages that the server loads at its start (innodb_buffer_pool_load_at_startup). Nobody asked for them,
            so the curve begins above them. They are those that were used last, as if they had been asked for.
        mariadb: MySQL counts a page that it reads once more as got; MariaDB doesn't (seen on 9.7 and 11.8).
    """
    times = sorted(pages.keys() & read.keys() & gets.keys())
    points = [_WarmUpPoint(at, pages[at], read[at], gets[at] - (0.0 if mariadb else read[at])) for at in times]
    runs = ([point for point in run if point.pages >= _LIMITS.loaded * loaded] for run in _runs(points))
    stretched = ((run, tuple(_stretches(run, pool_pages))) for run in runs)
    return tuple(WarmUp(run[0].at, stretches) for run, stretches in stretched if stretches)


@dataclass(frozen=True, slots=True)
class _WarmUpPoint:
    at: float
    pages: float
    read: float
    accesses: float


def _runs(points: Sequence[_WarmUpPoint]) -> Iterator[list[_WarmUpPoint]]:
    """The points of each warm-up."""
    if len(points) < 2:
        return
    usual = statistics.median(after.at - before.at for before, after in pairwise(points))
    run = [points[0]]
    for before, after in pairwise(points):
        fell = after.read < before.read or after.accesses < before.accesses
        if fell or after.at - before.at > _LIMITS.gap * usual or after.pages < (1 - _LIMITS.fell) * before.pages:
            yield run
            run = []
        run.append(after)
    yield run


def _stretches(points: Sequence[_WarmUpPoint], pool_pages: float) -> Iterator[Stretch]:
    """Parts that are long enough to measure a ratio; the rest at the end belongs to the last."""
    last: Stretch | None = None
    begin = 0
    for number, point in enumerate(points):
        since = points[begin]
        accesses, read = point.accesses - since.accesses, point.read - since.read
        enough = point.pages - since.pages >= _LIMITS.filled * pool_pages and read >= _LIMITS.read and accesses > 0
        at_end = number == len(points) - 1 and accesses > 0
        if not enough and not at_end:
            continue
        stretch = Stretch(since.pages, max(since.pages, point.pages), accesses, read)
        begin = number
        if last is not None and not enough and accesses < last.accesses:
            last = last.joined(stretch)
            continue
        if last is not None:
            yield last
        last = stretch
    if last is not None:
        yield last


def _falling(stretches: Sequence[Stretch]) -> list[tuple[float, float]]:
    """Middle and ratio of each stretch; neighbours whose ratio rises have that of both together."""
    groups: list[tuple[Stretch, list[float]]] = []
    for stretch in stretches:
        group, middles = stretch, [(stretch.begin + stretch.end) / 2]
        while groups and groups[-1][0].ratio < group.ratio:
            before, earlier = groups.pop()
            group, middles = before.joined(group), [*earlier, *middles]
        groups.append((group, middles))
    return [(middle, group.ratio) for group, middles in groups for middle in middles]
