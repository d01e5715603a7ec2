"""Distributions of accesses that explain what was measured: the same reads of each table, and as many made young.

A distribution has a shape, which holds for all tables, and for each table an amount of skew, which follows from its
reads. Pages made young then tell shapes apart: they are the hits in the old sublist, which a smaller pool would lose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from advisor.models.steady import (
    List,
    Pages,
    Scan,
    State,
    bell,
    filled,
    passes,
    read_beside,
    rest,
    settle,
    stall,
    stays,
    zipf,
)

UNLIKE = 0.11
"""Accesses explain the pages made young if these are no further off, as a logarithm; and so do those that are off by no
more than this beyond the best ones."""
_FOOTPRINTS = (1.0, 0.85, 0.7, 0.5, 0.35, 0.25, 0.15, 0.08, 0.04)
"""Shares of a table's pages that are asked for, by Zipf's law."""
_HOT = (0.5, 0.35, 0.2, 0.1, 0.05, 0.02)
"""Shares of a table's pages that are hot, all alike; the others are asked for less often, all alike."""
_SPOTS = (0.0, 0.25, 0.5, 0.75, 0.9)
"""Shares of the accesses that go to a spot of few pages, beside a normal distribution."""
_SPOT, _WIDEST, _NARROWEST = 0.01, 0.5, 0.01
"""Size of the spot, and the largest standard deviation, as shares of a table; and the least as a share of that."""
_ONCE = (0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95)
"""Shares of the reads that any pool would have."""
_MOST_SKEW = 2.5
_SAME = 0.003
"""Share of a table's reads: nearer is not worth a step."""
TOLERATED = 0.1
"""Share of the reads that may be of other tables than by the fit."""
_ROUGHLY = 0.35
"""The same where no fit is that good: many tables, each with another distribution."""
_SURE, _MOST_UNUSED = 0.03, 0.9
"""Share of the reads that noise may add; and of the young sublist that may be unused."""
_STALLED = 0.005
"""Pages made young for a page read: fewer are none."""
_LONG = 3.0
"""Times innodb_old_blocks_time: if pages stay longer in the old sublist, bursts make little difference."""
_ROOM = 2.0
"""Times innodb_old_blocks_time: if pages stay longer in the old sublist, they become young for certain."""
_MOST_KEPT = 0.9
"""Share of the list: scanned tables do not stay where they would take more of it."""
_TURNS = 8
"""At most, in which each table is given a skew of its own."""
_STEPS, _HALVINGS, _TRIED = 14, 20, 25
POINTS = 4
"""Fewer points of the filling tell nothing."""
_FEW = 0.01
"""Reads an access: fewer are as good as none in a point of the filling."""
_NONE = 1e-9
"""Pages a second: less is none, for logarithms."""


