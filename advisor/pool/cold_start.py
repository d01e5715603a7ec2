"""A pool that fills again after a restart, or after a failover to a server whose pool is cold.

The load stays as it was watched. So the simulation that explains the full pool (advisor/models/lru) fills an empty one:
until the first eviction a pool with c pages holds the c pages that were asked for last, and its reads are those of the
miss curve there. A dump brings the head of today's list back, page after page, while lookups and scans go on.

Hits are the share of the visits to leaf pages, and of the pages of scans, that find their page in the pool. Page gets
would not do: most of them are of pages that are always there, so that a cold pool finds most of them, too.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import NamedTuple, Self

from advisor.contract.plan import ColdStart
from advisor.contract.recommendation import Number, tidy
from advisor.facts.machine import machine
from advisor.models.lru.popularity import Pages
from advisor.models.lru.scenario import Points, Scan, Scenario, Step
from advisor.models.lru.simulation import LONGEST, Simulation
from advisor.models.lru.workload import LOOKED_UP, OTHER, Workload, rates, round_of, run
from advisor.observe.window import Window
from advisor.pool.dump import DUMP_PCT, IO_CAPACITY, DumpLoad
from advisor.pool.errors import ACCEPTED_ERROR, Unanswerable, answerable
from advisor.pool.model import PoolModel
from advisor.pool.search import root
from advisor.pool.settings import POOL_SIZE
from exporter.collectors.status import STATUS
from exporter.rows import number

_OWN_SESSIONS = 2.0
"""That the sidecar is connected by; one of them runs the statement that counts them."""
NEARLY, WARM = 0.9, 0.99
"""Shares of today's hits that a pool is nearly warm with, and warm."""
SMOOTHED = 5.0
"""Seconds that reads are averaged over at least: beside scans, a whole round of them."""


@dataclass(frozen=True, slots=True)
class _Steps:
    """How finely the filling is worked out, and how far.

    Attributes:
        first: Of the time to fill the pool: length of the first step.
        longer: Of the time so far: length of a later one.
        asked: Share of the pages that are asked for, where the pool holds all of them: then it counts as filled.
        slowest, quickest: Logarithms of the seconds to fill a pool.
        loaded: Share of a dump that is loaded at once: more would evict pages that come with it.
        longest: Times the time to fill the pool: one that is not warm by then is not known to become so.
        again: Times the seconds after which it is looked whether the pool is warm, until it is looked again.
        shown: Points of the reads that are told.
    """

    first: float = 0.02
    longer: float = 0.08
    asked: float = 0.9
    quickest: float = -10.0
    slowest: float = 25.0
    loaded: float = 0.1
    longest: int = 12
    again: float = 1.25
    shown: int = 24


_STEPS = _Steps()


@dataclass(frozen=True, slots=True)
class _Errors:
    """How far cold starts were off (docs/cold-start.md): of 24, pages by up to 14 %, and reads beyond today's by half.

    Attributes:
        pages: Share of the pages.
        missed: Share of the reads beyond today's.
        alike: Times as far where no smooth popularity explains today's reads.
        closed: Share of the sessions that run: from there on a load is as fast as its waits let it.
    """

    pages: float = 0.2
    missed: float = 0.5
    alike: float = 2.0
    closed: float = 0.5


_ERRORS = _Errors()


class FillingPoint(NamedTuple):
    """A moment of a pool that fills.

    Attributes:
        seconds: Since the start.
        asked: Visits until then.
        read: Pages read until then.
    """

    seconds: float
    asked: float
    read: float


