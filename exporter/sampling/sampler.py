"""When each collector runs.

One collection at a time however many ask; a deadline for every statement; two sessions, opened once and kept;
growing pauses while the server cannot be reached.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from exporter.collectors import COLLECTORS, LIGHT
from exporter.collectors.base import Collector, Unavailable
from exporter.connection.errors import ConnectionLost, ServerError
from exporter.connection.pair import SessionPair
from exporter.connection.session import Session
from exporter.connection.target import Target
from exporter.sampling.assembly import Answer, Assembler
from exporter.sampling.run import CollectorRun, failure
from exporter.sampling.schedule import Schedule
from exporter.sampling.single_flight import SingleFlight, ended
from exporter.server import Server
from exporter.snapshot import ConfiguredMachine, Snapshot

log = logging.getLogger(__name__)

Result = TypeVar("Result")

LOOK_PERIOD, IDLE_LOOK_PERIOD = 0.2, 2.0
"""Seconds between two looks at the parallel reader threads, on average: while there are some now and then, and else."""
_LIVELY_SECONDS = 60.0
"""After some were seen, for so long."""
_LOOK_SHARE = 0.05
"""Looks never take more than this share of a session's time: a slow server is looked at less often."""
_LOOK_REST = 5.0
"""Seconds until the next look after one that failed."""
_CLOCK_SET_SECONDS = 60.0
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0


class Log(Protocol):
    """Whoever keeps the answers: a Recorder."""

    def session(self, server: Server, account: str) -> None:
        """A session was opened."""

    def answer(self, answer: Answer) -> None:
        """A collector ran."""

    def collection(self, at: float) -> None:
        """A collection is complete."""


