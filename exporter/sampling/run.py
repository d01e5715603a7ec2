"""One run of a collector: its statements, within their deadline, and what came of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from exporter.collectors.base import Collector, Here, Local, Unavailable
from exporter.connection.errors import ConnectionLost, DeadlineExceeded, PrivilegeMissing, ServerError
from exporter.connection.session import Session
from exporter.rows import Rows
from exporter.sampling.assembly import Answer
from exporter.snapshot import ConfiguredMachine, Failure, Snapshot

_CLIENT_GRACE = 1.0
"""Seconds that are waited here beyond the limit that the server is told."""


class Asker:
    """Asks a server, and this machine's files, what collectors want to know."""

    def __init__(
        self, statement_seconds: float, machine: ConfiguredMachine, clock: Callable[[], float], root: Path
    ) -> None:
        """Ask nothing yet.

        Args:
            statement_seconds: Limit for a statement.
            machine: What the user says of the server's machine.
            clock: Unix seconds.
            root: Where this machine's files begin.
        """
        self._deadline = statement_seconds + _CLIENT_GRACE
        self._machine = machine
        self._clock = clock
        self._root = root

    async def ask(self, collector: Collector, sessions: Sequence[Session], known: Callable[[], Snapshot]) -> Answer:
        """Run a collector.

        Args:
            collector: Which.
            sessions: Asked one after the other, but only the first of them unless it is to be ``each_session``.
            known: Tells what the collectors before it found.

        Raises:
            ConnectionLost: A session is gone.
        """
        at, began = self._clock(), time.monotonic()
        session = sessions[0]
        queries = self._queries(collector, session, known)
        if isinstance(queries, Unavailable):
            return Answer(collector.name, at, 0.0, (), queries.failure, queries.reason, queries.cure)
        asked = sessions if collector.each_session else sessions[:1]
        try:
            results = tuple(
                [await each.query(collector.name, sql, self._deadline) for each in asked for sql in queries]
            )
        except ConnectionLost:
            raise
        except ServerError as error:
            cure = grant(collector, session.account) if isinstance(error, PrivilegeMissing) else None
            return Answer(collector.name, at, _since(began), (), failure(error), str(error), cure)
        if collector.local is not None:
            local = await self._read(collector.local, results, Here(session.peer, known(), self._machine, self._root))
            if isinstance(local, Unavailable):
                return Answer(collector.name, at, _since(began), (), local.failure, local.reason, local.cure)
            results = (local,)
        return Answer(collector.name, at, _since(began), results)

    @staticmethod
    def _queries(
        collector: Collector, session: Session, known: Callable[[], Snapshot]
    ) -> tuple[str, ...] | Unavailable:
        """What to ask, or why nothing may be asked."""
        refused = None if collector.allowed is None else collector.allowed(known())
        return collector.queries(session.server) if refused is None else refused

    async def _read(self, local: Local, results: Sequence[Rows], here: Here) -> Rows | Unavailable:
        """What this machine's files say, with the results of a collector's statements."""
        try:
            async with asyncio.timeout(self._deadline):
                return await asyncio.to_thread(local, results, here)
        except TimeoutError:
            return Unavailable("deadline", f"this machine's files were not read within {self._deadline:g} s")
        except (OSError, ValueError, LookupError) as error:
            return Unavailable("failed", f"cannot read this machine's files: {type(error).__name__}: {error}")


def grant(collector: Collector, account: str) -> str | None:
    """The statement that gives ``account`` (user@host) what a collector needs; None if it needs nothing."""
    if collector.privilege is None:
        return None
    user, _, host = account.rpartition("@")
    return f"GRANT {collector.privilege} TO {_literal(user)}@{_literal(host)}"


def failure(error: ServerError) -> Failure:
    """Which kind of failure an error is."""
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