@dataclass(frozen=True, slots=True)
class Table:
    """What was measured of a table.

    Attributes:
        pages: Of the indexes that are used.
        accesses: To its pages, a second.
        reads: Of its pages, a second, by anything but full scans.
        groups: Of pages, in a model of it.
    """

    pages: float
    accesses: float
    reads: float
    groups: int = 48


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of a pool.

    Attributes:
        held: The LRU list.
        tables: By name.
        made_young: Pages a second; None where not known.
        scans: Beside it.
        full: Whether the pool is full: else nothing is evicted, and all reads are first reads.
        filling: Pages of tables in the pool and pages read an access, while the pool filled.
    """

    held: List
    tables: Mapping[str, Table]
    made_young: float | None
    scans: tuple[Scan, ...] = ()
    full: bool = True
    filling: tuple[tuple[float, float], ...] = ()

    @property
    def hurried(self) -> bool:
        """Whether pages hardly stay in the old sublist for innodb_old_blocks_time.

        Accesses that come in bursts make far fewer of them young then than independent ones.
        """
        reads = math.fsum(table.reads for table in self.tables.values())
        return self.held.old < _LONG * self.held.old_seconds * reads

    @property
    def stalled(self) -> bool:
        """Whether hardly any page becomes young: all leave the old sublist before innodb_old_blocks_time has passed."""
        reads = math.fsum(table.reads for table in self.tables.values())
        return self.made_young is not None and self.made_young < _STALLED * reads and self.may_stall

    @property
    def may_stall(self) -> bool:
        """Whether pages leave the old sublist so soon that it takes the pages made young to tell whether any are."""
        reads = math.fsum(table.reads for table in self.tables.values())
        return self.held.old < _ROOM * self.held.old_seconds * reads

    def off(self, explanation: Explanation) -> float:
        """How far the points of the filling are off, as the root of the mean square of logarithms."""
        groups = [group for some in explanation.groups.values() for group in some]
        accesses = sum(table.accesses for table in self.tables.values())
        squares = [
            math.log(max(filled(groups, pages).read / accesses, _FEW) / max(read, _FEW)) ** 2
            for pages, read in self.filling
        ]
        return math.sqrt(math.fsum(squares) / len(squares))


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
        first: Whether these are first reads, which end once everything has been read.
        stalled: Whether no page becomes young, and the young sublist is of no use.
        unused: Pages in the young sublist that nothing asks for.
        off: Share of the reads that are of other tables than measured.
    """

    kind: str
    shape: float
    groups: Mapping[str, Sequence[Pages]]
    state: State
    unlike: float
    once: float = 0.0
    first: bool = False
    stalled: bool = False
    unused: float = 0.0
    off: float = 0.0

    @property
    def special(self) -> bool:
        """Whether it counts only where the filling shows that nothing else does."""
        return self.kind.startswith("bell")

    @property
    def simplest(self) -> bool:
        """Whether these are accesses by Zipf's law to all pages of each table."""
        return self.kind == "zipf" and self.shape == 1.0

    @property
    def now(self) -> Mapping[str, float]:
        """Pages read a second of each table, today, without those that any pool would have."""
        return _by_table(self.groups, self.state)

    def foretell(self, held: List, scans: Sequence[Scan], *, grown: float) -> list[Foretold]:
        """What is read with another list, without what any pool would read.

        A scanned table may stay in the pool, or pass through it. Both may last, once they are so. Then what a pool
        does that grew comes first, which has free pages until it has filled.

        Args:
            held: The list.
            scans: As they are today.
            grown: Pages that the pool has more than today.
        """
        asked = [each for groups in self.groups.values() for each in groups]
        if grown <= 0:  # a larger pool evicts them, unless it holds everything
            held = replace(held, young=held.young - min(self.unused, _MOST_UNUSED * held.young))
        passing = math.fsum(scan.read - scan.kept for scan in scans) > 0
        found: list[tuple[bool | None, Foretold]] = []
        fitting = math.fsum(scan.pages for scan in scans) < _MOST_KEPT * (held.young + held.old)
        # A smaller pool keeps no more, and a larger one no less.
        may_stay = bool(scans) and fitting and not (passing and grown < 0)
        may_pass = not may_stay or passing or grown < 0
        for read in (*([0.0] if may_stay else []), *([1.0] if may_pass else [])):
            then = [replace(scan, read=read * scan.pages) for scan in scans]
            for state in self._states(asked, held, then):
                lasts = all((passes if read else stays)(scan, state) for scan in then)
                by_scans = math.fsum(scan.read / scan.period for scan in then)
                fits = grown >= math.fsum(scan.pages + state.read * scan.period for scan in then)
                likely = bool(read) == (passing if grown < 0 else not fits)
                found.append((likely if lasts else None, Foretold(_by_table(self.groups, state), by_scans)))
        lasting = [each for each in found if each[0] is not None] or found
        return [each for _, each in sorted(lasting, key=lambda each: not each[0])]

    def _states(self, asked: Sequence[Pages], held: List, scans: Sequence[Scan]) -> list[State]:
        """The states that a list may be in, the likeliest first.

        Where pages leave the old sublist at about innodb_old_blocks_time, or before, history decides: the young sublist
        may have been filled with what is asked for, or with anything else, and stays so.
        """
        state = settle(asked, held, scans, self.state)
        if state is not None and state.old_seconds >= _ROOM * held.old_seconds:
            return [state]
        best = settle(asked, replace(held, old_seconds=0.0), scans, self.state)
        if best is None:
            return [filled(asked, held.young + held.old)]
        if best.old_seconds >= _ROOM * held.old_seconds:
            return [best]
        worst = stall(asked, held)
        if self.stalled and worst.old_seconds < held.old_seconds / _ROOM:
            return [worst, best]
        return [best, worst] if self.stalled else [_mean(best, worst), best, worst]


@dataclass(frozen=True, slots=True)
class Foretold:
    """Pages read a second with another list.

    Attributes:
        tables: By lookups, by table.
        scans: By scans.
    """

    tables: Mapping[str, float]
    scans: float