class Sampler:
    """Keeps watching one server.

    Attributes:
        history: Snapshots of complete collections, oldest first, bounded by ``history_seconds``.
        problem: Why the last attempt to collect failed altogether; None after one that did not.
    """

    def __init__(
        self,
        target: Target | Callable[[], Target],
        *,
        interval: float = 10.0,
        history_seconds: float = 3600.0,
        statement_seconds: float = 5.0,
        grant_seconds: float = 60.0,
        collectors: Sequence[Collector[Any]] = COLLECTORS,
        machine: ConfiguredMachine | None = None,
        keep: Log | None = None,
        past: Iterable[Snapshot] = (),
        clock: Callable[[], float] = time.time,
        root: Path = Path("/"),
    ) -> None:
        """Prepare to watch; nothing is asked before the first collection.

        Args:
            target: The server; one that is to be called is called anew for every session.
            interval: Seconds between two collections, and between two snapshots of the history at least.
            history_seconds: How far the history goes back.
            statement_seconds: Limit for a statement.
            grant_seconds: After so long a source that was refused is asked for in a new session.
            collectors: What runs in a collection, in this order, but for the quick ones, which run first.
            machine: What the user says of the server's machine.
            keep: Told of every answer.
            past: What was seen of the server before, oldest first.
            clock: Unix seconds.
            root: Where this machine's files begin.
        """
        self.history: deque[Snapshot] = deque(past, maxlen=max(2, round(history_seconds / interval) + 1))
        self.problem: ServerError | None = None
        self._interval = interval
        self._grant_seconds = grant_seconds
        self._quick = tuple(each for each in collectors if each.quick)
        self._others = tuple(each for each in collectors if not each.quick)
        self._keep = keep
        self._clock = clock
        self._collector_run = CollectorRun(statement_seconds, machine or ConfiguredMachine(), clock, root)
        self._sessions = SessionPair(target if callable(target) else lambda: target, statement_seconds)
        self._schedule = Schedule(time.monotonic)
        self._assembler: Assembler | None = None
        self._given_up: Session | None = None  # a first session that was closed from here
        self._whole = False  # whether each source has been asked since the assembler began
        self._seen: Snapshot | None = None
        self._looking: asyncio.Task[None] | None = None
        self._quickly = SingleFlight(self._ask_quick)
        self._glances = SingleFlight(lambda: self._attempt(self._glance()))
        self._collections = SingleFlight(lambda: self._attempt(self._collect()))
        self._pause = 0.0
        self._retry_at = 0.0
        self._ahead: float | None = None

    @property
    def latest(self) -> Snapshot | None:
        """The newest snapshot, unless the server has not been reached since."""
        return self.history[-1] if self.history and self._seen is not None and self.problem is None else None

    async def run(self) -> None:
        """Collect once an interval until cancelled; then close the sessions."""
        try:
            while True:
                began = time.monotonic()
                try:
                    await self.collect(max_age=self._interval / 2)
                except ServerError as error:
                    log.warning("cannot watch the server: %s", error)
                except Exception:  # whatever it is, the next collection may go well
                    log.exception("a collection failed")
                wait = max(self._interval if self.problem is None else self._pause, 0.1)
                await asyncio.sleep(max(0.0, wait - (time.monotonic() - began)))
        finally:
            await self.close()

    async def collect(self, max_age: float = 0.0) -> Snapshot:
        """A complete collection at most ``max_age`` seconds old; everyone who asks meanwhile gets the same.

        Raises:
            ServerError: The server cannot be reached. While it cannot, attempts are made at growing pauses
                and the last error is raised in between.
        """
        latest = self.latest
        if latest is not None and self._recent(latest, max_age):
            return latest
        return await self._join(self._collections)

    async def glance(self, max_age: float = 0.0) -> Snapshot:
        """What is quick to ask at most ``max_age`` seconds old, and the rest as it was read last: for a scrape.

        What could not be read for a moment is as it was before (``Snapshot.read_at``).

        Raises:
            ServerError: As for ``collect``.
        """
        seen = self._seen
        if seen is not None and self.problem is None and self._recent(seen, max_age):
            return seen
        return await self._join(self._glances)

    def _recent(self, snapshot: Snapshot, max_age: float) -> bool:
        return 0 <= self._clock() - snapshot.at <= max_age  # clocks are set back, too

    async def _join(self, flight: SingleFlight[Snapshot]) -> Snapshot:
        if not flight.under_way and self.problem is not None and time.monotonic() < self._retry_at:
            raise self.problem
        return await flight.join()

    async def close(self) -> None:
        """End both sessions and everything under way."""
        for flight in (self._glances, self._collections, self._quickly):
            await flight.end()
        await ended(self._looking)  # after the flights, which may start it
        await self._sessions.close()

    async def _attempt(self, work: Coroutine[Any, Any, Result]) -> Result:
        try:
            result = await work
        except ServerError as error:
            self.problem = error
            lost = isinstance(error, ConnectionLost)  # it may be back already
            longest = min(_LONGEST_PAUSE, max(self._interval, _FIRST_PAUSE))
            self._pause = 0.0 if lost else min(max(self._pause * 2, _FIRST_PAUSE), longest)
            self._retry_at = time.monotonic() + self._pause
            raise
        self.problem, self._pause = None, 0.0
        return result

    async def _glance(self) -> Snapshot:
        if self._whole:
            at = await self._quickly.join()
            if self._whole:
                return self._look_at(at)
        return self._look_at((await self._collections.join()).at)

    async def _collect(self) -> Snapshot:
        at = await self._quickly.join()
        assembler = self._assembler
        for collector in self._others:
            if self._schedule.due(collector):
                await self._run(collector, await self._sessions.second())
        if assembler is None or assembler is not self._assembler:
            raise ConnectionLost("the server was restarted while it was asked")
        self._whole = True
        snapshot = assembler.snapshot(at)
        self._look_at(at)
        if self._keep is not None:
            self._keep.collection(at)
        if len(self.history) > 1 and 0 <= at - self.history[-2].at <= self._interval:
            self.history.pop()  # who looks more often than the interval makes the history no shorter
        self.history.append(snapshot)
        return snapshot

    def _look_at(self, at: float) -> Snapshot:
        assert self._assembler is not None  # noqa: S101 - _session makes it
        self._seen = self._assembler.snapshot(at, stale=True)
        return self._seen

    async def _ask_quick(self) -> float:
        """Run the quick collectors; when that began, Unix seconds."""
        at = self._clock()
        ahead = at - time.monotonic()
        set_by = 0.0 if self._ahead is None else ahead - self._ahead
        if self._assembler is not None and abs(set_by) > _CLOCK_SET_SECONDS:
            self._assembler.clock_set(at, set_by)
        self._ahead = ahead
        for collector in self._quick:
            # A statement before may have missed its deadline, which is no reason for this one to fail.
            session = await self._session()
            if self._schedule.due(collector):
                await self._run(collector, session)
        return at

    async def _session(self) -> Session:
        first, given_up = self._sessions.first, self._given_up
        if first is not None and not first.closed and not self._refused():
            return first
        lost = first is None or (first.closed and first is not given_up)
        self._given_up = None  # should there be no new one, all is lost
        self._whole = False
        session = await self._sessions.renew()
        if lost or self._assembler is None or self._assembler.server != session.server:
            # What was known may be of another life of the server.
            self._schedule.clear()
            self._assembler = Assembler(session.server, session.account)
            if self._keep is not None:
                self._keep.session(session.server, session.account)
            await self._watch_parallel_readers(session.server)
        return session

    def _refused(self) -> bool:
        """Whether a source was refused to a session that is not new: a GRANT of PROCESS counts for new ones only."""
        if not self.history or time.monotonic() - self._sessions.opened_at < self._grant_seconds:
            return False
        outcomes = self.history[-1].outcomes
        return any(
            collector.name in outcomes and outcomes[collector.name].failure == "privilege"
            for collector in (*self._quick, *self._others)
        )

    async def _run(self, collector: Collector[Any], session: Session) -> None:
        began = time.monotonic()
        answer = await self._ask(collector, session)
        self._schedule.ran(collector, time.monotonic() - began, answer.failure)
        self._take(answer)

    async def _ask(self, collector: Collector[Any], session: Session, *, again: bool = True) -> Answer:
        """Run a collector, once more in a new second session if that is lost.

        Raises:
            ConnectionLost: The first session is gone, and with it the worth of what was collected.
        """
        assembler, at = self._assembler, self._clock()
        assert assembler is not None  # noqa: S101 - _session makes it
        others = [each for each in self._sessions.open if each is not session]
        try:
            answer = await self._collector_run.run(collector, [session, *others], lambda: assembler.snapshot(at))
        except ConnectionLost as error:
            first = self._sessions.first
            if first is None or first.closed:
                raise
            if again:
                return await self._ask(collector, await self._sessions.second(), again=False)
            return Answer(collector.name, at, 0.0, (), failure(error), str(error))
        if answer.failure == "deadline" and session.closed:
            await self._give_up(session, others)
        return answer

    async def _give_up(self, session: Session, others: Sequence[Session]) -> None:
        """A session was closed from here, in the middle of a statement: end that in the server too."""
        if session is self._sessions.first:
            self._given_up = session
        for other in others:
            with contextlib.suppress(ServerError):  # it was ended already, or all the server hangs
                await other.cancel(session)

    def _take(self, answer: Answer) -> None:
        if self._assembler is not None:
            self._assembler.take(answer)
        if self._keep is not None:
            self._keep.answer(answer)

    async def _watch_parallel_readers(self, server: Server) -> None:
        """Start, or after a reconnection start anew, the task that looks at the reader threads."""
        await ended(self._looking)
        queries = LIGHT.queries(server)
        if isinstance(queries, Unavailable):
            self._take(Answer(LIGHT.name, self._clock(), 0.0, (), queries.failure, queries.reason, queries.cure))
        else:
            self._looking = asyncio.create_task(self._look())

    async def _look(self) -> None:
        lively_until = 0.0
        while True:
            began = time.monotonic()
            answer = await self._looked()
            self._take(answer)
            if answer.failure is not None:
                await asyncio.sleep(_LOOK_REST)
                continue
            if LIGHT.parse(answer.results).threads:
                lively_until = began + _LIVELY_SECONDS
            # At even intervals, reads that repeat in step with them would be missed again and again.
            period = LOOK_PERIOD if began < lively_until else IDLE_LOOK_PERIOD
            spent = time.monotonic() - began
            pause = period * random.uniform(0.5, 1.5)  # noqa: S311 - no secret
            await asyncio.sleep(max(pause - spent, spent / _LOOK_SHARE - spent))

    async def _looked(self) -> Answer:
        at = self._clock()
        try:
            return await self._ask(LIGHT, await self._sessions.second())
        except ServerError as error:  # the next collection sees it too, and does what is to be done
            return Answer(LIGHT.name, at, 0.0, (), failure(error), str(error))
