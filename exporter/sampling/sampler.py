"""The sampler: runs the collectors and keeps the history.

One collection at a time for all concurrent callers; a deadline for every statement; two sessions, opened once and kept;
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

from exporter.collectors import COLLECTORS
from exporter.collectors.base import Collector, SourceUnavailable
from exporter.collectors.parallel_readers import PARALLEL_READERS
from exporter.connection.errors import ConnectionLost, ServerError
from exporter.connection.pair import SessionPair
from exporter.connection.session import Session
from exporter.connection.target import Target
from exporter.refreshed import Refreshed
from exporter.sampling.assembly import Answer, Assembler
from exporter.sampling.collector_run import CollectorRun, Schedule
from exporter.sampling.history import MOST_BYTES, BoundedHistory
from exporter.server import Server
from exporter.snapshot import ConfiguredMachine, Snapshot

log = logging.getLogger(__name__)

Result = TypeVar("Result")

BUSY_PERIOD, IDLE_PERIOD = 0.2, 2.0
"""Mean seconds between two samples of the parallel reader threads: with threads in the last minute, and without."""
_BUSY_SECONDS = 60.0
"""Duration of the short period after a sample with threads."""
_SAMPLE_SHARE = 0.05
"""Maximum share of a session's time for these samples: a slow server is sampled less often."""
_FAILED_PAUSE = 5.0
"""Seconds until the next sample after one that failed."""
_CLOCK_SET_SECONDS = 60.0
"""A larger difference between wall clock and monotonic clock means that the wall clock was set."""
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
"""Seconds between two attempts to reach the server."""


class AnswerLog(Protocol):
    """Keeps the answers: a Recorder or a stored history."""

    def session(self, server: Server, account: str) -> None:
        """A session was opened."""

    def answer(self, answer: Answer) -> None:
        """A collector ran."""

    def collection(self, at: float) -> None:
        """A collection is complete."""


