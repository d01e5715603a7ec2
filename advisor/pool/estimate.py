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
from advisor.models.lru.workload import Rates
from advisor.observe.window import Window
from advisor.pool import bounds
from advisor.pool.curve import NO_READS, TIMES, ExpectedReads, FilledPool, MissCurve, PoolSize, reads_by_table
from advisor.pool.errors import answerable
from advisor.pool.evidence import PoolEvidence, evidence, since_full
from advisor.pool.fitting import FittedLoad, Loads
from advisor.pool.load import MOST_TABLES, OTHERS
from advisor.pool.scanned import ScannedPool, predict, scaled
from advisor.pool.settings import POOL_SIZE
from advisor.pool.steady import Sublists, settle
from exporter.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class _Span:
    """Where the truth lies between smooth popularity and the bounds (measured: docs/miss-curve.md).

    Attributes:
        smallest: Share of the data in the pool that a smaller pool keeps at least, whatever the page cleaner keeps
            free.
        between: Where the truth lay from smooth popularity to the bound, on servers that count the pool's pages by
            table. On others smooth popularity was right.
        taken: Share of the pool that something else may take: undo logs, the data dictionary, pages that the statistics
            lack.
        noise: Share of today's reads by which the same load differs from one minute to the next.
        smaller: Share by which a smaller pool may read more than by smooth popularity, beyond today's reads.
    """

    smallest: float = 0.02
    between: float = 0.5
    taken: float = 0.02
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
        Unanswerable: A section is missing.
    """
    window = Window.of(history, longest)
    model = SizeModel.of(window, facts(window), Loads(), check_time, history)
    evidence = model.evidence
    return MissCurve(
        server=str(window.latest.server),
        at=window.latest.at,
        watched_seconds=round(evidence.seconds, 3),
        pool_bytes=evidence.pool_bytes,
        page_bytes=evidence.page_bytes,
        pages_read_per_second=evidence.reads,
        first_pages_read_per_second=model.first_reads,
        sizes=tuple(map(model.size, sorted({1.0, *times}))),
        filled=tuple(
            FilledPool(bytes=pages * evidence.page_bytes, pages_read_per_second=read * evidence.accesses)
            for pages, read in evidence.filling
        ),
        notes=tuple(model.notes()),
    )


@dataclass(frozen=True, slots=True)
class Reads:
    """Pages read a second.

    Attributes:
        tables: Of each table by lookups, where they are told apart.
        scans: Of each table by its scans.
        rest: By everything else.
    """

    tables: Mapping[str, float]
    scans: Mapping[str, float]
    rest: float

    @property
    def all(self) -> float:
        """By everything."""
        return math.fsum((*self.tables.values(), *self.scans.values(), self.rest))

    @property
    def others(self) -> float:
        """By everything but scans."""
        return math.fsum((*self.tables.values(), self.rest))


@dataclass(frozen=True, slots=True)
class _Bounds:
    """The fewest reads, those to expect, and the most."""

    low: Reads
    expected: Reads
    high: Reads

    def within(self, other: _Bounds, choose: Callable[[float, float], float]) -> _Bounds:
        """Of each part the one that ``choose`` takes, min or max."""

        def parts(mine: Mapping[str, float], others: Mapping[str, float]) -> dict[str, float]:
            return {name: choose(reads, others[name]) for name, reads in mine.items()}

        def of(mine: Reads, others: Reads) -> Reads:
            tables, scans = parts(mine.tables, others.tables), parts(mine.scans, others.scans)
            return Reads(tables, scans, choose(mine.rest, others.rest))

        return _Bounds(of(self.low, other.low), of(self.expected, other.expected), of(self.high, other.high))


@dataclass(frozen=True)
class SizeModel:
    """The reads with pools of other sizes: what was watched, and the load that explains it.

    Attributes:
        load: Fitted to this evidence, or to earlier evidence that was nearly the same.
        check_time: Called between two simulations; an exception from it ends the work.
    """

    evidence: PoolEvidence
    load: FittedLoad
    check_time: Callable[[], None]

    @classmethod
    @answerable()
    def of(
        cls,
        window: Window,
        known: Facts,
        loads: Loads,
        check_time: Callable[[], None],
        history: Sequence[Snapshot] = (),
    ) -> SizeModel:
        """The model of what was watched since the pool is full.

        Args:
            window: What has been watched.
            known: Its facts.
            loads: Those of earlier windows.
            check_time: Called between two steps; an exception from it ends the work.
            history: The window and what came before it, which may show how the pool filled.

        Raises:
            Unanswerable: A section is missing, or the window is too short.
        """
        seen = since_full(window)
        watched = evidence(history or seen.snapshots, seen, known if seen is window else facts(seen))
        return cls(watched, loads.of(watched, check_time), check_time)

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
        evidence, smooth = self.evidence, self.load.smooth
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
    def size(self, times: float) -> PoolSize:
        """The reads with a pool of so many times today's size."""
        today, answer = self.evidence.reads, self._bounds(times)
        noise = _SPAN.noise * today
        low, expected, high = answer.low.all - noise, answer.expected.all, answer.high.all + noise
        if times == 1.0:
            low = expected = high = today
        elif times > 1.0:
            low, expected, high = (min(max(0.0, reads), today) for reads in (low, expected, high))
        else:
            low, expected, high = (max(reads, today) for reads in (low, expected, high))
        return PoolSize(
            times=times,
            bytes=self.evidence.pool_bytes * times,
            pages_read_per_second=_ordered(expected, low, high),
            scan_pages_read_per_second=math.fsum(answer.expected.scans.values()),
            tables=reads_by_table(self._by_table(answer)),
        )

    def expected(self, times: float) -> Reads:
        """The likeliest reads with a pool of so many times today's size: those of ``size``, scan by scan."""
        size = self.size(times)
        others = size.pages_read_per_second.expected - size.scan_pages_read_per_second
        return Reads({}, self._bounds(times).expected.scans, others)

    def planned(self, times: float, grown: float) -> float:
        """The reads by which a larger size is chosen: of lookups as expected, of scans the most.

        For a pool holds a scanned table or it does not. Tables are so many times as large as today.
        """
        expected = self.expected(times * (1 - _SPAN.taken) / grown)
        if not self.evidence.scanned.scans:
            return expected.all
        scans = self._simulated(times, self.load.lookups[-1], strained=True).scans
        return expected.others + math.fsum(scans.values())

    def most(self, times: float) -> float:
        """The most pages read a second with a larger pool, where others take what they may; at most today's reads."""
        evidence = self.evidence
        if evidence.scanned.scans:
            most = self._simulated(times, self.load.lookups[-1], strained=True).all
        else:
            more = evidence.size * times * (1 - _SPAN.taken) - evidence.most_free - evidence.pages
            most = self._most(more).all if evidence.full and more > 0.0 else evidence.reads
        return min(evidence.reads, most + _SPAN.noise * evidence.reads)

    def _more(self, times: float) -> float:
        """Pages of data that a pool of so many times today's size has room for beyond today's."""
        evidence = self.evidence
        return max(evidence.size * times - evidence.kept_free, _SPAN.smallest * evidence.pages) - evidence.pages

    @cached_property
    def _today(self) -> Reads:
        evidence = self.evidence
        return Reads(
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

    def _simulated(self, times: float, lookups: tuple[Pages, ...], *, strained: bool = False) -> Reads:
        """The reads beside scans: the lookups of all tables change alike."""
        evidence, first = self.evidence, self._first
        by_scans = evidence.scanned.by_table
        whole = evidence.tables_pages + math.fsum(scan.pages for scan in evidence.scanned.workload.scans)
        if evidence.of_tables + self._more(times) >= whole and not strained:
            return Reads(first, dict.fromkeys(by_scans, 0.0), 0.0)
        try:
            reads = self.reads({POOL_SIZE: evidence.pool_bytes * times}, lookups, strained=strained)
        except TooManySteps:  # what needs no model
            return self._today if times > 1.0 else self._lost(-self._more(times))
        if not evidence.by_lookups:
            return reads
        factor = (reads.rest - evidence.unexplained) / evidence.by_lookups
        tables = {
            name: max(reads_now * factor, min(reads_now, first[name])) for name, reads_now in self._today.tables.items()
        }
        return Reads(tables, reads.scans, evidence.unexplained)

    def reads(self, changes: Mapping[str, float], lookups: tuple[Pages, ...], *, strained: bool = False) -> Reads:
        """The pages read after some changes by the simulation, relative to those measured today.

        Args:
            changes: To settings of the model.
            lookups: Beside the scans.
            strained: As in ``scanned.predict``.

        Raises:
            TooManySteps: It takes too long.
        """
        now, then = (
            self.load.predict(settings, lookups, self.check_time, strained=strained).rates for settings in ({}, changes)
        )
        return self._scaled(self.evidence.scanned, now, then)

    def reads_of(
        self, now: ScannedPool, then: ScannedPool, lookups: tuple[Pages, ...], *, strained: bool = False
    ) -> Reads:
        """The pages read in another pool, or by other scans, relative to those measured today.

        Args:
            now: Today's pool and scans.
            then: The others.
            lookups: Beside the scans.
            strained: As in ``scanned.predict``.

        Raises:
            TooManySteps: It takes too long.
        """
        rates = [predict(pool, lookups, {}, self.check_time, strained=strained).rates for pool in (now, then)]
        return self._scaled(then, *rates)

    def _scaled(self, pool: ScannedPool, now: Rates, then: Rates) -> Reads:
        """The measured reads, changed as those of the simulation. A scan that is new was measured to read nothing."""
        evidence, per_second = self.evidence, pool.workload.scans_per_second
        scans = {
            name: scaled(measured, now.per_pass.get(name, 0.0), then.per_pass[name]) * per_second[name]
            for name, measured in pool.per_pass.items()
        }
        return Reads({}, scans, evidence.unexplained + scaled(evidence.by_lookups, now.other, then.other))

    def _larger(self, times: float) -> _Bounds:
        """With a pool that has room for more pages."""
        evidence, more = self.evidence, self._more(times)
        if evidence.scanned.scans:
            *smooth, high = (self._simulated(times, lookups) for lookups in self.load.lookups)
            likely = smooth[0] if smooth else high
        else:
            high, smooth = self._most(more), self._smoothly(more)
            likely = self._likely(more, smooth)
        steady = bool(smooth) and not self.load.hurried
        nothing = Reads(dict.fromkeys(evidence.tables, 0.0), dict.fromkeys(high.scans, 0.0), 0.0)
        least = likely if steady else nothing
        share = _SPAN.between if evidence.residents_known or not steady else 0.0
        low, expected = {}, {}
        for name, most in high.tables.items():
            low[name] = min(least.tables[name], most)
            between = max(low[name], most - (1 - share) * max(0.0, most - likely.tables[name]))
            expected[name] = min(max(between, self._first[name]), most)
        rest = high.rest
        if evidence.by_lookups:  # reads of no table fall as those of tables do
            rest = min(evidence.unexplained * math.fsum(expected.values()) / evidence.by_lookups, high.rest)
        return _Bounds(Reads(low, least.scans, 0.0), Reads(expected, likely.scans, rest), high)

    def _likely(self, more: float, smooth: Sequence[Reads]) -> Reads:
        """The likeliest reads of lookups alone with a pool that has room for more pages."""
        if smooth and not self.load.hurried:
            return smooth[0]
        # The pool's other pages are history, which a larger pool gets rid of.
        without_others = self._most(more + self.evidence.pages - self.evidence.of_tables)
        return min([without_others, *smooth], key=lambda reads: reads.all)

    def _most(self, more: float) -> Reads:
        """The most reads with a pool that has room for more pages: first reads go on as today."""
        evidence, first = self.evidence, self._first
        if evidence.of_tables + more >= evidence.tables_pages:
            return Reads(first, {}, 0.0)
        again = bounds.most(
            {name: table.reads - first[name] for name, table in evidence.tables.items()}, self._absent, more
        )
        return Reads({name: first[name] + reads for name, reads in again.items()}, {}, evidence.unexplained)

    def _smaller(self, times: float) -> _Bounds:
        """With a pool that has room for fewer pages."""
        evidence, now, more = self.evidence, self._today, self._more(times)
        read = math.fsum(now.tables.values())
        scans = [now.scans, now.scans]
        if evidence.scanned.scans:
            *smooth, most = (self._simulated(times, lookups) for lookups in self.load.lookups)
            low, scans = read, [(smooth or [most])[0].scans, most.scans]
        else:
            low, smooth, most = bounds.least(now.tables, self._absent, -more), self._smoothly(more), self._lost(-more)
        likely = smooth[0].tables if smooth else most.tables
        then = max(low, math.fsum(likely.values()))
        high = then + _SPAN.smaller * (then - read)
        if self.load.hurried:
            high = max(high, read * evidence.pages / (evidence.pages + more))
        if not smooth or evidence.scanned.scans:
            worst = max(then, math.fsum(most.tables.values()))
            high = max(high, worst + _SPAN.smaller * (worst - read))
        shares = _shares(likely, now.tables)

        def shared(whole: float, by_scans: Mapping[str, float]) -> Reads:
            tables = {name: reads + (whole - read) * shares[name] for name, reads in now.tables.items()}
            return Reads(tables, by_scans, evidence.unexplained * (whole / read if read else 1.0))

        return _Bounds(shared(low, now.scans), shared(then, scans[0]), shared(high, scans[1]))

    def _lost(self, fewer: float) -> Reads:
        """The reads where the pages that are never read are all alike and fewer stay; scans read all of theirs."""
        evidence = self.evidence
        hits = math.fsum(pages * rate for pages, rate in self.load.never_read)
        hit = math.fsum(pages for pages, _ in self.load.never_read)
        rise = hits * min(1.0, fewer / hit) / evidence.by_lookups if hit and evidence.by_lookups else 0.0
        tables = {name: reads * (1.0 + rise) for name, reads in self._today.tables.items()}
        workload = evidence.scanned.workload
        scans = {scan.name: scan.pages * workload.scans_per_second[scan.name] / scan.sharers for scan in workload.scans}
        return Reads(tables, scans, 0.0)

    def _smoothly(self, more: float) -> list[Reads]:
        """The reads by smooth popularity with a list that is longer by ``more``."""
        evidence, smooth, today = self.evidence, self.load.smooth, self.evidence.of_lists
        if smooth is None:
            return []
        # Pages of others take their part of a smaller list, and no more of a larger one.
        times = 1.0 + more / (evidence.pages if more < 0.0 else today.young + today.old)
        old_seconds = 0.0 if self.load.hurried else today.old_seconds
        held = Sublists(today.young * times, today.old * times, old_seconds)
        groups = smooth.groups
        state = settle(groups, held, smooth.state) or settle(groups, replace(held, old_seconds=0.0))
        if state is None:
            return []
        return [Reads({name: read * smooth.times(name, state) for name, read in self._today.tables.items()}, {}, 0.0)]

    def _filling(self, times: float) -> _Bounds:
        """A pool that was never full: what it holds is all that was asked for, and today's reads are first reads."""
        evidence, now = self.evidence, self._today
        again = evidence.accesses * max(0.0, -self._more(times) / evidence.pages) if evidence.by_lookups else 0.0
        scans = self._simulated(times, self.load.lookups[-1]).scans if evidence.scanned.scans else {}

        def of(part: float) -> Reads:
            rise = 1.0 + part * again / max(evidence.by_lookups, 1e-9)
            return Reads({name: reads * rise for name, reads in now.tables.items()}, scans, now.rest)

        return _Bounds(of(0.0), of(0.5), of(1.0))

    def _by_table(self, answer: _Bounds) -> dict[str, ExpectedReads]:
        """By table, those that are read most; the others as one."""
        tables = self.evidence.tables
        names = sorted(tables, key=lambda name: (-tables[name].reads, name))
        parts = {name: [name] for name in names[:MOST_TABLES]}
        if names[MOST_TABLES:]:
            parts[OTHERS] = names[MOST_TABLES:]

        def summed(reads: Reads, names: Sequence[str]) -> float:
            return math.fsum(reads.tables[name] for name in names)

        by_table = {
            part: _ordered(*(summed(reads, names) for reads in (answer.expected, answer.low, answer.high)))
            for part, names in parts.items()
        }
        resting = sorted(self.evidence.resting)[: max(0, MOST_TABLES - len(by_table))]
        return by_table | dict.fromkeys(resting, NO_READS)

    def notes(self) -> Iterator[str]:
        """What the answer rests on, and what it cannot see, in sentences."""
        evidence = self.evidence
        tables, scans = _counted(len(evidence.tables)), _counted(len(evidence.scanned.scans))
        by = [f"lookups in {tables}"] if evidence.tables or not evidence.scanned.scans else []
        by += [f"scans of {scans}"] if evidence.scanned.scans else []
        yield (
            f"{evidence.seconds:,.0f} s of {' and '.join(by)} were watched: {evidence.reads:,.1f} pages read and"
            f" {evidence.made_young:,.1f} made young a second"
        )
        if evidence.filling:
            yield f"the pool was seen while it filled: {len(evidence.filling)} points of the curve were measured"
        if self.load.hurried:
            yield "pages leave the old sublist before innodb_old_blocks_time has passed: larger pools may read far less"
        elif evidence.full and evidence.tables and self.load.smooth is None:
            yield "no smooth popularity of pages explains these reads: the bounds are wide"
        if not evidence.residents_known:
            yield "what the pool holds of each table is not known: the bounds are wider"
        if evidence.unexplained > _SPAN.noise * evidence.reads:
            rest = f"{evidence.unexplained:,.1f} of the pages read a second are of no table"
            yield f"{rest}: a larger pool may read these too"


def _counted(tables: int) -> str:
    return "one table" if tables == 1 else f"{tables} tables"


def _ordered(expected: float, low: float, high: float) -> ExpectedReads:
    return ExpectedReads(expected=expected, low=min(low, expected), high=max(high, expected))


def _shares(then: Mapping[str, float], now: Mapping[str, float]) -> dict[str, float]:
    """The share of each table in the reads beyond today's; 0 where it is read less."""
    more = {name: max(0.0, then[name] - now[name]) for name in now}
    whole = math.fsum(more.values())
    return {name: increase / whole if whole else 1.0 / len(now) for name, increase in more.items()}
