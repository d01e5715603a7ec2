"""The miss curve of a server: from evidence to the reads with pools of other sizes.

Every answer has three numbers. For larger pools, ``high`` is a bound that needs no distribution (bounds.py), ``low`` is
what smooth popularity would give (load.py), and the middle of the two is expected: there the truth lay on average. For
smaller ones ``low`` is the bound, and smooth popularity is expected. Where smooth popularity does not explain today's
reads, or pages leave the old sublist too soon for a steady state, what is left is the answer: from none to the bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from advisor.facts import Facts, facts
from advisor.observe.window import Window
from advisor.pool import bounds
from advisor.pool.curve import NO_READS, TIMES, Curve, Estimate, Filled, Size
from advisor.pool.errors import Unanswerable, answerable
from advisor.pool.evidence import Evidence, evidence, since_full
from advisor.pool.load import MOST_TABLES, OTHERS, Load, load
from advisor.pool.steady import List, Scan, State, passes, read_by, settle, stays
from exporter.rows import number
from exporter.snapshot import Snapshot

TAKEN = 0.02
"""Share of the pool that something else may take: undo logs, the data dictionary, pages that the statistics lack."""
_SMALLEST = 0.02
"""Share of the data in the pool that a smaller pool keeps at least, whatever the page cleaner keeps free."""
_HURRIED = 1.5
"""Times innodb_old_blocks_time: if pages stay no longer in the old sublist, hardly any becomes young, and what the
young sublist holds is history."""
_MOST_KEPT = 0.9
"""Share of the list: scanned tables do not stay where they would take more of it."""
_EXPLAINED = 0.1
"""Share of today's reads: a load that is further off explains them not."""
_MOVED, _MOST_LOADS = 0.05, 4
"""Share that reads, residents, pages made young and the list may move by: a load stands for such evidence. And loads
that are kept: windows of several lengths are judged."""
_BETWEEN = 0.5
"""Where the truth lay between smooth popularity and the bound, as far as the server tells what the pool holds of each
table. Where it does not, smooth popularity was right (docs/miss-curve.md)."""
_NOISE = 0.03
"""Share of today's reads by which the same load differs from one minute to the next (docs/miss-curve.md)."""
_SMALLER = 0.5
"""Share by which a smaller pool may read more than by smooth popularity, beyond today's reads (docs/miss-curve.md)."""


def curve(
    history: Sequence[Snapshot],
    longest: float,
    times: Sequence[float] = TIMES,
    check_time: Callable[[], None] = lambda: None,
) -> Curve:
    """The reads to expect with pools of other sizes.

    Args:
        history: Snapshots, oldest first, not empty. The newest part without an interruption is the window. The parts
            before it may show how the pool filled.
        longest: Seconds of the window at most.
        times: The sizes, as multiples of today's.
        check_time: Called between two steps; an exception from it ends the work.

    Raises:
        Unanswerable: A section is not known.
    """
    window = Window.of(history, longest)
    found = explained(window, check_time=check_time, history=history)
    sizes = found.sizes(times)
    return Curve(
        at=window.latest.at,
        seconds=found.evidence.seconds,
        bytes=found.bytes,
        page_bytes=found.evidence.page_bytes,
        reads=found.evidence.reads,
        sizes=sizes,
        first_reads=found.first_reads,
        filled=tuple(_filled(found.evidence)),
        notes=tuple(found.notes()),
    )


def explained(
    window: Window,
    known: Facts | None = None,
    loads: Loads | None = None,
    check_time: Callable[[], None] = lambda: None,
    history: Sequence[Snapshot] = (),
) -> Explained:
    """Explain what was watched since the pool is full.

    Args:
        window: What has been watched.
        known: Its facts, where they are there already.
        loads: Those of earlier windows.
        check_time: Called between two steps; an exception from it ends the work.
        history: The window and what came before it, which may show how the pool filled.

    Raises:
        Unanswerable: A section is not known.
    """
    seen = since_full(window)
    if known is None or seen is not window:
        known = facts(seen)
    today = number(window.latest.setting("innodb_buffer_pool_size"))
    return explain(evidence(history or seen.snapshots, seen, known), today, loads, check_time)


