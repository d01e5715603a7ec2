"""Runs of collectors: when one is due, its statements, their deadline, and the answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from exporter.collectors.base import Collector, HostContext, HostReader, Unavailable
from exporter.connection.errors import ConnectionLost, DeadlineExceeded, PrivilegeMissing, ServerError
from exporter.connection.session import Session
from exporter.linux.process import Finder
from exporter.rows import Rows
from exporter.sampling.assembly import Answer
from exporter.snapshot import ConfiguredMachine, Failure, Snapshot

FIRST_REST, LONGEST_REST = 60.0, 600.0
"""Seconds that a collector rests after a missed deadline; each further one in a row doubles them."""
SHARE = 0.05
"""Maximum share of the time for a collector with a period: a slow one runs less often."""
_LASTING: frozenset[Failure] = frozenset({"absent", "disabled"})
"""Failures that an immediate new attempt would not change."""
_CLIENT_GRACE = 1.0
"""Seconds that the client waits beyond the limit that the server gets."""


class Schedule:
    """The times when the collectors may run again."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Every collector is due.

        Args:
            clock: Monotonic seconds.
        """
        self._clock = clock
        self._due: dict[str, float] = {}
        self._rest: dict[str, float] = {}
        self._seldom: set[str] = set()

    def due(self, collector: Collector[Any]) -> bool:
        """Whether it may run now."""
        return self._clock() >= self._due.get(collector.name, 0.0)

    def ran(self, collector: Collector[Any], seconds: float, failure: Failure | None) -> None:
        """A run that began ``seconds`` ago has ended."""
        name, began = collector.name, self._clock() - seconds
        if collector.every >= LONGEST_REST:
            self._seldom.add(name)
        if failure == "deadline":
            self._rest[name] = min(self._rest.get(name, FIRST_REST / 2) * 2, LONGEST_REST)
            self._due[name] = began + max(self._rest[name], collector.every)
            return
        self._rest.pop(name, None)
        pause = max(collector.every, seconds / SHARE) if collector.every else 0.0
        periodic = failure is None or failure in _LASTING or collector.every >= LONGEST_REST
        self._due[name] = began + (pause if periodic else 0.0)

    def clear(self) -> None:
        """Every collector is due again, as after a restart or a GRANT; rare ones are not, as they burden the server."""
        self._due = {name: due for name, due in self._due.items() if name in self._seldom}
        self._rest.clear()


class CollectorRun:
    """Runs collectors: asks a server, and reads the host's files."""

    def __init__(
        self, statement_seconds: float, machine: ConfiguredMachine, clock: Callable[[], float], root: Path
    ) -> None:
        """Ask nothing yet.

        Args:
            statement_seconds: Limit for a statement.
            machine: The user's description of the server's machine.
            clock: Unix seconds.
            root: The root of the host's file system.
        """
        self._deadline = statement_seconds + _CLIENT_GRACE
        self._machine = machine
        self._clock = clock
        self._root = root
        self._find = Finder()

    async def run(
        self, collector: Collector[Any], sessions: Sequence[Session], known: Callable[[], Snapshot]
    ) -> Answer:
        """Run a collector.

        Args:
            collector: The collector.
            sessions: Asked one after the other if the collector runs in ``each_session``, else only the first is asked.
            known: Gives the sections of the collectors before it.

        Raises:
            ConnectionLost: A session is lost.
        """
        at, began = self._clock(), time.monotonic()
        session = sessions[0]
        queries = self._queries(collector, session, known)
        if isinstance(queries, Unavailable):
            return Answer(collector.name, at, 0.0, (), queries.failure, queries.reason, queries.cure)
        try:
            results = tuple(
                [
                    await asked.query(collector.name, sql, self._deadline, *collector.values, bound=collector.bound)
                    for asked in (sessions if collector.each_session else sessions[:1])
                    for sql in queries
                ]
            )
        except ConnectionLost:
            raise
        except ServerError as error:
            cure = grant(collector, session.account) if isinstance(error, PrivilegeMissing) else None
            return Answer(collector.name, at, _since(began), (), failure(error), str(error), cure)
        if collector.host_reader is not None:
            host = HostContext(session.peer, known(), self._machine, self._root, self._find)
            rows = await self._read(collector.host_reader, host)
            if isinstance(rows, Unavailable):
                return Answer(collector.name, at, _since(began), (), rows.failure, rows.reason, rows.cure)
            results = (rows,)
        return Answer(collector.name, at, _since(began), results)

    @staticmethod
    def _queries(
        collector: Collector[Any], session: Session, known: Callable[[], Snapshot]
    ) -> tuple[str, ...] | Unavailable:
        """The statements, or why the collector does not run."""
        refused = None if collector.allowed is None else collector.allowed(known())
        return collector.queries(session.server) if refused is None else refused

    async def _read(self, reader: HostReader, host: HostContext) -> Rows | Unavailable:
        """Rows from the host's files."""
        try:
            async with asyncio.timeout(self._deadline):
                return await asyncio.to_thread(reader, host)
        except TimeoutError:
            return Unavailable("deadline", f"this machine's files were not read within {self._deadline:g} s")
        except (OSError, ValueError, LookupError) as error:
            return Unavailable("failed", f"cannot read this machine's files: {type(error).__name__}: {error}")


def grant(collector: Collector[Any], account: str) -> str | None:
    """The statement that grants ``account`` (user@host) a collector's privilege; None if it needs none."""
    if collector.privilege is None:
        return None
    user, _, host = account.rpartition("@")
    return f"GRANT {collector.privilege} TO {_literal(user)}@{_literal(host)}"


def failure(error: ServerError) -> Failure:
    """The kind of failure that an error is."""
    match error:
        case PrivilegeMissing():
            return "privilege"
        case DeadlineExceeded():
            return "deadline"
        case _:
            return "failed"


def _since(began: float) -> float:
    return round(time.monotonic() - began, 6)  # microseconds, as a recording keeps them


def _literal(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