Make = Callable[[Table, float, float], list[Pages]]
"""The groups of a table, of a shape and of an amount of skew, 0 to 1, which the reads fall with from the first."""


def _zipf(table: Table, shape: float, skew: float) -> list[Pages]:
    return zipf(max(table.pages * shape, 1.0), math.sqrt(skew) * _MOST_SKEW, table.accesses, table.groups)


def _hot(table: Table, shape: float, skew: float) -> list[Pages]:
    share = shape + (1 - shape) * math.sqrt(skew)
    hot, cold = max(table.pages * shape, 1.0), max(table.pages * (1 - shape), 1.0)
    return [Pages(hot, table.accesses * share / hot), Pages(cold, table.accesses * (1 - share) / cold)]


def _bell(table: Table, shape: float, skew: float) -> list[Pages]:
    hot = max(_SPOT * table.pages, 1.0)
    spot = Pages(hot, max(table.accesses * shape, _NONE) / hot)
    return [spot, *bell(table.pages, _WIDEST * _NARROWEST**skew, table.accesses * (1 - shape))]


_SHAPES: Mapping[str, tuple[Make, Sequence[float]]] = {
    "zipf": (_zipf, _FOOTPRINTS),
    "hot": (_hot, _HOT),
    "bell": (_bell, _SPOTS),
}


def explanations(
    measured: Measured, most_once: float = 0.0, check_time: Callable[[], None] = lambda: None
) -> list[Explanation]:
    """Explanations of many kinds, each kind in the order of its shapes.

    Reads that any pool would have are among them as far as they may be: those of pages that are read for the first
    time, and, where nothing else makes as few or as many pages young as were measured, those of pages that are not
    asked for again, or of pages that are asked for a while (a hot set that drifts).

    Args:
        measured: What is to be explained.
        most_once: Share of the reads that may be first reads.
        check_time: Called between two fits; an exception from it ends the work.
    """
    if not measured.full:
        return _at_rest(measured)
    if measured.stalled:
        return _stalled(measured, check_time)
    if measured.made_young is None and measured.may_stall:  # either may be: both have to be explained
        stalled = _stalled(replace(measured, made_young=0.0), check_time)
        others = list(_kinds(measured, check_time)) or list(_kinds(measured, check_time, _ROUGHLY))
        return [*stalled, *others] if stalled and others else []
    found = list(_kinds(measured, check_time)) or list(_kinds(measured, check_time, _ROUGHLY))
    off = [each.unlike for each in found]
    unexplained = not measured.hurried and (not off or min(map(abs, off)) > UNLIKE)
    for share in _ONCE:
        if share <= most_once or (unexplained and all(each > 0 for each in off)):
            check_time()
            found += [replace(each, first=share <= most_once) for each in _besides(measured, share, young=False)]
        if unexplained and off and all(each < 0 for each in off):
            check_time()
            found += _besides(measured, share, young=True)
    return found


def _stalled(measured: Measured, check_time: Callable[[], None]) -> list[Explanation]:
    """Explanations of a list in which no page becomes young: its young sublist is of no use, or of the best use."""
    best = replace(measured, held=replace(measured.held, old_seconds=0.0))  # the best use: a steady state
    return [
        replace(each, kind=f"{each.kind}, {use}", unlike=0.0)
        for use, one in (("young of no use", measured), ("young of use", best))
        for each in list(_kinds(one, check_time)) or list(_kinds(one, check_time, _ROUGHLY))
    ]


def _kinds(measured: Measured, check_time: Callable[[], None], tolerated: float = TOLERATED) -> Iterator[Explanation]:
    for kind, (make, shapes) in _SHAPES.items():
        before: Explanation | None = None
        for shape in shapes:
            check_time()
            each = _fitted(kind, make, shape, measured, tolerated)
            if each is None:
                continue
            if before is not None and before.unlike * each.unlike < 0 and abs(before.unlike - each.unlike) > UNLIKE:
                part = before.unlike / (before.unlike - each.unlike)
                between = _fitted(kind, make, before.shape + part * (shape - before.shape), measured, tolerated)
                if between is not None:
                    yield between
            yield each
            before = each