class Loads:
    """Keeps loads of one server: fitting one takes nearly all of the time that an answer takes.

    A load stands for later evidence that is nearly the same.
    """

    def __init__(self) -> None:
        """Nothing is kept yet."""
        self._kept: list[tuple[Evidence, tuple[Load | None, bool]]] = []

    def of(self, found: Evidence, fit: Callable[[], tuple[Load | None, bool]]) -> tuple[Load | None, bool]:
        """What ``fit`` finds for some evidence, or found for earlier evidence that was nearly the same."""
        kept = next((each for each in self._kept if _stands(each[0], found)), None) or (found, fit())
        self._kept = [kept, *(each for each in self._kept if each is not kept)][:_MOST_LOADS]
        return kept[1]


def _stands(before: Evidence, now: Evidence) -> bool:
    """Whether the load of earlier evidence explains this, too."""
    if before.tables.keys() != now.tables.keys() or len(before.scans) != len(now.scans) or before.full is not now.full:
        return False
    tables = [(each, now.tables[name]) for name, each in before.tables.items()]
    moved = [
        (before.held.young, now.held.young, now.pages),
        (before.held.old, now.held.old, now.pages),
        (before.held.old_seconds, now.held.old_seconds, now.held.old_seconds),
        (before.made_young, now.made_young, max(now.made_young, before.reads)),
        *((was.reads, has.reads, before.reads) for was, has in tables),
        *((was.resident or 0.0, has.resident or 0.0, now.pages) for was, has in tables),
        *(
            (was.read / was.period, has.read / has.period, before.reads)
            for was, has in zip(before.scans, now.scans, strict=True)
        ),
    ]
    return all(abs(a - b) <= _MOVED * whole for a, b, whole in moved)


@answerable()
def explain(
    found: Evidence,
    today: float | None,
    loads: Loads | None = None,
    check_time: Callable[[], None] = lambda: None,
) -> Explained:
    """Explain the evidence.

    Args:
        found: Of a window.
        today: innodb_buffer_pool_size.
        loads: Those of earlier windows.
        check_time: Called between two steps; an exception from it ends the work.

    Raises:
        Unanswerable: The size is not known.
    """
    if today is None:
        raise Unanswerable("variables", "the size of the pool is not known")
    share = found.of_tables / found.pages if found.pages else 0.0
    held = List(found.held.young * share, found.held.old * share, found.held.old_seconds)

    def fit() -> tuple[Load | None, bool]:
        """The load, and whether pages leave the old sublist too soon for a steady state."""
        hurried = found.held.old < _HURRIED * held.old_seconds * (found.reads + found.made_young)
        if not found.full:
            return None, hurried
        for old_seconds in (0.0,) if hurried else (held.old_seconds, 0.0):
            smooth = load(
                found.tables, replace(held, old_seconds=old_seconds), found.made_young, found.scans, check_time
            )
            if smooth is not None and abs(smooth.state.read - found.by_lookups) <= _EXPLAINED * found.by_lookups:
                return smooth, old_seconds != held.old_seconds
        return None, hurried

    smooth, hurried = (loads or Loads()).of(found, fit)
    return Explained(found, float(today), replace(held, old_seconds=0.0) if hurried else held, smooth, hurried)


@dataclass(frozen=True, slots=True)
class _Reads:
    """Pages read a second: of each table by lookups, by scans, and of no table."""

    tables: Mapping[str, float]
    scans: float
    rest: float

    @property
    def all(self) -> float:
        return math.fsum(self.tables.values()) + self.scans + self.rest


@dataclass(frozen=True, slots=True)
class _Bounds:
    """The fewest reads, those to expect, and the most."""

    low: _Reads
    then: _Reads
    high: _Reads

    def within(self, other: _Bounds, choose: Callable[[float, float], float]) -> _Bounds:
        """Of each part the one that ``choose`` takes, min or max."""

        def of(one: _Reads, two: _Reads) -> _Reads:
            tables = {name: choose(reads, two.tables[name]) for name, reads in one.tables.items()}
            return _Reads(tables, choose(one.scans, two.scans), choose(one.rest, two.rest))

        return _Bounds(of(self.low, other.low), of(self.then, other.then), of(self.high, other.high))


