"""Distributions of accesses that explain what was measured: the same reads of each table, and as many made young.

A distribution has a shape, which holds for all tables, and for each table an amount of skew, which follows from its
reads. Pages made young then tell shapes apart: they are the hits in the old sublist, which a smaller pool would lose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from advisor.models.steady import Burst, List, Pages, State, settle, zipf

_FOOTPRINTS = (1.0, 0.85, 0.7, 0.5, 0.35, 0.25, 0.15, 0.08, 0.04)
"""Shares of a table's pages that are asked for, by Zipf's law."""
_HOT = (0.5, 0.35, 0.2, 0.1, 0.05, 0.02)
"""Shares of a table's pages that are hot, all alike; the others are asked for less often, all alike."""
_MOST_SKEW = 2.5
_SAME = 0.003
"""Share of a table's reads: nearer is not worth a step."""
_TOLERATED = 0.04
"""Share of a table's reads that noise may add, so that no distribution has as many."""
_STEPS = 14
_NONE = 1e-9
"""Pages a second: less is none, for logarithms."""


@dataclass(frozen=True, slots=True)
class Table:
    """What was measured of a table.

    Attributes:
        pages: Of the indexes that are used.
        accesses: To its pages, a second.
        reads: Of its pages, a second, by anything but full scans.
    """

    pages: float
    accesses: float
    reads: float


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of a pool.

    Attributes:
        held: The LRU list.
        tables: By name.
        made_young: Pages a second.
        scans: Beside it.
    """

    held: List
    tables: Mapping[str, Table]
    made_young: float
    scans: tuple[Burst, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """Accesses to each table.

    Attributes:
        kind: Of the shape.
        shape: Its number; within a kind, pages made young grow or fall with it.
        groups: By table.
        state: Of the list today.
        unlike: Logarithm of pages made young by these accesses, relative to those measured.
        once: Share of each table's reads that any pool would have: of pages that are not asked for again.
    """

    kind: str
    shape: float
    groups: Mapping[str, Sequence[Pages]]
    state: State
    unlike: float
    once: float = 0.0

    @property
    def simplest(self) -> bool:
        """Whether these are accesses by Zipf's law to all pages of each table."""
        return self.kind == "zipf" and self.shape == 1.0

    @property
    def now(self) -> Mapping[str, float]:
        """Pages read a second of each table, today."""
        return self._all(_by_table(self.groups, self.state))

    def reads(self, held: List, scans: Sequence[Burst] = ()) -> Mapping[str, float] | None:
        """Pages read a second of each table with another list; None where the list has no steady state."""
        state = settle([each for groups in self.groups.values() for each in groups], held, scans, self.state)
        return None if state is None else self._all(_by_table(self.groups, state))

    def _all(self, again: Mapping[str, float]) -> Mapping[str, float]:
        if not self.once:
            return again
        today = _by_table(self.groups, self.state)
        return {name: reads + self.once / (1 - self.once) * today[name] for name, reads in again.items()}


Make = Callable[[Table, float, float], list[Pages]]
"""The groups of a table, of a shape and of an amount of skew."""


def _zipf(table: Table, shape: float, skew: float) -> list[Pages]:
    return zipf(max(table.pages * shape, 1.0), skew * _MOST_SKEW, table.accesses)


def _hot(table: Table, shape: float, skew: float) -> list[Pages]:
    share = shape + (1 - shape) * skew
    hot, cold = max(table.pages * shape, 1.0), max(table.pages * (1 - shape), 1.0)
    return [Pages(hot, table.accesses * share / hot), Pages(cold, table.accesses * (1 - share) / cold)]


_SHAPES: Mapping[str, tuple[Make, Sequence[float]]] = {"zipf": (_zipf, _FOOTPRINTS), "hot": (_hot, _HOT)}


def explanations(measured: Measured, check_time: Callable[[], None] = lambda: None) -> list[Explanation]:
    """Explanations of many kinds, each kind from many pages to few.

    Args:
        measured: What is to be explained.
        check_time: Called between two fits; an exception from it ends the work.
    """
    found = []
    for kind, (make, shapes) in _SHAPES.items():
        for shape in shapes:
            check_time()
            each = _fitted(kind, make, shape, measured)
            if each is not None:
                found.append(each)
    return found


@dataclass
class _Skew:
    """The amount of skew that gives a table its reads: a bracket that narrows. More skew means fewer reads."""

    table: Table
    at: float = 0.0
    reads: float = 0.0
    low: tuple[float, float] | None = None
    high: tuple[float, float] | None = None

    def moves(self, reads: float, mean: float) -> bool:
        """Take the reads at ``at``; whether another amount would be nearer. ``mean`` is the reads of a usual table."""
        self.reads = reads
        if self.at == 0.0 and reads <= self.table.reads:
            return False  # all pages alike: more reads there cannot be
        return abs(reads - self.table.reads) > _SAME * max(self.table.reads, mean)

    def narrow(self) -> None:
        """Move ``at``."""
        error = math.log(max(self.reads, _NONE) / max(self.table.reads, _NONE))
        if error > 0:
            self.low = self.at, error
        else:
            self.high = self.at, error
        begin, end = self.low or (0.0, 0.0), self.high or (1.0, 0.0)
        part = begin[1] / (begin[1] - end[1]) if self.low and self.high else 0.5
        self.at = begin[0] + min(max(part, 0.1), 0.9) * (end[0] - begin[0])


def _fitted(kind: str, make: Make, shape: float, measured: Measured) -> Explanation | None:
    """The skew of each table by its reads; None if no skew gives them."""
    skews = {table: _Skew(each) for table, each in measured.tables.items()}
    wanted = math.fsum(table.reads for table in measured.tables.values())
    found: Explanation | None = None
    off = math.inf
    for _ in range(_STEPS):
        groups = {table: make(skew.table, shape, skew.at) for table, skew in skews.items()}
        near = found.state if found else None
        state = settle([each for some in groups.values() for each in some], measured.held, measured.scans, near)
        if state is None:
            return None
        found = Explanation(kind, shape, groups, state, _unlike(state, measured))
        reads = _by_table(groups, state)
        off = math.fsum(abs(reads[table] - skew.table.reads) for table, skew in skews.items())
        moving = [each for table, each in skews.items() if each.moves(reads[table], wanted / len(skews))]
        if not moving:
            break
        for each in moving:
            each.narrow()
    return found if off <= _TOLERATED * wanted else None


def _unlike(state: State, measured: Measured) -> float:
    return math.log(max(state.made_young, _NONE) / max(measured.made_young, _NONE))


def _by_table(groups: Mapping[str, Sequence[Pages]], state: State) -> dict[str, float]:
    found, at = {}, 0
    for table, some in groups.items():
        found[table] = math.fsum(state.reads[at : at + len(some)])
        at += len(some)
    return found
