"""The load that smooth popularity makes of the evidence: for each table a lognormal distribution of its pages' rates.

Two numbers describe it: how often a page is asked for, and how different its pages are. They follow from what is read
of the table and from how much of it the pool holds. The two times of the list follow from the length of its young
sublist and from the pages made young. Where the server does not tell what the pool holds of each table, all tables are
one, of which it holds the whole list.

A lognormal distribution is what many independent factors make. Real popularity is seldom smoother, so that a larger
pool seldom reads less than this load says (docs/miss-curve.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from advisor.models.lru.popularity import Pages
from advisor.pool.search import Point, root, search
from advisor.pool.steady import LARGEST_EXPONENT, LEAST_READS, Stay, SteadyState, Sublists, stays


@dataclass(frozen=True, slots=True)
class _Grid:
    """How finely distributions are worked out, and how far out.

    Attributes:
        reach, nodes: Standard deviations on each side of the middle, and the points between.
        step: Between two rates at which a regime is worked out, as a logarithm.
        rarely, often: Times a page's stay. A page that is asked for less often is read each time; one that is asked for
            more often never leaves.
        widest: Standard deviation of the logarithm of rates: pages differ by e ** 30 then.
        close: Accuracy of a table's two numbers.
        whole: Share of a table's pages that counts as all of them.
        fewest: Pages in the pool that a table has at least.
        longest: Logarithm of seconds.
        merged: Logarithm of how often a page is asked for while it stays: pages on one side of it have one fate.
        hottest: The same for a pool that fills: pages beyond it come back at once.
        finer: Groups for each step of that logarithm there.
        steepest: Exponent that the rates of popular pages may be raised to.
    """

    reach: float = 3.6
    nodes: int = 25
    step: float = 0.1
    rarely: float = 1e-4
    often: float = 40.0
    widest: float = 9.0
    close: float = 1e-4
    whole: float = 0.9995
    fewest: float = 0.5
    longest: float = 30.0
    merged: int = 4
    hottest: int = 12
    finer: int = 2
    steepest: float = 4.0


_GRID = _Grid()
MOST_TABLES = 12
"""Tables with a distribution of their own, those with the most reads; the others have one."""
OTHERS = "(other tables)"


def _distribution() -> Sequence[tuple[float, float]]:
    """Points of the standard normal distribution, with their weights."""
    nodes = [_GRID.reach * (2.0 * number / (_GRID.nodes - 1) - 1.0) for number in range(_GRID.nodes)]
    weights = [math.exp(-(node**2) / 2.0) for node in nodes]
    return [(node, weight / math.fsum(weights)) for node, weight in zip(nodes, weights, strict=True)]


_DISTRIBUTION = _distribution()


@dataclass(frozen=True, slots=True)
class TableReads:
    """What was measured of a table.

    Attributes:
        pages: Leaf pages of its indexes.
        reads: Pages read a second, by anything but full scans.
        resident: Of its leaf pages, those in the pool; None where not known.
        since_start: Pages read since the server's start.
    """

    pages: float
    reads: float
    resident: float | None = None
    since_start: float = math.inf


@dataclass(frozen=True, slots=True)
class SmoothLoad:
    """Popularity of the pages of each table.

    Attributes:
        names: Of the tables, in the order of their groups. Those that are missing are together in the last one.
        groups: All pages, in groups of the same rate: as many of each table.
        state: Of the list today.
    """

    names: Sequence[str]
    groups: Sequence[Pages]
    state: SteadyState

    def times(self, name: str, then: SteadyState) -> float:
        """How many times as much is read of a table, or of the tables that it is one of, as today."""
        own = self._own(name)
        return math.fsum(then.reads[own]) / max(math.fsum(self.state.reads[own]), LEAST_READS)

    def first(self, name: str, seconds: float) -> float:
        """Share of a table's reads that are of pages that were not asked for in so many seconds before."""
        own = self._own(name)
        first = math.fsum(
            pages * rate * math.exp(-min(rate * seconds, LARGEST_EXPONENT)) for pages, rate in self.groups[own]
        )
        return min(1.0, first / max(math.fsum(self.state.reads[own]), LEAST_READS))

    def merged(self) -> tuple[Pages, ...]:
        """All pages in a few groups, the most popular first."""
        return self._merged(self.groups, _GRID.merged, 1)

    def filling(self, accesses: float) -> tuple[Pages, ...]:
        """The same for a pool that fills: in more groups, and asked for so many times a second in all.

        The popular pages are always in the pool, so that today's reads do not tell how often they are asked for, and
        the far end of the distribution is a guess. All accesses were counted: they say how steep it is beyond the pages
        that are asked for once while they stay.
        """
        once = 1.0 / self._lives

        def groups(exponent: float) -> list[Pages]:
            return [
                Pages(pages, once * (rate / once) ** exponent if rate > once else rate) for pages, rate in self.groups
            ]

        def error(exponent: float) -> float:
            return math.fsum(pages * rate for pages, rate in groups(exponent)) / accesses - 1.0

        return self._merged(groups(root(error, 0.0, _GRID.steepest, _GRID.close)), _GRID.hottest, _GRID.finer)

    @property
    def _lives(self) -> float:
        """Seconds that a page stays if nothing asks for it."""
        return self.state.old_seconds + self.state.young_seconds

    def _merged(self, groups: Sequence[Pages], hottest: int, finer: int) -> tuple[Pages, ...]:
        merged: dict[int, tuple[float, float]] = {}
        for pages, rate in groups:
            number = min(max(round(finer * math.log(rate * self._lives)), -finer * _GRID.merged), finer * hottest)
            had, asked = merged.get(number, (0.0, 0.0))
            merged[number] = had + pages, asked + pages * rate
        return tuple(Pages(pages, asked / pages) for _, (pages, asked) in sorted(merged.items(), reverse=True))

    def _own(self, name: str) -> slice:
        at = self.names.index(name) if name in self.names else len(self.names) - 1
        return slice(at * _GRID.nodes, (at + 1) * _GRID.nodes)