@dataclass(frozen=True)
class Explained:
    """What was watched, and the load that explains it.

    Attributes:
        bytes: innodb_buffer_pool_size today.
        held: The part of the list that the tables have.
        smooth: By smooth popularity; None where none explains what was measured.
        hurried: Whether pages leave the old sublist too soon for a steady state.
    """

    evidence: Evidence
    bytes: float
    held: List
    smooth: Load | None
    hurried: bool

    @cached_property
    def first_reads(self) -> Estimate:
        """Of today's reads, those of pages that were never read before."""
        found = self.evidence
        if not found.full:
            return Estimate(found.reads, found.reads, found.reads)  # nothing was evicted
        first = math.fsum(self._first.values())
        return Estimate(first, 0.0, first)

    @cached_property
    def _first(self) -> dict[str, float]:
        """Of each table's reads, those of pages that were never read before, from now on.

        Where independent accesses do not explain the reads, these are as many as there are pages that were not read yet
        for certain.
        """
        found, smooth = self.evidence, self.smooth
        if smooth is not None:
            return {
                name: table.reads * smooth.first(name, table.since_start / table.reads)
                for name, table in found.tables.items()
            }
        return {
            name: min(table.reads, max(0.0, table.pages - table.since_start) / found.seconds)
            for name, table in found.tables.items()
        }

    @cached_property
    def _absent(self) -> dict[str, float]:
        """Pages of each table that are not in the pool."""
        return bounds.absent(self.evidence.tables, self.evidence.of_tables)

    @answerable()
    def sizes(self, times: Sequence[float]) -> tuple[Size, ...]:
        """The reads with pools of so many times today's size, ascending, and with today's."""
        return tuple(map(self.size, sorted({1.0, *times})))

    def size(self, times: float) -> Size:
        """The reads with a pool of so many times today's size."""
        if times not in self._asked:
            self._asked[times] = self._size(times)
        return self._asked[times]

    @cached_property
    def _asked(self) -> dict[float, Size]:
        """The answers so far: the same question comes from several parts of an answer."""
        return {}

    def _size(self, times: float) -> Size:
        today, found = self.evidence.reads, self._bounds(times)
        off = 0.0 if times == 1.0 else _NOISE * today
        low, then, high = found.low.all - off, found.then.all, found.high.all + off
        if times >= 1.0:
            low, then, high = (min(max(0.0, each), today) for each in (low, then, high))
        else:
            low, then, high = (max(each, today) for each in (low, then, high))
        return Size(times, self.bytes * times, _ordered(then, low, high), found.then.scans, self._by_table(found))

    def most(self, times: float) -> float:
        """The most pages read a second with a larger pool, where others take what they may; at most today's reads."""
        found = self.evidence
        more = found.size * times * (1 - TAKEN) - found.most_free - found.pages
        if not found.full or more <= 0.0:
            return found.reads
        return min(found.reads, self._most(more).all + _NOISE * found.reads)

    def _more(self, times: float) -> float:
        """Pages of data that a pool of so many times today's size has room for beyond today's."""
        found = self.evidence
        return max(found.size * times - found.kept_free, _SMALLEST * found.pages) - found.pages

    @cached_property
    def _today(self) -> _Bounds:
        found = self.evidence
        tables = {name: table.reads for name, table in found.tables.items()}
        measured = _Reads(tables, found.by_scans, found.unexplained)
        return _Bounds(measured, measured, measured)

    def _bounds(self, times: float) -> _Bounds:
        """With a size: a larger one reads no more than today's or any that is asked for between, and so on."""
        more, found = self._more(times), self._today
        if times == 1.0:
            return found
        if not self.evidence.full:
            return self._filling(more)
        # Scans may stay in the pool with one size and not with the next: what holds between holds here, too.
        between = [each for each in TIMES if 1.0 < each < times or times < each < 1.0] if self.evidence.scans else []
        for pages in (*map(self._more, between), more):
            if pages > 0.0:
                found = self._larger(pages).within(found, min)
            elif pages < 0.0:
                found = self._smaller(pages).within(found, max)
        return found

    def _larger(self, more: float) -> _Bounds:
        """With a pool that has room for more pages."""
        found = self.evidence
        high = self._most(more)
        smooth = self._smoothly(more)
        if smooth and not self.hurried:
            likely, least = smooth[0], min(smooth, key=lambda each: each.all)
        else:  # what is in the pool beside the tables is history, which a larger one gets rid of
            likely = min([self._most(more + found.pages - found.of_tables), *smooth], key=lambda each: each.all)
            least = _Reads(dict.fromkeys(found.tables, 0.0), 0.0, 0.0)
        share = _BETWEEN if found.residents_known or not smooth or self.hurried else 0.0
        low, then = {}, {}
        for name, most in high.tables.items():
            low[name] = min(least.tables[name], most)
            then[name] = max(low[name], most - (1 - share) * max(0.0, most - likely.tables[name]))
            then[name] = min(max(then[name], self._first[name]), most)
        # Pages of no table as those of tables.
        rest = found.unexplained * math.fsum(then.values()) / found.by_lookups if found.by_lookups else high.rest
        scans = min(likely.scans, high.scans)
        return _Bounds(_Reads(low, least.scans, 0.0), _Reads(then, scans, min(rest, high.rest)), high)

    def _most(self, more: float) -> _Reads:
        """The most reads with a pool that has room for more pages: first reads go on as today."""
        found, first = self.evidence, self._first
        scanned = math.fsum(scan.read for scan in found.scans)
        if found.of_tables + more >= math.fsum(each.pages for each in found.tables.values()) + scanned:
            return _Reads(first, 0.0, 0.0)
        again = bounds.most(
            {name: table.reads - first[name] for name, table in found.tables.items()},
            self._absent,
            max(0.0, more - scanned),
        )
        tables = {name: first[name] + reads for name, reads in again.items()}
        return _Reads(tables, found.by_scans, found.unexplained)

    def _smaller(self, more: float) -> _Bounds:
        """With a pool that has room for fewer pages: ``more`` is negative."""
        found, now = self.evidence, self._today
        read = math.fsum(now.then.tables.values())
        low = bounds.least(now.then.tables, self._absent, -more)
        smooth = self._smoothly(more)
        # Without one, reads are thought to rise as the pool shrinks, at most: half of that is expected.
        shrunk = found.pages / (found.pages + more)
        likely = (
            smooth[0].tables if smooth else {name: each * (1 + shrunk) / 2 for name, each in now.then.tables.items()}
        )
        then = max(low, math.fsum(likely.values()))
        high = then + _SMALLER * (then - read)
        if self.hurried or not smooth:
            high = max(high, read * shrunk)
        shares = _shares(likely, now.then.tables)
        scans = [each.scans for each in smooth] or [found.by_scans]

        def shared(whole: float, by_scans: float) -> _Reads:
            tables = {name: each + (whole - read) * shares[name] for name, each in now.then.tables.items()}
            return _Reads(tables, max(by_scans, found.by_scans), found.unexplained * (whole / read if read else 1.0))

        return _Bounds(shared(low, found.by_scans), shared(then, scans[0]), shared(high, max(scans)))

    def _smoothly(self, more: float) -> list[_Reads]:
        """The reads by smooth popularity with a list that is longer by ``more``, the likelier first."""
        found, smooth = self.evidence, self.smooth
        if smooth is None:
            return []
        # Pages of others take their part of a smaller list, and no more of a larger one.
        times = 1.0 + more / (found.pages if more < 0.0 else self.held.young + self.held.old)
        held = replace(self.held, young=self.held.young * times, old=self.held.old * times)
        return [
            _Reads(
                {name: read * smooth.times(name, state) for name, read in self._today.then.tables.items()},
                by_scans,
                0.0,
            )
            for state, by_scans in _states(smooth, held, found.scans, more)
        ]

    def _filling(self, more: float) -> _Bounds:
        """A pool that was never full: what it holds is all that was asked for, and today's reads are first reads."""
        found, now = self.evidence, self._today
        again = found.accesses * max(0.0, -more / found.pages) if found.by_lookups else 0.0

        def of(part: float) -> _Reads:
            rise = 1.0 + part * again / max(found.by_lookups, 1e-9)
            return replace(now.then, tables={name: each * rise for name, each in now.then.tables.items()})

        return _Bounds(of(0.0), of(0.5), of(1.0))

    def _by_table(self, found: _Bounds) -> dict[str, Estimate]:
        """By table, those that are read most; the others as one."""
        tables = self.evidence.tables
        names = sorted(tables, key=lambda name: (-tables[name].reads, name))
        parts = {name: [name] for name in names[:MOST_TABLES]}
        if names[MOST_TABLES:]:
            parts[OTHERS] = names[MOST_TABLES:]
        known = {
            part: _ordered(
                *(math.fsum(reads.tables[name] for name in names) for reads in (found.then, found.low, found.high))
            )
            for part, names in parts.items()
        }
        resting = self.evidence.resting[: max(0, MOST_TABLES - len(known))]
        return known | dict.fromkeys(resting, NO_READS)

    def notes(self) -> Iterator[str]:
        """What the answer rests on, and what it cannot see, in sentences."""
        found = self.evidence
        count = len(found.tables)
        yield (
            f"{found.seconds:,.0f} s of lookups in {'one table' if count == 1 else f'{count} tables'} were watched:"
            f" {found.reads:,.1f} pages read and {found.made_young:,.1f} made young a second"
        )
        if found.filling:
            yield f"the pool was seen while it filled: {len(found.filling)} points of the curve were measured"
        if self.hurried:
            yield "pages leave the old sublist before innodb_old_blocks_time has passed: larger pools may read far less"
        elif found.full and self.smooth is None:
            yield "no smooth popularity of pages explains these reads: the bounds are wide"
        if not found.residents_known:
            yield "what the pool holds of each table is not known: the bounds are wider"
        if found.unexplained > _NOISE * found.reads:
            rest = f"{found.unexplained:,.1f} of the pages read a second are of no table"
            yield f"{rest}: a larger pool may read these too"