def _besides(measured: Measured, share: float, *, young: bool) -> Iterator[Explanation]:
    """Zipf's law beside reads that any pool would have; ``young`` is whether their pages are asked for again soon."""
    tables = {
        name: replace(table, reads=(1 - share) * table.reads, accesses=table.accesses - share * table.reads)
        for name, table in measured.tables.items()
    }
    for kind, shape in (("zipf", 1.0), ("hot", 0.1)):
        each = _fitted(kind, _SHAPES[kind][0], shape, replace(measured, tables=tables))
        if each is not None:
            once = share * math.fsum(table.reads for table in measured.tables.values())
            made_young = each.state.made_young + (once if young else 0.0)
            unlike = _unlike(made_young, measured)
            yield replace(
                each, kind=f"{kind} and {'drifting' if young else 'once'}", shape=share, unlike=unlike, once=share
            )


def _at_rest(measured: Measured) -> list[Explanation]:
    """Explanations of a pool that holds all that was asked for, with one skew for all tables.

    Until the first page is evicted the server makes none young (buf_page_peek_if_too_old). Then the filling tells the
    skew, and where that was not watched either, accesses may be all alike or all on a few pages.
    """
    return [
        found
        for kind, shape in (("zipf", 1.0), *(("hot", shape) for shape in _HOT))
        for found in _skews(kind, shape, measured)
    ]


def _skews(kind: str, shape: float, measured: Measured) -> Iterator[Explanation]:
    make = _SHAPES[kind][0]

    def made(skew: float) -> Explanation:
        groups = {name: make(table, shape, skew) for name, table in measured.tables.items()}
        state = rest([each for some in groups.values() for each in some], measured.held)
        unlike = _unlike(state.made_young, measured)
        return Explanation(kind, shape, groups, state, unlike, once=1.0, first=True)

    if measured.made_young is not None and measured.made_young > _NONE:
        low, high = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if made(middle).unlike > 0 else (low, middle)
        yield made(low)
    elif len(measured.filling) >= POINTS:
        tried = [made(number / _TRIED) for number in range(_TRIED)]
        yield replace(min(tried, key=measured.off), unlike=0.0)
    else:
        yield from (replace(made(skew), unlike=0.0) for skew in (0.0, 1.0))


@dataclass(frozen=True, slots=True)
class _Trial:
    """A shape with an amount of skew for each table, and what would be read today."""

    skews: Mapping[str, float]
    groups: Mapping[str, Sequence[Pages]]
    state: State
    reads: Mapping[str, float]
    settled: bool
    unused: float

    @property
    def read(self) -> float:
        return math.fsum(self.reads.values())


