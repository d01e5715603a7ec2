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
from typing import NamedTuple

from advisor.models.lru.popularity import Pages
from advisor.pool.search import Point, root, search
from advisor.pool.steady import Regime, SteadyState, Sublists


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
        all: Share of a table's pages that counts as all of them.
        none: Pages that count as none.
        largest: exp of more overflows.
        longest: Logarithm of seconds.
        merged: Logarithm of how often a page is asked for while it stays: pages on one side of it have one fate.
    """

    reach: float = 3.6
    nodes: int = 25
    step: float = 0.1
    rarely: float = 1e-4
    often: float = 40.0
    widest: float = 9.0
    close: float = 1e-4
    all: float = 0.9995
    none: float = 0.5
    largest: float = 700.0
    longest: float = 30.0
    merged: int = 4


_GRID = _Grid()
MOST_TABLES = 12
"""Tables with a distribution of their own, those with the most reads; the others have one."""
OTHERS = "(other tables)"
_LEAST = 1e-9
"""Pages a second: less is none."""


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
class Popularity:
    """A table's rates: logarithms of their median and the standard deviation of these."""

    pages: float
    median: float
    spread: float

    def groups(self) -> list[Pages]:
        """The pages, in groups of the same rate."""
        return [
            Pages(self.pages * weight, math.exp(self.median + self.spread * node)) for node, weight in _DISTRIBUTION
        ]


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
        return math.fsum(then.reads[own]) / max(math.fsum(self.state.reads[own]), _LEAST)

    def first(self, name: str, seconds: float) -> float:
        """Share of a table's reads that are of pages that were not asked for in so many seconds before."""
        own = self._own(name)
        first = math.fsum(
            pages * rate * math.exp(-min(rate * seconds, _GRID.largest)) for pages, rate in self.groups[own]
        )
        return min(1.0, first / max(math.fsum(self.state.reads[own]), _LEAST))

    def merged(self) -> tuple[Pages, ...]:
        """All pages in a few groups, the most popular first."""
        lives = self.state.old_seconds + self.state.young_seconds
        merged: dict[int, tuple[float, float]] = {}
        for pages, rate in self.groups:
            number = min(max(round(math.log(rate * lives)), -_GRID.merged), _GRID.merged)
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
    if not residents_known(tables.values()):
        some = {OTHERS: _as_one(tables.values(), min(held.young + held.old, _pages(tables.values())))}
    else:
        ranked = sorted(tables, key=lambda name: tables[name].reads, reverse=True)
        some = {name: tables[name] for name in ranked[:MOST_TABLES]}
        if rest := [tables[name] for name in ranked[MOST_TABLES:]]:
            some[OTHERS] = _as_one(rest, math.fsum(table.resident or 0.0 for table in rest))
    read = math.fsum(table.reads for table in tables.values())
    if read <= 0.0 or made_young <= 0.0 or min(held.old, held.young) <= 0.0:
        return None

    def evaluate(at: Point) -> tuple[Point, tuple[list[Popularity], Regime, SteadyState]]:
        check_time()
        old_seconds, young_seconds = (math.exp(min(max(logarithm, -_GRID.longest), _GRID.longest)) for logarithm in at)
        regime = Regime(held, old_seconds, young_seconds, read)
        stays = _Stays(regime, old_seconds, young_seconds)
        young = promoted = 0.0
        fitted = [stays.fit(table) for table in some.values()]
        for popularity in fitted:
            stay = stays.mean(popularity.median, popularity.spread)
            young += popularity.pages * stay.young
            promoted += popularity.pages * stay.made_young
        error = math.log(held.young / max(young, _LEAST)), math.log(made_young / max(promoted, _LEAST))
        return error, (fitted, regime, SteadyState(read, promoted, old_seconds, young_seconds, ()))

    seconds = math.log(held.old / (read + made_young))
    solution = search(evaluate, (seconds, seconds))
    if solution is None:
        return None
    fitted, regime, state = solution
    groups = [group for popularity in fitted for group in popularity.groups()]
    reads = tuple(group.pages * regime.of(group.rate).read for group in groups)
    return SmoothLoad(list(some), groups, replace(state, read=math.fsum(reads), reads=reads))


def residents_known(tables: Collection[TableReads]) -> bool:
    """Whether the server tells what the pool holds of each of these tables."""
    return all(table.resident is not None for table in tables)


def _as_one(tables: Collection[TableReads], resident: float) -> TableReads:
    return TableReads(_pages(tables), math.fsum(table.reads for table in tables), resident)


def _pages(tables: Collection[TableReads]) -> float:
    return math.fsum(table.pages for table in tables)


class _Mean(NamedTuple):
    """What a table's page does on average: shares of the time in the pool and in the young sublist, and a second."""

    resident: float
    young: float
    read: float
    made_young: float


class _Stays:
    """What pages do in a regime, by the logarithm of their rate, worked out once for many tables."""

    def __init__(self, regime: Regime, old_seconds: float, young_seconds: float) -> None:
        self._slowest = math.log(_GRID.rarely / (old_seconds + young_seconds))
        fastest = math.log(_GRID.often / min(old_seconds, young_seconds))
        stays = [
            regime.of(math.exp(self._slowest + _GRID.step * number))
            for number in range(2 + math.ceil((fastest - self._slowest) / _GRID.step))
        ]
        self._known = [(stay.old + stay.young, stay.young, stay.read, stay.made_young) for stay in stays]

    def mean(self, median: float, spread: float) -> _Mean:
        """Over a lognormal distribution of rates."""
        known, last = self._known, len(self._known) - 2
        resident = young = read = made_young = 0.0
        for node, weight in _DISTRIBUTION:
            at = (median + spread * node - self._slowest) / _GRID.step
            number = int(at)
            if at <= 0.0:  # read whenever it is asked for
                part = weight * math.exp(max(at * _GRID.step, -_GRID.largest))
                resident += part * known[0][0]
                read += part * known[0][2]
            elif number > last:
                resident += weight * known[-1][0]
                young += weight * known[-1][1]
                made_young += weight * known[-1][3]
            else:
                part, low, high = at - number, known[number], known[number + 1]
                resident += weight * (low[0] + part * (high[0] - low[0]))
                young += weight * (low[1] + part * (high[1] - low[1]))
                read += weight * (low[2] + part * (high[2] - low[2]))
                made_young += weight * (low[3] + part * (high[3] - low[3]))
        return _Mean(resident, young, read, made_young)

    def fit(self, table: TableReads) -> Popularity:
        """The distribution by what is read of a table, and by what the pool holds of it."""
        share = min(max((table.resident or 0.0) / table.pages, _GRID.none / table.pages), _GRID.all)
        lowest, highest = (
            self._slowest - 3.0 * _GRID.widest,
            self._slowest + _GRID.step * len(self._known) + 3.0 * _GRID.widest,
        )

        def median(spread: float) -> float:
            return root(lambda tried: self.mean(tried, spread).resident - share, lowest, highest, _GRID.close)

        wanted = table.reads / table.pages
        spread = root(lambda tried: wanted - self.mean(median(tried), tried).read, 0.0, _GRID.widest, _GRID.close)
        return Popularity(table.pages, median(spread), spread)