def _states(smooth: Load, held: List, scans: tuple[Scan, ...], more: float) -> list[tuple[State, float]]:
    """The states that the list may be in, each with the pages that scans read a second, the likeliest first.

    A scanned table may stay in the pool, or pass through it. Both may last, once they are so. Then what a pool does
    that grew comes first, which has free pages until it has filled.
    """
    groups = smooth.groups
    passing = math.fsum(scan.read - scan.kept for scan in scans) > 0
    fitting = math.fsum(scan.pages for scan in scans) < _MOST_KEPT * (held.young + held.old)
    # A smaller pool keeps no more, and a larger one no less.
    may_stay = bool(scans) and fitting and not (passing and more < 0)
    may_pass = not may_stay or passing or more < 0
    found: list[tuple[bool | None, tuple[State, float]]] = []
    for read in (*([0.0] if may_stay else []), *([1.0] if may_pass else [])):
        then = tuple(replace(scan, read=read * scan.pages) for scan in scans)
        state = settle(groups, held, then, smooth.state) or settle(groups, replace(held, old_seconds=0.0), then)
        if state is None:
            continue
        lasts = all((passes if read else stays)(scan, state) for scan in then)
        fits = more >= math.fsum(scan.pages + state.read * scan.period for scan in then)
        likely = bool(read) == (passing if more < 0 else not fits)
        found.append((likely if lasts else None, (state, read_by(then))))
    lasting = [each for each in found if each[0] is not None] or found
    return [each for _, each in sorted(lasting, key=lambda each: not each[0])]


def _ordered(then: float, low: float, high: float) -> Estimate:
    return Estimate(then, min(low, then), max(high, then))


def _shares(then: Mapping[str, float], now: Mapping[str, float]) -> dict[str, float]:
    """The share of each table in what is read more than today; 0 where it is read less."""
    more = {name: max(0.0, then[name] - now[name]) for name in now}
    whole = math.fsum(more.values())
    return {name: each / whole if whole else 1.0 / len(now) for name, each in more.items()}


def _filled(found: Evidence) -> Iterator[Filled]:
    for pages, read in found.filling:
        yield Filled(pages * found.page_bytes, read * found.accesses)
