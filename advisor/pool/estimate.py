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
from advisor.models.lru.instance import TooManySteps
from advisor.models.lru.popularity import Pages
from advisor.observe.window import Window
from advisor.pool import bounds
from advisor.pool.curve import NO_READS, TIMES, ExpectedReads, FilledPool, MissCurve, PoolSize, reads_by_table
from advisor.pool.errors import Unanswerable, answerable
from advisor.pool.evidence import PoolEvidence, evidence, since_full
from advisor.pool.fitting import Fitted, Loads
from advisor.pool.load import MOST_TABLES, OTHERS, SmoothLoad
from advisor.pool.scanned import ReadRates, scaled
from advisor.pool.settings import POOL_SIZE
from advisor.pool.steady import Sublists, settle
from exporter.rows import number
from exporter.snapshot import Snapshot

TAKEN = 0.02
"""Share of the pool that something else may take: undo logs, the data dictionary, pages that the statistics lack."""


@dataclass(frozen=True, slots=True)
class _Span:
    """Where the truth lies between smooth popularity and the bounds (measured: docs/miss-curve.md).

    Attributes:
        smallest: Share of the data in the pool that a smaller pool keeps at least, whatever the page cleaner keeps
            free.
        between: Where the truth lay from smooth popularity to the bound, as far as the server tells what the pool holds
            of each table. Where it does not, smooth popularity was right.
        noise: Share of today's reads by which the same load differs from one minute to the next.
        smaller: Share by which a smaller pool may read more than by smooth popularity, beyond today's reads.
    """

    smallest: float = 0.02
    between: float = 0.5
    noise: float = 0.03
    smaller: float = 0.5


_SPAN = _Span()


