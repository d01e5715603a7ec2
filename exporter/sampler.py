"""When each collector runs.

One collection at a time however many ask; a deadline for every statement; two sessions, opened once and kept;
growing pauses while the server cannot be reached.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from exporter import mysql
from exporter.assembly import Answer, Assembler
from exporter.collectors import COLLECTORS, LIGHT
from exporter.collectors.base import Collector, Here, Local, Unavailable
from exporter.rows import Rows
from exporter.server import Server
from exporter.snapshot import ConfiguredMachine, Failure, Snapshot
from exporter.target import Target

log = logging.getLogger(__name__)

LIGHT_PERIOD = 0.2
"""Seconds between two looks at the parallel reader threads, on average."""
_LIGHT_SHARE = 0.05
"""The light query never takes more than this share of a session's time: on a slow server it is asked less often."""
_CLIENT_GRACE = 1.0
_BACK_OFF = 60.0
"""Seconds that a collector rests after it missed its deadline."""
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
        history: Snapshots, oldest first, bounded by ``history_seconds``.
        problem: Why the last attempt to collect failed altogether; None after one that did not.
    """

    def __init__(
        self,
        target: Target,
        *,
        interval: float = 10.0,
        history_seconds: float = 3600.0,
        statement_seconds: float = 5.0,
        grant_seconds: float = 60.0,
        machine: ConfiguredMachine | None = None,
        keep: Log | None = None,
        clock: Callable[[], float] = time.time,
        root: Path = Path("/"),
    ) -> None:
        """Prepare to watch; nothing is asked before the first collection.

        Args:
            target: The server.
            interval: Seconds between two collections, and between two snapshots of the history at least.
            history_seconds: How far the history goes back.
            statement_seconds: Limit for a statement.
            grant_seconds: After so long a source that was refused is asked for in a new session.
            machine: What the user says of the server's machine.
            keep: Told of every answer.
            clock: Unix seconds.
            root: Where this machine's files begin.
        """
        self.history: deque[Snapshot] = deque(maxlen=max(2, round(history_seconds / interval) + 1))
        self.problem: mysql.ServerError | None = None
        self._target = target
        self._interval = interval
        self._statement_seconds = statement_seconds
        self._grant_seconds = grant_seconds
        self._machine = machine or ConfiguredMachine()
        self._keep = keep
        self._clock = clock
        self._root = root
        self._assembler: Assembler | None = None
        self._main: mysql.Connection | None = None
        self._light: mysql.Connection | None = None
        self._watching: asyncio.Task[None] | None = None
        self._flight: asyncio.Task[Snapshot] | None = None
        self._due: dict[str, float] = {}
        self._opened_at = 0.0
        self._pause = 0.0
        self._retry_at = 0.0

    @property
    def latest(self) -> Snapshot | None:
        """The newest snapshot, unless the server has been unreachable since."""
        return self.history[-1] if self.history and self.problem is None else None

    async def run(self) -> None:
        """Collect once an interval until cancelled; then close the sessions."""
        try:
            while True:
                began = time.monotonic()
                try:
                    await self.collect(max_age=self._interval / 2)
                except mysql.ServerError as error:
                    log.warning("cannot watch the server: %s", error)
                except Exception:  # whatever it is, the next collection may go well
                    log.exception("a collection failed")
                wait = max(self._interval if self.problem is None else self._pause, 0.1)
                await asyncio.sleep(max(0.0, wait - (time.monotonic() - began)))
        finally:
            await self.close()

    async def collect(self, max_age: float = 0.0) -> Snapshot:
        """A snapshot at most ``max_age`` seconds old; everyone who asks meanwhile gets the same.

        Raises:
            ServerError: The server cannot be reached. While it cannot, attempts are made at growing pauses
                and the last error is raised in between.
        """
        latest = self.latest
        if latest is not None and 0 <= self._clock() - latest.at <= max_age:  # clocks are set back, too
            return latest
        if self._flight is None:
            if self.problem is not None and time.monotonic() < self._retry_at:
                raise self.problem
            self._flight = asyncio.create_task(self._collect())
            self._flight.add_done_callback(self._landed)
        return await asyncio.shield(self._flight)

    def _landed(self, flight: asyncio.Task[Snapshot]) -> None:
        self._flight = None
        if not flight.cancelled():
            flight.exception()  # whoever waited has it; nobody may have

    async def close(self) -> None:
        """End both sessions and everything under way."""
        await _ended(self._flight)
        await _ended(self._watching)  # after the flight, which may start it
        for connection in (self._main, self._light):
            if connection is not None and not connection.closed:
                await connection.close()

    async def _collect(self) -> Snapshot:
        at = self._clock()
        try:
            snapshot = await self._snapshot(at)
        except mysql.ServerError as error:
            self.problem = error
            lost = isinstance(error, mysql.ConnectionLost)  # it may be back already
            self._pause = 0.0 if lost else min(max(self._pause * 2, _FIRST_PAUSE), _LONGEST_PAUSE)
            self._retry_at = time.monotonic() + self._pause
            raise
        self.problem, self._pause = None, 0.0
        if self._keep is not None:
            self._keep.collection(at)
        if len(self.history) > 1 and at - self.history[-2].at <= self._interval:
            self.history.pop()  # who looks more often than the interval makes the history no shorter
        self.history.append(snapshot)
        return snapshot

    async def _snapshot(self, at: float) -> Snapshot:
        connection = await self._session()
        now = time.monotonic()
        for collector in COLLECTORS:
            if now < self._due.get(collector.name, 0.0):
                continue
            if connection.closed:
                # The one before missed its deadline, which is no reason for this one to fail.
                connection = self._main = await self._open()
            answer = await self._ask(connection, collector)
            self._due[collector.name] = now + (_BACK_OFF if answer.failure == "deadline" else collector.every)
            self._take(answer)
        assert self._assembler is not None  # noqa: S101 - _session makes it
        return self._assembler.snapshot(at)

    async def _session(self) -> mysql.Connection:
        lost = self._main is None or self._main.closed
        if self._main is None or lost or self._refused():
            if self._main is not None:
                await self._main.close()
            self._main = await self._open()
            self._due.clear()
            if lost or self._assembler is None or self._assembler.server != self._main.server:
                # What was known may be of another life of the server.
                self._assembler = Assembler(self._main.server, self._main.account)
                if self._keep is not None:
                    self._keep.session(self._main.server, self._main.account)
                await self._watch_parallel_readers(self._main.server)
        return self._main

    async def _open(self) -> mysql.Connection:
        connection = await mysql.Connection.open(self._target, statement_seconds=self._statement_seconds)
        self._opened_at = time.monotonic()
        return connection

    def _refused(self) -> bool:
        """Whether a source was refused to a session that is not new: a GRANT of PROCESS counts for new ones only."""
        if not self.history or time.monotonic() - self._opened_at < self._grant_seconds:
            return False
        outcomes = self.history[-1].outcomes
        return any(outcomes[collector.name].failure == "privilege" for collector in COLLECTORS)

    async def _ask(self, connection: mysql.Connection, collector: Collector) -> Answer:
        at, began = self._clock(), time.monotonic()
        queries = collector.queries(connection.server)
        if isinstance(queries, Unavailable):
            return Answer(collector.name, at, 0.0, (), queries.failure, queries.reason, queries.cure)
        sessions = [connection]
        if collector.each_session and self._light is not None and not self._light.closed:
            sessions.append(self._light)
        deadline = self._statement_seconds + _CLIENT_GRACE
        try:
            results = tuple(
                [await session.query(collector.name, sql, deadline) for session in sessions for sql in queries]
            )
        except mysql.ServerError as error:
            if isinstance(error, mysql.ConnectionLost) and connection is self._main and connection.closed:
                raise  # the server went away, and with it the worth of what was collected so far
            cure = grant(collector, connection.account) if isinstance(error, mysql.PrivilegeMissing) else None
            return Answer(collector.name, at, _since(began), (), _failure(error), str(error), cure)
        if collector.local is not None:
            local = await self._read(connection, collector.local, results, deadline)
            if isinstance(local, Unavailable):
                return Answer(collector.name, at, _since(began), (), local.failure, local.reason, local.cure)
            results = (local,)
        return Answer(collector.name, at, _since(began), results)

    async def _read(
        self, connection: mysql.Connection, local: Local, results: Sequence[Rows], deadline: float
    ) -> Rows | Unavailable:
        """What this machine's files say, with the results of a collector's statements."""
        assert self._assembler is not None  # noqa: S101 - _session makes it
        here = Here(connection.peer, self._assembler.snapshot(self._clock()), self._machine, self._root)
        try:
            async with asyncio.timeout(deadline):
                return await asyncio.to_thread(local, results, here)
        except TimeoutError:
            return Unavailable("deadline", f"this machine's files were not read within {deadline:g} s")
        except (OSError, ValueError, LookupError) as error:
            return Unavailable("failed", f"cannot read this machine's files: {type(error).__name__}: {error}")

    def _take(self, answer: Answer) -> None:
        if self._assembler is not None:
            self._assembler.take(answer)
        if self._keep is not None:
            self._keep.answer(answer)

    async def _watch_parallel_readers(self, server: Server) -> None:
        """Start, or after a reconnection start anew, the task that looks at the reader threads."""
        await _ended(self._watching)
        queries = LIGHT.queries(server)
        if isinstance(queries, Unavailable):
            self._take(Answer(LIGHT.name, self._clock(), 0.0, (), queries.failure, queries.reason, queries.cure))
        else:
            self._watching = asyncio.create_task(self._look())

    async def _look(self) -> None:
        while True:
            began = time.monotonic()
            if self._light is None or self._light.closed:
                try:
                    self._light = await mysql.Connection.open(self._target, statement_seconds=self._statement_seconds)
                except mysql.ServerError as error:
                    self._take(Answer(LIGHT.name, self._clock(), 0.0, (), _failure(error), str(error)))
                    await asyncio.sleep(_LONGEST_PAUSE / 6)
                    continue
            answer = await self._ask(self._light, LIGHT)
            self._take(answer)
            # At even intervals, reads that repeat in step with them would be missed again and again.
            period = LIGHT_PERIOD * random.uniform(0.5, 1.5)  # noqa: S311 - no secret
            pause = period if answer.failure is None else _LONGEST_PAUSE / 6
            spent = time.monotonic() - began
            await asyncio.sleep(max(pause - spent, spent / _LIGHT_SHARE - spent))


async def _ended(task: asyncio.Task[Any] | None) -> None:
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def grant(collector: Collector, account: str) -> str | None:
    """The statement that gives ``account`` (user@host) what a collector needs; None if it needs nothing."""
    if collector.privilege is None:
        return None
    user, _, host = account.rpartition("@")
    return f"GRANT {collector.privilege} TO {_literal(user)}@{_literal(host)}"


def _since(began: float) -> float:
    return round(time.monotonic() - began, 6)  # microseconds, as a recording keeps them


def _literal(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def _failure(error: mysql.ServerError) -> Failure:
    match error:
        case mysql.PrivilegeMissing():
            return "privilege"
        case mysql.DeadlineExceeded():
            return "deadline"
        case _:
            return "failed"