@dataclass(frozen=True, slots=True)
class Filling:
    """A pool that fills; ``points`` ascend."""

    points: list[FillingPoint]

    def at(self, seconds: float) -> FillingPoint:
        """The point at a time, between two of them; the last one beyond it."""
        return self._between(attrgetter("seconds"), seconds)

    def after(self, asked: float) -> FillingPoint:
        """The same after so many visits."""
        return self._between(attrgetter("asked"), asked)

    def _between(self, of: Callable[[FillingPoint], float], value: float) -> FillingPoint:
        number = bisect.bisect(self.points, value, key=of)
        if number in (0, len(self.points)):
            return self.points[min(number, len(self.points) - 1)]
        before, after = self.points[number - 1 : number + 1]
        part = (value - of(before)) / (of(after) - of(before))
        return FillingPoint(*(a + part * (b - a) for a, b in zip(before, after, strict=True)))

    def warm(self, most_missed: float, smoothed: float) -> float | None:
        """Seconds until no larger share of the visits is read, over ``smoothed`` seconds; None where it is not seen."""
        for begin in self.points:
            if begin.seconds + smoothed > self.points[-1].seconds:
                return None
            end = self.at(begin.seconds + smoothed)
            if end.read - begin.read <= most_missed * (end.asked - begin.asked):
                return begin.seconds + smoothed / 2.0 if begin.seconds else 0.0
        return None

    def shown(self, until: float) -> Iterator[tuple[Number, Number]]:
        """Points of time up to then, and the reads a second since the one before."""
        before = self.points[0]
        for step in range(1, _STEPS.shown + 1):
            after = self.at(until * (step / _STEPS.shown) ** 2)  # reads change most at the begin
            if round(after.seconds, 1) > round(before.seconds, 1):
                rate = (after.read - before.read) / (after.seconds - before.seconds)
                yield tidy(round(after.seconds, 1)), tidy(round(rate, 1))
                before = after


@dataclass(frozen=True, slots=True)
class _Sessions:
    """The sessions of a load, and how fast they are beside reads that they wait for.

    Attributes:
        running: On average.
        connected: At most.
        read_seconds: Time of a read.
    """

    running: float
    connected: float
    read_seconds: float

    @classmethod
    def of(cls, window: Window, read_seconds: float | None) -> Self | None:
        """Those of a window, without the sidecar's own; None where they are not known."""
        seen = [status for snapshot in window.snapshots if (status := snapshot[STATUS])]
        own = 1.0 + window.latest.server.has("event_scheduler_running")
        running = [status["threads_running"] - own for status in seen if "threads_running" in status]
        connected = [status["threads_connected"] - _OWN_SESSIONS for status in seen if "threads_connected" in status]
        if not running or not connected or read_seconds is None:
            return None
        return cls(max(0.0, math.fsum(running) / len(running)), max(*connected, 1.0), read_seconds)

    @property
    def closed(self) -> bool:
        """Whether most of them always run: such a load is as fast as its waits let it."""
        return self.running >= _ERRORS.closed * self.connected

    def pace(self, more_reads: float) -> float:
        """The likely one of the two that follow."""
        return self.waiting(more_reads) if self.closed else self.own_pace(more_reads)

    def own_pace(self, more_reads: float) -> float:
        """Times as long as today for the same work: a load with a pace of its own keeps it while sessions are left.

        ``more_reads`` are those a second beyond today's.
        """
        busy = self.running + max(0.0, more_reads) * self.read_seconds
        return max(1.0, busy / max(self.connected, self.running))

    def waiting(self, more_reads: float) -> float:
        """The same of a load whose sessions ask for more only when they have their answer."""
        return 1.0 + max(0.0, more_reads) * self.read_seconds / max(self.running, 1.0)


Pace = Callable[[float], float]
"""Times as long as today for the same work, by the reads a second beyond today's."""


def _as_today(_: float) -> float:
    return 1.0


def cold_starts(
    model: PoolModel, *, pool_bytes: float | None = None, members: Mapping[str, Window] = {}
) -> tuple[ColdStart, ...]:
    """A restart with the part of the pool's dump that the server is set to, without a dump, and with all of it.

    Then a failover to each member. Which of this load's pages it has is not known: at worst none.

    Args:
        model: Of the window of the server whose load comes.
        pool_bytes: Size of the pool after the start; None for today's.
        members: The windows of those that may take over, by their names: their pools and their disks count.

    Raises:
        Unanswerable: The evidence is not enough, or time is over.
    """
    with answerable():
        restart = Restart.of(model, pool_bytes)
        starts = [restart.cold_start(load, dump) for load, dump in _loads(model)]
        for member, window in members.items():
            elsewhere = restart.on(
                model, number(window.latest.setting(POOL_SIZE)), machine(window).read_seconds_per_read
            )
            starts.append(elsewhere.cold_start(DumpLoad(0.0, None), "nothing of this load, at worst", member))
        return tuple(starts)