def curve(
    history: Sequence[Snapshot],
    longest: float,
    times: Sequence[float] = TIMES,
    check_time: Callable[[], None] = lambda: None,
) -> MissCurve:
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
    watched = explained(window, check_time=check_time, history=history)
    evidence = watched.evidence
    return MissCurve(
        server=str(window.latest.server),
        at=window.latest.at,
        watched_seconds=round(evidence.seconds, 3),
        pool_bytes=watched.bytes,
        page_bytes=evidence.page_bytes,
        pages_read_per_second=evidence.reads,
        first_pages_read_per_second=watched.first_reads,
        sizes=watched.sizes(times),
        filled=tuple(
            FilledPool(bytes=pages * evidence.page_bytes, pages_read_per_second=read * evidence.accesses)
            for pages, read in evidence.filling
        ),
        notes=tuple(watched.notes()),
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
    today = number(window.latest.setting(POOL_SIZE))
    return explain(evidence(history or seen.snapshots, seen, known), today, loads, check_time)


@answerable()
def explain(
    evidence: PoolEvidence,
    today: float | None,
    loads: Loads | None = None,
    check_time: Callable[[], None] = lambda: None,
) -> Explained:
    """Explain the evidence.

    Args:
        evidence: Of a window.
        today: innodb_buffer_pool_size.
        loads: Those of earlier windows.
        check_time: Called between two steps; an exception from it ends the work.

    Raises:
        Unanswerable: The size is not known.
    """
    if today is None:
        raise Unanswerable("variables", "the size of the pool is not known")
    load = (loads or Loads()).of(evidence, check_time)
    held = replace(evidence.of_lists, old_seconds=0.0) if load.hurried else evidence.of_lists
    return Explained(evidence, float(today), held, load, check_time)


@dataclass(frozen=True, slots=True)
class _Reads:
    """Pages read a second: of each table by lookups, by the scans of each table, and of no table."""

    tables: Mapping[str, float]
    scans: Mapping[str, float]
    rest: float

    @property
    def all(self) -> float:
        return math.fsum((*self.tables.values(), *self.scans.values(), self.rest))


@dataclass(frozen=True, slots=True)
class _Bounds:
    """The fewest reads, those to expect, and the most."""

    low: _Reads
    then: _Reads
    high: _Reads

    def within(self, other: _Bounds, choose: Callable[[float, float], float]) -> _Bounds:
        """Of each part the one that ``choose`` takes, min or max."""

        def of(one: _Reads, two: _Reads) -> _Reads:
            tables, scans = (
                {name: choose(reads, others[name]) for name, reads in some.items()}
                for some, others in ((one.tables, two.tables), (one.scans, two.scans))
            )
            return _Reads(tables, scans, choose(one.rest, two.rest))

        return _Bounds(of(self.low, other.low), of(self.then, other.then), of(self.high, other.high))


@dataclass(frozen=True)
class Explained:
    """What was watched, and the load that explains it.

    Attributes:
        bytes: innodb_buffer_pool_size today.
        held: The part of the list that the tables have.
        fitted: The load, by this evidence or by earlier evidence that was nearly the same.
        check_time: Called between two simulations; an exception from it ends the work.
    """

    evidence: PoolEvidence
    bytes: float
    held: Sublists
    fitted: Fitted
    check_time: Callable[[], None]

    @property
    def smooth(self) -> SmoothLoad | None:
        """Smooth popularity; None where none explains what was measured."""
        return self.fitted.smooth

    @property
    def hurried(self) -> bool:
        """Whether pages leave the old sublist too soon for a steady state."""
        return self.fitted.hurried

    @cached_property
    def first_reads(self) -> ExpectedReads:
        """Of today's reads, those of pages that were never read before."""
        if not self.evidence.full:  # nothing was evicted
            return _ordered(self.evidence.reads, self.evidence.reads, self.evidence.reads)
        first = math.fsum(self._first.values())
        return _ordered(first, 0.0, first)

    @cached_property
    def _first(self) -> dict[str, float]:
        """Of each table's reads, those of pages that were never read before, from now on.

        Where independent accesses do not explain the reads, these are as many as there are pages that were not read yet
        for certain.
        """
        evidence, smooth = self.evidence, self.smooth
        if smooth is not None:
            return {
                name: table.reads * smooth.first(name, table.since_start / table.reads)
                for name, table in evidence.tables.items()
            }
        return {
            name: min(table.reads, max(0.0, table.pages - table.since_start) / evidence.seconds)
            for name, table in evidence.tables.items()
        }

    @cached_property
    def _absent(self) -> dict[str, float]:
        """Pages of each table that are not in the pool."""
        return bounds.absent(self.evidence.tables, self.evidence.of_tables)

    @answerable()
    def sizes(self, times: Sequence[float]) -> tuple[PoolSize, ...]:
        """The reads with pools of so many times today's size, ascending, and with today's."""
        return tuple(map(self.size, sorted({1.0, *times})))

    def size(self, times: float) -> PoolSize:
        """The reads with a pool of so many times today's size."""
        today, answer = self.evidence.reads, self._bounds(times)
        off = _SPAN.noise * today
        low, then, high = answer.low.all - off, answer.then.all, answer.high.all + off
        if times == 1.0:
            low = then = high = today
        elif times > 1.0:
            low, then, high = (min(max(0.0, reads), today) for reads in (low, then, high))
        else:
            low, then, high = (max(reads, today) for reads in (low, then, high))
        return PoolSize(
            times=times,
            bytes=self.bytes * times,
            pages_read_per_second=_ordered(then, low, high),
            scan_pages_read_per_second=math.fsum(answer.then.scans.values()),
            tables=reads_by_table(self._by_table(answer)),
        )

    def expected(self, times: float) -> ReadRates:
        """The likeliest reads with a pool of so many times today's size: those of ``size``, by scan."""
        size, scans = self.size(times), self._bounds(times).then.scans
        per_second = self.evidence.scanned.workload.scans_per_second
        return ReadRates(
            per_pass={name: pages / per_second[name] for name, pages in scans.items()},
            per_second=per_second,
            other=size.pages_read_per_second.expected - size.scan_pages_read_per_second,
        )

    def planned(self, times: float, grown: float) -> float:
        """The reads by which a larger size is chosen: of lookups as expected, of scans the most.

        For a pool holds a scanned table or it does not. Tables are so many times as large as today.
        """
        size = self.size(times * (1 - TAKEN) / grown)
        if not self.evidence.scanned.scans:
            return size.pages_read_per_second.expected
        scans = self._simulated(times, self.fitted.lookups[-1], strained=True).scans
        expected = size.pages_read_per_second.expected - size.scan_pages_read_per_second
        return expected + math.fsum(scans.values())

    def most(self, times: float) -> float:
        """The most pages read a second with a larger pool, where others take what they may; at most today's reads."""
        evidence = self.evidence
        if evidence.scanned.scans:
            most = self._simulated(times, self.fitted.lookups[-1], strained=True).all
        else:
            more = evidence.size * times * (1 - TAKEN) - evidence.most_free - evidence.pages
            most = self._most(more).all if evidence.full and more > 0.0 else evidence.reads
        return min(evidence.reads, most + _SPAN.noise * evidence.reads)

    def _more(self, times: float) -> float:
        """Pages of data that a pool of so many times today's size has room for beyond today's."""
        evidence = self.evidence
        return max(evidence.size * times - evidence.kept_free, _SPAN.smallest * evidence.pages) - evidence.pages

    @cached_property
    def _today(self) -> _Reads:
        evidence = self.evidence
        return _Reads(
            {name: table.reads for name, table in evidence.tables.items()},
            evidence.scanned.by_table,
            evidence.unexplained,
        )

    def _bounds(self, times: float) -> _Bounds:
        """With a size; the same question comes from several parts of an answer."""
        if times not in self._answers:
            self._answers[times] = self._within(times)
        return self._answers[times]

    @cached_property
    def _answers(self) -> dict[float, _Bounds]:
        """The bounds so far, by multiple of today's size."""
        return {}

    def _within(self, times: float) -> _Bounds:
        """With a size: a larger one reads no more than today's or any that is asked for between, and so on."""
        answer = _Bounds(self._today, self._today, self._today)
        if times == 1.0:
            return answer
        # Scans may stay in the pool with one size and not with the next: what holds between holds here, too.
        between = (
            [multiple for multiple in TIMES if 1.0 < multiple < times or times < multiple < 1.0]
            if self.evidence.scanned.scans
            else []
        )
        for multiple in (*between, times):
            if not self.evidence.full:
                answer = answer.within(self._filling(multiple), min if times > 1.0 else max)
            elif self._more(multiple) > 0.0:
                answer = answer.within(self._larger(multiple), min)
            elif self._more(multiple) < 0.0:
                answer = answer.within(self._smaller(multiple), max)
        return answer

    def _simulated(self, times: float, lookups: tuple[Pages, ...], *, strained: bool = False) -> _Reads:
        """The reads beside scans: the lookups of all tables change alike."""
        evidence, first = self.evidence, self._first
        by_scans = evidence.scanned.by_table
        whole = evidence.tables_pages + math.fsum(scan.pages for scan in evidence.scanned.workload.scans)
        if evidence.of_tables + self._more(times) >= whole and not strained:
            return _Reads(first, dict.fromkeys(by_scans, 0.0), 0.0)
        try:
            reads = self.reads({POOL_SIZE: self.bytes * times}, lookups, strained=strained)
        except TooManySteps:  # what needs no model
            return self._today if times > 1.0 else self._lost(-self._more(times))
        by_scans = {name: pages * reads.per_second[name] for name, pages in reads.per_pass.items()}
        if not evidence.by_lookups:
            return _Reads({}, by_scans, reads.other)
        factor = (reads.other - evidence.unexplained) / evidence.by_lookups
        tables = {
            name: max(reads_now * factor, min(reads_now, first[name])) for name, reads_now in self._today.tables.items()
        }
        return _Reads(tables, by_scans, evidence.unexplained)

    def reads(self, changes: Mapping[str, float], lookups: tuple[Pages, ...], *, strained: bool = False) -> ReadRates:
        """The pages read after some changes by the simulation, relative to those measured today.

        Args:
            changes: To settings of the model.
            lookups: Beside the scans.
            strained: As in ``scanned.predict``.

        Raises:
            TooManySteps: It takes too long.
        """
        evidence = self.evidence
        now, then = (
            self.fitted.predict(settings, lookups, self.check_time, strained=strained).rates
            for settings in ({}, changes)
        )
        return ReadRates(
            per_pass={
                name: scaled(measured, now.per_pass[name], then.per_pass[name])
                for name, measured in evidence.scanned.per_pass.items()
            },
            per_second=evidence.scanned.workload.scans_per_second,
            other=evidence.unexplained + scaled(evidence.by_lookups, now.other, then.other),
        )

    def _larger(self, times: float) -> _Bounds:
        """With a pool that has room for more pages."""
        evidence, more = self.evidence, self._more(times)
        if evidence.scanned.scans:
            *smooth, high = (self._simulated(times, lookups) for lookups in self.fitted.lookups)
            likely = smooth[0] if smooth else high
        else:
            high, smooth = self._most(more), self._smoothly(more)
            if smooth and not self.hurried:
                likely = smooth[0]
            else:  # what is in the pool beside the tables is history, which a larger one gets rid of
                likely = min(
                    [self._most(more + evidence.pages - evidence.of_tables), *smooth], key=lambda reads: reads.all
                )
        none = _Reads(dict.fromkeys(evidence.tables, 0.0), dict.fromkeys(high.scans, 0.0), 0.0)
        least = likely if smooth and not self.hurried else none
        share = _SPAN.between if evidence.residents_known or not smooth or self.hurried else 0.0
        low, then = {}, {}
        for name, most in high.tables.items():
            low[name] = min(least.tables[name], most)
            then[name] = max(low[name], most - (1 - share) * max(0.0, most - likely.tables[name]))
            then[name] = min(max(then[name], self._first[name]), most)
        # Pages of no table as those of tables.
        rest = (
            evidence.unexplained * math.fsum(then.values()) / evidence.by_lookups if evidence.by_lookups else high.rest
        )
        return _Bounds(_Reads(low, least.scans, 0.0), _Reads(then, likely.scans, min(rest, high.rest)), high)

    def _most(self, more: float) -> _Reads:
        """The most reads with a pool that has room for more pages: first reads go on as today."""
        evidence, first = self.evidence, self._first
        if evidence.of_tables + more >= evidence.tables_pages:
            return _Reads(first, {}, 0.0)
        again = bounds.most(
            {name: table.reads - first[name] for name, table in evidence.tables.items()}, self._absent, more
        )
        return _Reads({name: first[name] + reads for name, reads in again.items()}, {}, evidence.unexplained)

    def _smaller(self, times: float) -> _Bounds:
        """With a pool that has room for fewer pages."""
        evidence, now, more = self.evidence, self._today, self._more(times)
        read = math.fsum(now.tables.values())
        scans = [now.scans, now.scans]
        if evidence.scanned.scans:
            *smooth, most = (self._simulated(times, lookups) for lookups in self.fitted.lookups)
            low, scans = read, [(smooth or [most])[0].scans, most.scans]
        else:
            low, smooth, most = bounds.least(now.tables, self._absent, -more), self._smoothly(more), self._lost(-more)
        likely = smooth[0].tables if smooth else most.tables
        then = max(low, math.fsum(likely.values()))
        high = then + _SPAN.smaller * (then - read)
        if self.hurried:
            high = max(high, read * evidence.pages / (evidence.pages + more))
        if not smooth or evidence.scanned.scans:
            worst = max(then, math.fsum(most.tables.values()))
            high = max(high, worst + _SPAN.smaller * (worst - read))
        shares = _shares(likely, now.tables)

        def shared(whole: float, by_scans: Mapping[str, float]) -> _Reads:
            tables = {name: reads + (whole - read) * shares[name] for name, reads in now.tables.items()}
            return _Reads(tables, by_scans, evidence.unexplained * (whole / read if read else 1.0))

        return _Bounds(shared(low, now.scans), shared(then, scans[0]), shared(high, scans[1]))

    def _lost(self, fewer: float) -> _Reads:
        """The reads where the pages that are never read are all alike and fewer stay; scans read all of theirs."""
        evidence = self.evidence
        hits = math.fsum(pages * rate for pages, rate in self.fitted.kept)
        kept = math.fsum(pages for pages, _ in self.fitted.kept)
        rise = hits * min(1.0, fewer / kept) / evidence.by_lookups if kept and evidence.by_lookups else 0.0
        tables = {name: reads * (1.0 + rise) for name, reads in self._today.tables.items()}
        workload = evidence.scanned.workload
        scans = {scan.name: scan.pages * workload.scans_per_second[scan.name] / scan.sharers for scan in workload.scans}
        return _Reads(tables, scans, 0.0)

    def _smoothly(self, more: float) -> list[_Reads]:
        """The reads by smooth popularity with a list that is longer by ``more``."""
        evidence, smooth = self.evidence, self.smooth
        if smooth is None:
            return []
        # Pages of others take their part of a smaller list, and no more of a larger one.
        times = 1.0 + more / (evidence.pages if more < 0.0 else self.held.young + self.held.old)
        held = replace(self.held, young=self.held.young * times, old=self.held.old * times)
        groups = smooth.groups
        state = settle(groups, held, smooth.state) or settle(groups, replace(held, old_seconds=0.0))
        if state is None:
            return []
        return [_Reads({name: read * smooth.times(name, state) for name, read in self._today.tables.items()}, {}, 0.0)]

    def _filling(self, times: float) -> _Bounds:
        """A pool that was never full: what it holds is all that was asked for, and today's reads are first reads."""
        evidence, now = self.evidence, self._today
        again = evidence.accesses * max(0.0, -self._more(times) / evidence.pages) if evidence.by_lookups else 0.0
        scans = self._simulated(times, self.fitted.lookups[-1]).scans if evidence.scanned.scans else {}

        def of(part: float) -> _Reads:
            rise = 1.0 + part * again / max(evidence.by_lookups, 1e-9)
            return _Reads({name: reads * rise for name, reads in now.tables.items()}, scans, now.rest)

        return _Bounds(of(0.0), of(0.5), of(1.0))

    def _by_table(self, answer: _Bounds) -> dict[str, ExpectedReads]:
        """By table, those that are read most; the others as one."""
        tables = self.evidence.tables
        names = sorted(tables, key=lambda name: (-tables[name].reads, name))
        parts = {name: [name] for name in names[:MOST_TABLES]}
        if names[MOST_TABLES:]:
            parts[OTHERS] = names[MOST_TABLES:]
        known = {
            part: _ordered(
                *(math.fsum(reads.tables[name] for name in names) for reads in (answer.then, answer.low, answer.high))
            )
            for part, names in parts.items()
        }
        resting = sorted(self.evidence.resting)[: max(0, MOST_TABLES - len(known))]
        return known | dict.fromkeys(resting, NO_READS)

    def notes(self) -> Iterator[str]:
        """What the answer rests on, and what it cannot see, in sentences."""
        evidence = self.evidence
        tables, scans = (_counted(len(some)) for some in (evidence.tables, evidence.scanned.scans))
        by = [f"lookups in {tables}"] if evidence.tables or not evidence.scanned.scans else []
        by += [f"scans of {scans}"] if evidence.scanned.scans else []
        yield (
            f"{evidence.seconds:,.0f} s of {' and '.join(by)} were watched: {evidence.reads:,.1f} pages read and"
            f" {evidence.made_young:,.1f} made young a second"
        )
        if evidence.filling:
            yield f"the pool was seen while it filled: {len(evidence.filling)} points of the curve were measured"
        if self.hurried:
            yield "pages leave the old sublist before innodb_old_blocks_time has passed: larger pools may read far less"
        elif evidence.full and evidence.tables and self.smooth is None:
            yield "no smooth popularity of pages explains these reads: the bounds are wide"
        if not evidence.residents_known:
            yield "what the pool holds of each table is not known: the bounds are wider"
        if evidence.unexplained > _SPAN.noise * evidence.reads:
            rest = f"{evidence.unexplained:,.1f} of the pages read a second are of no table"
            yield f"{rest}: a larger pool may read these too"


def _counted(tables: int) -> str:
    return "one table" if tables == 1 else f"{tables} tables"


def _ordered(then: float, low: float, high: float) -> ExpectedReads:
    return ExpectedReads(expected=then, low=min(low, then), high=max(high, then))


def _shares(then: Mapping[str, float], now: Mapping[str, float]) -> dict[str, float]:
    """The share of each table in what is read more than today; 0 where it is read less."""
    more = {name: max(0.0, then[name] - now[name]) for name in now}
    whole = math.fsum(more.values())
    return {name: increase / whole if whole else 1.0 / len(now) for name, increase in more.items()}