def load(
    tables: Mapping[str, TableReads],
    held: Sublists,
    made_young: float,
    check_time: Callable[[], None] = lambda: None,
) -> SmoothLoad | None:
    """The load that explains the reads and the residents of each table, and the pages made young.

    Args:
        tables: By name, those that are read.
        held: The list, without the pages of others.
        made_young: Pages a second.
        check_time: Called between two steps; an exception from it ends the work.

    Returns:
        None where no such load has a steady state of the list.
    """
    ranked = _ranked(tables, held)
    read = math.fsum(table.reads for table in tables.values())
    if read <= 0.0 or made_young <= 0.0 or min(held.old, held.young) <= 0.0:
        return None

    def evaluate(at: Point) -> tuple[Point, tuple[_StayTable, list[tuple[float, float]], SteadyState]]:
        check_time()
        old_seconds, young_seconds = (math.exp(min(max(logarithm, -_GRID.longest), _GRID.longest)) for logarithm in at)
        by_rate = _StayTable(stays(held, old_seconds, young_seconds, read), old_seconds, young_seconds)
        young = promoted = 0.0
        fitted = [by_rate.popularity(table) for table in ranked.values()]
        for table, (median, spread) in zip(ranked.values(), fitted, strict=True):
            mean = by_rate.mean(median, spread)
            young += table.pages * mean.young
            promoted += table.pages * mean.made_young
        error = math.log(held.young / max(young, LEAST_READS)), math.log(made_young / max(promoted, LEAST_READS))
        return error, (by_rate, fitted, SteadyState(read, promoted, old_seconds, young_seconds, ()))

    seconds = math.log(held.old / (read + made_young))
    solution = search(evaluate, (seconds, seconds))
    if solution is None:
        return None
    by_rate, fitted, state = solution
    groups = [
        Pages(table.pages * weight, math.exp(median + spread * node))
        for table, (median, spread) in zip(ranked.values(), fitted, strict=True)
        for node, weight in _DISTRIBUTION
    ]
    reads = tuple(group.pages * by_rate.stay(group.rate).read for group in groups)
    return SmoothLoad(list(ranked), groups, replace(state, read=math.fsum(reads), reads=reads))