def _loads(model: PoolModel) -> Iterator[tuple[DumpLoad, str]]:
    """The ways to restart, in words."""
    server = model.window.latest.server
    own = DumpLoad.of(server, model.facts.setting.get) or DumpLoad(0.0, None)
    if not model.facts.io.pages_written_per_second:
        own = replace(own, pages_per_second=None)
    if 0.0 < own.share < 1.0:
        yield own, f"{100.0 * own.share:.0f} % of the pool, as {DUMP_PCT} is set"
    yield replace(own, share=0.0), "nothing"
    yield replace(own, share=1.0), "all of the pool"


@dataclass(frozen=True)
class Restart:
    """A restart under the load that was watched.

    Attributes:
        full: The simulation of today's pool, as it is shut down.
        list_pages: In today's list.
        workload: Scans and lookups.
        scenario: The empty pool, and what is asked for.
        fills: Seconds until the pool is full, about.
        today: Pages read a second, as measured.
        off: Of these, those that the simulation does not read.
        asked: Visits to leaf pages, and pages of scans, a second.
        read_seconds: Time of a read; None where not known.
        sessions: None where not known.
        likely: Whether smooth popularity and the scans explain today's reads.
        check_time: Called between two steps; an exception from it ends the work.
    """

    full: Simulation
    list_pages: float
    workload: Workload
    scenario: Scenario
    fills: float
    today: float
    off: float
    asked: float
    read_seconds: float | None
    sessions: _Sessions | None
    likely: bool
    check_time: Callable[[], None]

    @classmethod
    def of(cls, model: PoolModel, pool_bytes: float | None = None) -> Self:
        """The restart with a pool of so many bytes; None for today's.

        Raises:
            Unanswerable: The evidence is not enough.
            TooManySteps: It takes too long.
        """
        evidence, load = model.sizes.evidence, model.sizes.load
        scanned, smooth, read_seconds = load.scanned, load.smooth, model.facts.machine.read_seconds_per_read
        lookups = smooth.filling(evidence.accesses) if smooth else load.lookups[0]
        workload = replace(scanned.workload, lookups=lookups)
        if not workload.asked and not workload.scans:
            raise Unanswerable("pool.gets", "nothing was asked for while the server was watched")
        full = run(workload, scanned.pool)
        off = evidence.reads - rates(workload, full.passes).read
        return cls(
            full,
            math.fsum(instance.count * instance.list.pages for instance in full.instances),
            *_empty(model, lookups, pool_bytes),
            evidence.reads,
            off,
            evidence.accesses + workload.scanned,
            read_seconds,
            _Sessions.of(model.window, read_seconds),
            smooth is not None and abs(off) <= ACCEPTED_ERROR * evidence.reads,
            model.check_time,
        )

    def on(self, model: PoolModel, pool_bytes: float | None, read_seconds: float | None) -> Self:
        """The same load on another pool and another disk; None for those of the window."""
        workload, scenario, fills = _empty(model, self.workload.lookups, pool_bytes)
        seconds = read_seconds or self.read_seconds
        sessions = _Sessions.of(model.window, seconds)
        return replace(self, workload=workload, scenario=scenario, fills=fills, read_seconds=seconds, sessions=sessions)

    def most_missed(self, hits: float, times: float = 1.0) -> float:
        """Share of the visits that is read with a share of today's hits.

        Args:
            hits: Of today's.
            times: More reads than today are so many times as many as foretold.
        """
        today = self.today / self.asked
        return today + (1.0 - hits) * (1.0 - today) / times if times else math.inf

    @property
    def smoothed(self) -> float:
        """Seconds that reads are averaged over."""
        return max(SMOOTHED, self.workload.round_seconds if self.workload.scans else 0.0)

    @property
    def doubt(self) -> float:
        """Times as far as the errors say."""
        return 1.0 if self.likely else _ERRORS.alike

    @property
    def error(self) -> float:
        """Error of the reads beyond today's, as a share of them."""
        return min(1.0, _ERRORS.missed * self.doubt)

    def likely_filling(self, load: DumpLoad) -> Filling:
        """How the pool most likely fills."""
        pace = _as_today if self.sessions is None else self.sessions.pace
        return self.filling(load, pace, load.page_seconds(self.read_seconds)[0])

    def until(self, filling: Filling) -> float:
        """Seconds until the pool is warm, or nearly so where more is not seen."""
        warm = [filling.warm(self.most_missed(hits), self.smoothed) for hits in (WARM, NEARLY)]
        return max(next((second for second in warm if second is not None), math.inf), self.smoothed)

    def cold_start(self, load: DumpLoad, dump: str, member: str = "") -> ColdStart:
        """One way to restart; ``dump`` says which in words."""
        _, least, most = load.page_seconds(self.read_seconds)
        fillings = [likely := self.likely_filling(load), self.filling(load, _as_today, least)]
        if self.sessions is not None:
            fillings.append(self.filling(load, self.sessions.waiting, most))
        known = self.read_seconds is not None
        error = _ERRORS.pages * self.doubt
        until = self.until(likely)
        pages = likely.at(until).read

        def minutes(hits: float) -> tuple[Number | None, Number | None, Number | None]:
            expected = likely.warm(self.most_missed(hits), self.smoothed)
            if expected is None or (load.share and not known):
                return None, None, None
            fewer, more = (
                [filling.warm(self.most_missed(hits, times), self.smoothed) for filling in fillings]
                for times in (1.0 - self.error, 1.0 + self.error)
            )
            low = min((second for second in fewer if second is not None), default=expected)
            seen = [second for second in more if second is not None]
            high = tidy(max(seen) / 60.0) if known and len(seen) == len(more) else None
            return tidy(expected / 60.0), tidy(low / 60.0), high

        to_90, to_99 = minutes(NEARLY), minutes(WARM)
        return ColdStart(
            member=member,
            dump=dump,
            pages=tidy(round(pages)),
            pages_low=tidy(round(max(0.0, 1.0 - error) * pages)),
            pages_high=tidy(round((1.0 + error) * pages)),
            minutes_to_90=to_90[0],
            minutes_to_90_low=to_90[1],
            minutes_to_90_high=to_90[2],
            minutes_to_99=to_99[0],
            minutes_to_99_low=to_99[1],
            minutes_to_99_high=to_99[2],
            reads=tuple(likely.shown(until)),
            limited_by=self._limited_by(load),
        )

    def _limited_by(self, load: DumpLoad) -> str:
        read = "" if self.read_seconds is None else f", {1000.0 * self.read_seconds:.2g} ms a read as measured"
        if load.share and load.pages_per_second and 1.0 / load.pages_per_second > (self.read_seconds or 0.0):
            dump = f", and the load of the dump at {load.pages_per_second:,.0f} pages a second by {IO_CAPACITY}"
        else:
            dump = f", and the load of the dump by the disk{read}" if load.share else ""
        if self.sessions is not None and self.sessions.closed:
            return f"the disk{read}: the sessions wait for it{dump}"
        return f"the load's own pace{dump}"

    def filling(self, load: DumpLoad, pace: Pace, page_seconds: float) -> Filling:
        """The pool that fills, until it is warm.

        Args:
            load: Of the dump.
            pace: Of the lookups and the scans.
            page_seconds: Of a page of the dump.

        Raises:
            TooManySteps: It takes too long.
        """
        filling, looked = Filling([FillingPoint(0.0, 0.0, 0.0)]), self.smoothed
        for point in self._points(load, pace, page_seconds):
            filling.points.append(point)
            if point.seconds > _STEPS.again * looked:
                looked = point.seconds
                if filling.warm(self.most_missed(WARM, 1.0 + self.error), self.smoothed) is not None:
                    break
        return filling

    def _points(self, load: DumpLoad, pace: Pace, page_seconds: float) -> Iterator[FillingPoint]:
        simulation = Simulation(self.scenario, LONGEST, {LOOKED_UP: self.workload.lookups})
        dump = self.full.dump(load.share) if load.share else {}
        load_seconds = page_seconds * load.share * self.list_pages
        slower, due, done = 1.0, 0.0, 0.0
        at = asked = read = 0.0
        for seconds, step in self._steps():
            self.check_time()
            due = (
                min(1.0, due + (slower * seconds / load_seconds if load_seconds else 1.0)) if dump and seconds else due
            )
            while due - done >= _STEPS.loaded or due == 1.0 > done:
                part = min(_STEPS.loaded, 1.0 - done)
                read += simulation.load(dump, done, part)
                done = 1.0 if part < _STEPS.loaded else done + part
            missed = math.fsum(pass_.pages_read for pass_ in simulation.do(step))
            if seconds:
                missed = max(0.0, missed + self.off * seconds)
                slower = pace(missed / seconds - self.today)
            at, asked, read = at + slower * seconds, asked + self.asked * seconds, read + missed
            yield FillingPoint(at, asked, read)

    def _steps(self) -> Iterator[tuple[float, Step]]:
        """What is asked for, with its seconds at today's pace."""
        elapsed = 0.0
        if self.workload.other_pages:
            yield 0.0, Scan(scan=OTHER, pages=self.workload.other_pages)
        longest = _STEPS.longest * max(self.fills, self.workload.round_seconds)
        while elapsed < longest:
            for step in round_of(self.workload):
                if isinstance(step, Points):
                    for piece in _pieces(step, elapsed, self.fills):
                        yield piece.seconds, piece
                        elapsed += piece.seconds
                elif isinstance(step, Scan):
                    seconds = step.seconds + step.gap_seconds
                    yield seconds, step
                    elapsed += seconds