class Sampler:
    """Samples one server.

    Attributes:
        history: Snapshots of complete collections, oldest first, of the last ``history_seconds``.
        problem: The error of the last attempt to collect; None after a success.
        interval: Seconds between two collections.
    """

    def __init__(
        self,
        target: Target | Callable[[], Target],
        *,
        interval: float = 10.0,
        history_seconds: float = 3600.0,
        history_bytes: int = MOST_BYTES,
        statement_seconds: float = 5.0,
        grant_seconds: float = 60.0,
        collectors: Sequence[Collector[Any]] = COLLECTORS,
        machine: ConfiguredMachine | None = None,
        keep: AnswerLog | None = None,
        past: Iterable[Snapshot] = (),
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        root: Path = Path("/"),
    ) -> None:
        """Nothing is asked before the first collection.

        Args:
            target: The server; a callable is called for every session.
            interval: Seconds between two collections, and minimum seconds between two snapshots of the history.
            history_seconds: The history's length.
            history_bytes: What it takes at most, roughly.
            statement_seconds: Limit for a statement.
            grant_seconds: Seconds until a source that was refused is asked for in a new session.
            collectors: The collectors in run order; quick ones run before all others.
            machine: The user's description of the server's machine.
            keep: Receives every answer.
            past: Earlier snapshots of the server, oldest first.
            clock: Unix seconds.
            monotonic: Seconds for periods, pauses and rests.
            root: The root of the host's file system.
        """
        self.history: deque[Snapshot] = BoundedHistory(
            past, max(2, round(history_seconds / interval) + 1), history_bytes
        )
        self.problem: ServerError | None = None
        self.interval = interval
        self._grant_seconds = grant_seconds
        self._quick = tuple(collector for collector in collectors if collector.quick)
        self._others = tuple(collector for collector in collectors if not collector.quick)
        self._keep = keep
        self._clock = clock
        self._monotonic = monotonic
        self._collector_run = CollectorRun(statement_seconds, machine or ConfiguredMachine(), clock, root)
        self._sessions = SessionPair(target if callable(target) else lambda: target, statement_seconds, monotonic)
        self._schedule = Schedule(monotonic)
        self._assembler: Assembler | None = None
        self._given_up: Session | None = None  # a first session that the sidecar closed
        self._complete = False  # whether each source has been asked since the assembler began
        self._seen: Snapshot | None = None
        self._reader_sampling: asyncio.Task[None] | None = None
        self._quick_collection = Refreshed(self._ask_quick)
        self._glances = Refreshed(lambda: self._attempt(self._glance()))
        self._collections = Refreshed(lambda: self._attempt(self._collect()))
        self._pause = 0.0
        self._retry_at = 0.0
        self._ahead: float | None = None

    @property
    def latest(self) -> Snapshot | None:
        """The newest snapshot; None if the server could not be reached since."""
        return self.history[-1] if self.history and self._seen is not None and self.problem is None else None

    async def run(self) -> None:
        """Collect once an interval until cancelled; then close the sessions. The log has each problem once."""
        logged = ""
        try:
            while True:
                began = self._monotonic()
                try:
                    await self.collect(max_age=self.interval / 2)
                except ServerError as error:
                    if str(error) != logged:
                        log.warning("cannot watch the server: %s", error)
                    logged = str(error)
                except Exception:  # the next collection may succeed
                    log.exception("a collection failed")
                else:
                    if logged:
                        log.info("the server is watched again")
                    logged = ""
                wait = max(self.interval if self.problem is None else self._pause, 0.1)
                await asyncio.sleep(max(0.0, wait - (self._monotonic() - began)))
        finally:
            await self.close()

    async def collect(self, max_age: float = 0.0) -> Snapshot:
        """A complete collection, at most ``max_age`` seconds old; concurrent callers get the same.

        Raises:
            ServerError: The server cannot be reached. Attempts have growing pauses, in which the last error is raised
                again.
        """
        latest = self.latest
        if latest is not None and self._recent(latest, max_age):
            return latest
        return await self._shared(self._collections)

    async def glance(self, max_age: float = 0.0) -> Snapshot:
        """A snapshot for a scrape: quick sections at most ``max_age`` seconds old, the others as they were read last.

        A section that cannot be read at the moment keeps its last value (``Snapshot.read_at``).

        Raises:
            ServerError: As for ``collect``.
        """
        seen = self._seen
        if seen is not None and self.problem is None and self._recent(seen, max_age):
            return seen
        return await self._shared(self._glances)

    async def ask(self, collector: Collector[Any]) -> Answer:
        """Run a collector once, apart from the collections, in the session that delays no scrape. Nobody keeps it.

        Raises:
            ServerError: The server cannot be reached.
        """
        if self._assembler is None or self.problem is not None:
            raise self.problem or ConnectionLost("the server has not been reached yet")
        return await self._ask(collector, await self._sessions.second())

    def _recent(self, snapshot: Snapshot, max_age: float) -> bool:
        return 0 <= self._clock() - snapshot.at <= max_age  # a clock may be set back

    async def _shared(self, snapshot: Refreshed[Snapshot]) -> Snapshot:
        if not snapshot.under_way and self.problem is not None and self._monotonic() < self._retry_at:
            raise self.problem
        snapshot.begin()  # a scrape that goes away ends no collection
        return await snapshot.get()

    async def close(self) -> None:
        """Cancel the work under way, and close both sessions."""
        for work in (self._glances, self._collections, self._quick_collection):
            await work.close()
        await self._stop_reader_sampling()  # last: the work above may start it
        await self._sessions.close()

    async def _attempt(self, work: Coroutine[Any, Any, Result]) -> Result:
        try:
            result = await work
        except ServerError as error:
            self.problem = error
            lost = isinstance(error, ConnectionLost)  # the server may be back already
            longest = min(_LONGEST_PAUSE, max(self.interval, _FIRST_PAUSE))
            self._pause = 0.0 if lost else min(max(self._pause * 2, _FIRST_PAUSE), longest)
            self._retry_at = self._monotonic() + self._pause
            raise
        self.problem, self._pause = None, 0.0
        return result

    async def _glance(self) -> Snapshot:
        if self._complete:
            at = await self._run_quick()
            if self._complete:
                return self._update_seen(at)
        return self._update_seen((await self._shared(self._collections)).at)

    async def _collect(self) -> Snapshot:
        at = await self._run_quick()
        assembler = self._assembler
        for collector in self._others:
            if self._schedule.due(collector) and (
                collector.needed is None or (assembler is not None and collector.needed(assembler.snapshot(at)))
            ):
                await self._run(collector, await self._sessions.second())
        if assembler is None or assembler is not self._assembler:
            raise ConnectionLost("the server was restarted while it was asked")
        self._complete = True
        snapshot = assembler.snapshot(at)
        self._update_seen(at)
        if self._keep is not None:
            self._keep.collection(at)
        if len(self.history) > 1 and 0 <= at - self.history[-2].at <= self.interval:
            self.history.pop()  # more frequent collections must not shorten the history
        self.history.append(snapshot)
        return snapshot

    def _update_seen(self, at: float) -> Snapshot:
        assert self._assembler is not None  # noqa: S101 - _session sets it
        self._seen = self._assembler.snapshot(at, stale=True)
        return self._seen

    async def _run_quick(self) -> float:
        """``_ask_quick``, once for a scrape and a collection at the same time."""
        self._quick_collection.begin()
        return await self._quick_collection.get()

    async def _ask_quick(self) -> float:
        """Run the quick collectors; their start, Unix seconds.

        Raises:
            ServerError: The server refuses every statement. The sessions are closed: a limit of the account may have
                been lifted for new sessions only.
        """
        at = self._clock()
        ahead = at - self._monotonic()
        set_by = 0.0 if self._ahead is None else ahead - self._ahead
        if self._assembler is not None and abs(set_by) > _CLOCK_SET_SECONDS:
            self._assembler.clock_set(at, set_by)
        self._ahead = ahead
        answers = []
        for collector in self._quick:
            # The session may be lost after a missed deadline: each collector gets an open one.
            session = await self._session()
            if self._schedule.due(collector):
                answers.append(await self._run(collector, session))
        if answers and all(answer.failure == "failed" for answer in answers):
            self._given_up = self._sessions.first
            await self._sessions.close()
            raise ServerError(answers[-1].reason)
        return at

    async def _session(self) -> Session:
        first, given_up = self._sessions.first, self._given_up
        if first is not None and not first.closed and not self._refused():
            return first
        lost = first is None or (first.closed and first is not given_up)
        self._given_up = None  # if there is no new session, the next one counts as after a loss
        self._complete = False
        session = await self._sessions.renew()
        if lost or self._assembler is None or self._assembler.server != session.server:
            # The server may have restarted: everything known is outdated.
            self._schedule.clear()
            last = self.history[-1].sections if self.history else None
            self._assembler = Assembler(session.server, session.account, last)
            if self._keep is not None:
                self._keep.session(session.server, session.account)
            await self._start_reader_sampling(session.server)
        return session

    def _refused(self) -> bool:
        """Whether an old session was refused a source: a GRANT of PROCESS holds for new sessions only."""
        if not self.history or self._monotonic() - self._sessions.opened_at < self._grant_seconds:
            return False
        outcomes = self.history[-1].outcomes
        return any(
            collector.name in outcomes and outcomes[collector.name].failure == "privilege"
            for collector in (*self._quick, *self._others)
        )

    async def _run(self, collector: Collector[Any], session: Session) -> Answer:
        began = self._monotonic()
        answer = await self._ask(collector, session)
        self._schedule.ran(collector, self._monotonic() - began, answer.failure)
        self._take(answer)
        return answer

    async def _ask(self, collector: Collector[Any], session: Session, *, again: bool = True) -> Answer:
        """Run a collector; once more in a new second session if that session is lost.

        Raises:
            ConnectionLost: The first session is lost, so that what was collected may be outdated.
        """
        assembler, at = self._assembler, self._clock()
        assert assembler is not None  # noqa: S101 - _session sets it
        others = [other for other in self._sessions.open if other is not session]
        try:
            answer = await self._collector_run.run(collector, [session, *others], lambda: assembler.snapshot(at))
        except ConnectionLost as error:
            first = self._sessions.first
            if first is None or first.closed:
                raise
            if again:
                return await self._ask(collector, await self._sessions.second(), again=False)
            return Answer(collector.name, at, 0.0, (), error.failure, str(error))
        if answer.failure is not None and session.closed:
            await self._give_up(session, others)
        return answer

    async def _give_up(self, session: Session, others: Sequence[Session]) -> None:
        """The sidecar closed a session, after its deadline or for what came: end the statement in the server too."""
        if session is self._sessions.first:
            self._given_up = session
        for other in others:
            with contextlib.suppress(ServerError):  # it ended already, or the whole server hangs
                await other.cancel(session)

    def _take(self, answer: Answer) -> None:
        if self._assembler is not None:
            self._assembler.take(answer)
        if self._keep is not None:
            self._keep.answer(answer)

    async def _start_reader_sampling(self, server: Server) -> None:
        """Start the task that samples the reader threads; after a reconnection, restart it."""
        await self._stop_reader_sampling()
        try:
            PARALLEL_READERS.queries(server)
        except SourceUnavailable as error:
            self._take(Answer(PARALLEL_READERS.name, self._clock(), 0.0, (), error.failure, error.reason, error.cure))
        else:
            self._reader_sampling = asyncio.create_task(self._sample_readers())

    async def _stop_reader_sampling(self) -> None:
        if self._reader_sampling is not None:
            self._reader_sampling.cancel()
            await asyncio.wait([self._reader_sampling])

    async def _sample_readers(self) -> None:
        busy_until = 0.0
        while True:
            began = self._monotonic()
            answer = await self._reader_sample()
            self._take(answer)
            if answer.failure is not None:
                await asyncio.sleep(_FAILED_PAUSE)
                continue
            if PARALLEL_READERS.parse(answer.results).threads:
                busy_until = began + _BUSY_SECONDS
            # Random intervals: even ones could miss reads that repeat in step with them every time.
            period = BUSY_PERIOD if began < busy_until else IDLE_PERIOD
            spent = self._monotonic() - began
            pause = period * random.uniform(0.5, 1.5)  # noqa: S311 - no secret
            await asyncio.sleep(max(pause - spent, spent / _SAMPLE_SHARE - spent))

    async def _reader_sample(self) -> Answer:
        at = self._clock()
        try:
            return await self._ask(PARALLEL_READERS, await self._sessions.second())
        except ServerError as error:  # the next collection meets it too, and reconnects
            return Answer(PARALLEL_READERS.name, at, 0.0, (), error.failure, str(error))