def residents_known(tables: Collection[TableReads]) -> bool:
    """Whether the server counts the pool's pages of each of these tables."""
    return all(table.resident is not None for table in tables)


def _ranked(tables: Mapping[str, TableReads], held: Sublists) -> dict[str, TableReads]:
    """The tables with a distribution of their own, those with the most reads first, and the others as one."""
    if not residents_known(tables.values()):
        return {OTHERS: _as_one(tables.values(), min(held.young + held.old, _pages(tables.values())))}
    names = sorted(tables, key=lambda name: tables[name].reads, reverse=True)
    ranked = {name: tables[name] for name in names[:MOST_TABLES]}
    if rest := [tables[name] for name in names[MOST_TABLES:]]:
        ranked[OTHERS] = _as_one(rest, math.fsum(table.resident or 0.0 for table in rest))
    return ranked


def _as_one(tables: Collection[TableReads], resident: float) -> TableReads:
    return TableReads(_pages(tables), math.fsum(table.reads for table in tables), resident)


def _pages(tables: Collection[TableReads]) -> float:
    return math.fsum(table.pages for table in tables)


class _StayTable:
    """What pages do, by the logarithm of their rate, worked out once for many tables."""

    def __init__(self, stay: Callable[[float], Stay], old_seconds: float, young_seconds: float) -> None:
        self.stay = stay
        self._slowest = math.log(_GRID.rarely / (old_seconds + young_seconds))
        fastest = math.log(_GRID.often / min(old_seconds, young_seconds))
        self._stays = [
            stay(math.exp(self._slowest + _GRID.step * number))
            for number in range(2 + math.ceil((fastest - self._slowest) / _GRID.step))
        ]

    def mean(self, median: float, spread: float) -> Stay:
        """What a page does on average over a lognormal distribution of rates: logarithms of median and deviation."""
        stays, last = self._stays, len(self._stays) - 2
        slowest, fastest = stays[0], stays[-1]
        resident = young = read = made_young = 0.0
        for node, weight in _DISTRIBUTION:
            at = (median + spread * node - self._slowest) / _GRID.step
            number = int(at)
            if at <= 0.0:  # read whenever it is asked for, and never young
                part = weight * math.exp(max(at * _GRID.step, -LARGEST_EXPONENT))
                resident += part * slowest.resident
                read += part * slowest.read
            elif number > last:
                resident += weight * fastest.resident
                young += weight * fastest.young
                made_young += weight * fastest.made_young
            else:
                part, low, high = at - number, stays[number], stays[number + 1]
                resident += weight * (low.resident + part * (high.resident - low.resident))
                young += weight * (low.young + part * (high.young - low.young))
                read += weight * (low.read + part * (high.read - low.read))
                made_young += weight * (low.made_young + part * (high.made_young - low.made_young))
        return Stay(resident, young, read, made_young)

    def popularity(self, table: TableReads) -> tuple[float, float]:
        """The median and the deviation of a table's rates, as logarithms, by its reads and its pages in the pool."""
        share = min(max((table.resident or 0.0) / table.pages, _GRID.fewest / table.pages), _GRID.whole)
        lowest = self._slowest - 3.0 * _GRID.widest
        highest = self._slowest + _GRID.step * len(self._stays) + 3.0 * _GRID.widest

        def median(spread: float) -> float:
            return root(lambda tried: self.mean(tried, spread).resident - share, lowest, highest, _GRID.close)

        reads = table.reads / table.pages
        spread = root(lambda tried: reads - self.mean(median(tried), tried).read, 0.0, _GRID.widest, _GRID.close)
        return median(spread), spread