def _empty(model: PoolModel, lookups: tuple[Pages, ...], pool_bytes: float | None) -> tuple[Workload, Scenario, float]:
    """An empty pool of so many bytes, or of today's: the workload, its scenario, and the seconds until it is full."""
    evidence, scanned = model.sizes.evidence, model.sizes.load.scanned
    settings = {**scanned.settings, POOL_SIZE: pool_bytes or evidence.pool_bytes}
    empty = scanned.on(scanned.server, settings, scanned.pool.instances, scanned.scans)
    today = replace(scanned.workload, lookups=lookups)
    fills = _fills(lookups, float(empty.pool.pages)) if lookups else today.round_seconds
    then = replace(empty.workload, lookups=lookups, least_seconds=0.0 if today.scans else fills)
    others = Scan(scan=OTHER, pages=max(1, today.other_pages, then.other_pages))
    return then, Scenario(pool=empty.pool, steps=(others, *round_of(then))), fills


def _pieces(step: Points, elapsed: float, fills: float) -> Iterator[Points]:
    """The parts of some lookups that begin so many seconds after the start: short ones at first."""
    begin = 0.0
    while begin < step.seconds:
        longest = max(_STEPS.first * fills, _STEPS.longer * (elapsed + begin))
        left = step.seconds - begin
        parts = math.ceil(left / longest)
        seconds = left / parts
        accesses = max(1, round(step.accesses * seconds / step.seconds))
        yield step.model_copy(update={"accesses": accesses, "seconds": seconds})
        begin = step.seconds if parts == 1 else begin + seconds


def _fills(lookups: Sequence[Pages], pages: float) -> float:
    """Seconds until lookups have asked for as many pages as the pool has, or for most of their own."""
    most = min(pages, _STEPS.asked * math.fsum(group.pages for group in lookups))

    def off(logarithm: float) -> float:
        seconds = math.exp(logarithm)
        return math.fsum(-group.pages * math.expm1(-group.rate * seconds) for group in lookups) - most

    return math.exp(root(off, _STEPS.quickest, _STEPS.slowest, 0.01))
