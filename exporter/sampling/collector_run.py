"""Runs of collectors: when one is due, its statements, their deadline, and the answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from exporter.collectors.base import Collector, HostReader, SourceUnavailable
from exporter.connection.errors import ConnectionLost, ServerError
from exporter.connection.session import Session
from exporter.connection.target import Peer
from exporter.linux import files
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
        try:
            if collector.precondition is not None:
                collector.precondition(known())
            results = [
                await asked.query(collector.name, sql, self._deadline, *collector.values, bound=collector.bound)
                for asked in (sessions if collector.each_session else sessions[:1])
                for sql in collector.queries(session.server)
            ]
            if collector.host_reader is not None:
                results.append(await self._host_rows(collector.host_reader, session.peer, known()))
        except ConnectionLost:
            raise
        except SourceUnavailable as error:
            return Answer(collector.name, at, _since(began), (), error.failure, error.reason, error.cure)
        except ServerError as error:
            cure = grant(collector, session.account) if error.failure == "privilege" else None
            return Answer(collector.name, at, _since(began), (), error.failure, str(error), cure)
        return Answer(collector.name, at, _since(began), tuple(results))

    async def _host_rows(self, read: HostReader, peer: Peer, known: Snapshot) -> Rows:
        """Rows from the host's files. Raises SourceUnavailable."""

        def rows() -> Rows:
            pid = self._find(self._root, peer, files.whole(known.setting("port")))
            return read(self._root, pid, known, self._machine)

        try:
            async with asyncio.timeout(self._deadline):
                return await asyncio.to_thread(rows)
        except TimeoutError:
            reason = f"this machine's files were not read within {self._deadline:g} s"
            raise SourceUnavailable("deadline", reason) from None
        except (OSError, ValueError, LookupError) as error:
            reason = f"cannot read this machine's files: {type(error).__name__}: {error}"
            raise SourceUnavailable("failed", reason) from error


def grant(collector: Collector[Any], account: str) -> str | None:
    """The statement that grants ``account`` (user@host) a collector's privilege; None if it needs none."""
    if collector.privilege is None:
        return None
    user, _, host = account.rpartition("@")
    return f"GRANT {collector.privilege} TO {_literal(user)}@{_literal(host)}"


def _since(began: float) -> float:
    return round(time.monotonic() - began, 6)  # microseconds, as a recording keeps them


def _literal(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