class _Fit:
    """The search for the skew of each table: more skew means fewer reads."""

    def __init__(self, make: Make, shape: float, measured: Measured, *, unused_too: bool) -> None:
        self._make, self._shape, self._measured, self._unused_too = make, shape, measured, unused_too
        self._wanted = max(math.fsum(table.reads for table in measured.tables.values()), _NONE)
        self._near: State | None = None
        self._unused = 0.0

    def run(self, tolerated: float) -> _Trial | None:
        """The best skews; None if no skews give the measured reads."""
        found = self._try(0.0)
        if found is None:
            return None
        if self._unused_too and found.read < (1 - _SURE) * self._wanted:
            found = self._beside_unused() or found
        low, high = (0.0, found.read), (1.0, _NONE)
        if found.read > self._wanted:
            for _ in range(_STEPS):
                at = self._between(low, high)
                tried = self._try(at)
                if tried is None:  # hardly anything is read
                    high = at, _NONE
                    continue
                found = tried
                if abs(found.read - self._wanted) <= _SAME * self._wanted:
                    break
                low, high = ((at, found.read), high) if found.read > self._wanted else (low, (at, found.read))
        found = self._apart(found)
        return found if self.off(found) <= tolerated else None

    def off(self, found: _Trial) -> float:
        """Share of the reads that are of other tables than measured."""
        off = math.fsum(abs(found.reads[name] - table.reads) for name, table in self._measured.tables.items())
        return off / max(self._wanted, _NONE)

    def _beside_unused(self) -> _Trial | None:
        """With pages in the young sublist that nothing asks for: more reads than accesses that are all alike have.

        So it is for a while after a start, or after another load.
        """
        low, high = 0.0, _MOST_UNUSED * self._measured.held.young
        found: _Trial | None = None
        for _ in range(_STEPS):
            self._unused = (low + high) / 2
            found = self._try(0.0)
            if found is None:
                break
            low, high = (self._unused, high) if found.read < self._wanted else (low, self._unused)
        return found

    def _between(self, low: tuple[float, float], high: tuple[float, float]) -> float:
        """Where a line between the logarithms of the reads has the measured ones; halfway where one end has none."""
        over, under = math.log(low[1] / self._wanted), math.log(max(high[1], _NONE) / self._wanted)
        part = 0.5 if high[1] <= _NONE else over / (over - under)
        return low[0] + min(max(part, 0.1), 0.9) * (high[0] - low[0])

    def _apart(self, found: _Trial) -> _Trial:
        """Give each table a skew of its own: tables share the list, so that each moves all others a little.

        At given times of the list a table may be read more with more skew, and less with still more: of a table that is
        mostly in the pool only the pages that are rarely asked for are read.
        """
        tables = self._measured.tables
        for _ in range(_TURNS if len(tables) > 1 and math.isfinite(found.state.young_seconds) else 0):
            skews = {name: self._nearest(name, found) for name in tables}
            moved = self._try(skews)
            if moved is None or self.off(moved) >= self.off(found):
                halfway = {name: (skew + found.skews[name]) / 2 for name, skew in skews.items()}
                moved = self._try(halfway)
                if moved is None or self.off(moved) >= self.off(found):
                    break
            found = moved
            if self.off(found) <= _SAME:
                break
        return found

    def _nearest(self, name: str, found: _Trial) -> float:
        """The skew nearest to the present one with which a table is read as measured, if the list stays as it is."""
        measured, table = self._measured, self._measured.tables[name]
        held = replace(measured.held, young=measured.held.young - self._unused)
        tried = [n / _TRIED for n in range(_TRIED + 1)]
        reads = [read_beside(self._make(table, self._shape, skew), held, measured.scans, found.state) for skew in tried]
        between = [
            a + (table.reads - low) / (high - low) * (b - a)
            for (a, low), (b, high) in pairwise(zip(tried, reads, strict=True))
            if low != high and (low - table.reads) * (high - table.reads) <= 0
        ]
        if between:
            return min(between, key=lambda skew: abs(skew - found.skews[name]))
        return min(zip(reads, tried, strict=True), key=lambda each: abs(each[0] - table.reads))[1]

    def _try(self, skews: float | Mapping[str, float]) -> _Trial | None:
        measured = self._measured
        held = replace(measured.held, young=measured.held.young - self._unused)
        each = dict.fromkeys(measured.tables, skews) if isinstance(skews, float) else skews
        groups = {name: self._make(table, self._shape, each[name]) for name, table in measured.tables.items()}
        asked = [group for some in groups.values() for group in some]
        settled = None if measured.stalled else settle(asked, held, measured.scans, self._near)
        state = settled or stall(asked, held)  # where there is no steady state, the skew is too small
        if settled is None and state.old_seconds > _ROOM * measured.held.old_seconds:
            return None
        self._near = settled
        return _Trial(each, groups, state, _by_table(groups, state), settled is not None, self._unused)


def _fitted(
    kind: str, make: Make, shape: float, measured: Measured, tolerated: float = TOLERATED
) -> Explanation | None:
    """The skew of each table by its reads; None if no skew gives them."""
    unused_too = kind == "zipf" and shape == 1.0  # no other shape has as many reads
    fit = _Fit(make, shape, measured, unused_too=unused_too)
    found = fit.run(tolerated)
    if found is None or found.settled is measured.stalled:
        return None
    unlike, off = _unlike(found.state.made_young, measured), fit.off(found)
    return Explanation(
        kind, shape, found.groups, found.state, unlike, stalled=measured.stalled, unused=found.unused, off=off
    )


def _mean(one: State, other: State) -> State:
    reads = tuple((a + b) / 2 for a, b in zip(one.reads, other.reads, strict=True))
    return replace(one, read=(one.read + other.read) / 2, reads=reads)


def _unlike(made_young: float, measured: Measured) -> float:
    if measured.made_young is None:
        return 0.0  # nothing speaks against it
    return math.log(max(made_young, _NONE) / max(measured.made_young, _NONE))


def _by_table(groups: Mapping[str, Sequence[Pages]], state: State) -> dict[str, float]:
    found, at = {}, 0
    for table, some in groups.items():
        found[table] = math.fsum(state.reads[at : at + len(some)])
        at += len(some)
    return found
