"""Sessions with the server: only this module sends statements.

A session is read-only, waits at most two seconds for a metadata lock, and limits a statement's run time in every server
that can.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
from dataclasses import replace
from typing import Any, Final

from pymysql import err

from exporter.connection import session_settings
from exporter.connection.errors import DIRECT, ConnectionLost, ServerError, connect_error, query_error
from exporter.connection.target import Peer, Target, TargetError
from exporter.connection.wire import Cursor, raw_connection
from exporter.rows import USUAL, Rows, Value
from exporter.server import IDENTITY_SQL, Server, identify, instance

_CONNECT_SECONDS: Final = 10.0
_CANCEL_SECONDS: Final = 2.0
CANCEL_SQL: Final = "KILL QUERY %s"
_CREDENTIALS: Final = struct.Struct("3i")


class Session:
    """An open session; its statements run one at a time.

    Attributes:
        server: The server's identity.
        instance: Values that differ between two servers of the same version.
        account: The account that is logged in, ``user@host``.
        id: The server's number of the session.
    """

    def __init__(self, raw: Any, target: Target) -> None:
        self._raw = raw
        self._target = target
        self.server: Server
        self.instance: tuple[str | None, ...] = ()
        self.account = ""
        self.id: Value = None
        self._turn = asyncio.Lock()

    @classmethod
    async def open(
        cls, target: Target, *, statement_seconds: float, connect_seconds: float = _CONNECT_SECONDS
    ) -> Session:
        """Connect, set the session's settings and verify them, and identify the server.

        Args:
            target: The server.
            statement_seconds: Limit for a statement, enforced by the sidecar, and by servers that can (MySQL 5.7.8+
                for SELECT, MariaDB).
            connect_seconds: Limit for opening the session.

        Raises:
            ServerError: Nothing listens or answers in time, the TLS files cannot be used, the login was refused, this
                is no MySQL server, or what results depend on cannot be set.
        """
        try:
            return await cls._open(target, statement_seconds, connect_seconds)
        except ServerError as error:
            cause = error.__cause__
            if target.mode != "PREFERRED" or cause is None or not isinstance(cause.__cause__, ssl.SSLError):
                raise
        # The handshake failed. The mysql client falls back, too: this may be a server without TLS 1.2.
        return await cls._open(replace(target, ssl_mode="DISABLED"), statement_seconds, connect_seconds)

    @classmethod
    async def _open(cls, target: Target, statement_seconds: float, connect_seconds: float) -> Session:
        try:
            raw = raw_connection(target)
        except TargetError as error:  # a certificate may have been deleted since the start
            raise ServerError(str(error)) from error
        session = cls(raw, target)
        try:
            async with asyncio.timeout(connect_seconds):
                # aiomysql.connect() leaks its socket when the time limit cancels it, so the object is created first.
                await raw._connect()  # noqa: SLF001
                await session._prepare(statement_seconds)
        except BaseException as error:
            session.abort()
            if isinstance(error, ServerError) or not isinstance(error, Exception):
                raise
            raise await session._opening_error(error, connect_seconds) from error
        return session

    async def _opening_error(self, error: Exception, connect_seconds: float) -> ServerError:
        """What an error of the driver means while the session is opened."""
        target, greeted = self._target, self._raw.server_version is not None
        match error:
            case err.MySQLError():
                return connect_error(error, target, greeted=greeted)
            case TimeoutError() if not greeted and await _accepts(target):
                return ServerError(
                    f"{target.address} accepts connections but sent no MySQL greeting "
                    f"within {connect_seconds:g} s; is it a MySQL server?"
                )
            case TimeoutError():
                return ServerError(f"{target.address} did not answer within {connect_seconds:g} s")
            case _:  # on a foreign greeting, aiomysql raises whatever its unpacking raises
                return ServerError(f"{target.address} does not speak the MySQL protocol")

    async def _prepare(self, statement_seconds: float) -> None:
        await self._execute(session_settings.FIRST_SQL, "session")
        identity = await self._execute(IDENTITY_SQL, "identity")
        variables = {str(row[0]).lower(): str(row[1]) for row in identity.rows}
        self.instance = instance(variables)
        try:
            self.server = identify(variables)
        except ValueError as error:
            raise ServerError(f"{self._target.address} is no MySQL or MariaDB server: {error}") from None
        await self._execute(session_settings.second_sql(self.server, statement_seconds), "session")
        [session] = await self._execute(session_settings.check_sql(self.server), "session")
        if wrong := list(session_settings.differences(self.server, session)):
            raise ServerError(
                f"{self._target.address} does not keep the session's settings: {', '.join(wrong)}; {DIRECT}"
            )
        self.account, self.id = str(session["account"]), session["id"]

    async def query(
        self, collector: str, sql: str, deadline_seconds: float, *values: Value, bound: int = USUAL
    ) -> Rows:
        """Run one statement.

        Args:
            collector: The name in the statement's leading comment, by which a DBA recognises it.
            sql: Constant text.
            deadline_seconds: The connection is dropped after this time.
            values: For the text's parameters, each ``%s``.
            bound: Bytes; the connection is dropped where the answer is larger.

        Raises:
            ServerError: The statement failed; the session may be closed.
            ConnectionLost: The session is lost.
        """
        try:
            async with self._turn, asyncio.timeout(deadline_seconds):
                return await self._execute(sql, collector, *values, bound=bound)
        except TimeoutError:
            self.abort()
            raise ServerError(f"no answer within {deadline_seconds:g} s", "deadline") from None
        except err.MySQLError as error:
            failure = query_error(error, self._target)
            if isinstance(failure, ConnectionLost):
                self.abort()
            raise failure from error
        except (OSError, EOFError) as error:
            self.abort()
            raise ConnectionLost(f"the connection to {self._target.address} broke: {error}") from error
        except (ServerError, asyncio.CancelledError):
            self.abort()  # more of the answer would come, or a statement may still be running
            raise
        except Exception as error:
            # On a damaged answer, aiomysql raises whatever its unpacking raises.
            self.abort()
            raise ServerError(f"the answer cannot be read: {error}") from error

    async def cancel(self, other: Session) -> None:
        """End a statement that another of the sidecar's sessions abandoned, but that still runs in the server.

        Raises:
            ServerError: As ``query``; the statement may have ended already.
        """
        await self.query("cancel", CANCEL_SQL, _CANCEL_SECONDS, other.id)

    async def _execute(self, sql: str, collector: str, *values: Value, bound: int = USUAL) -> Rows:
        self._raw.expect(bound)
        async with self._raw.cursor(Cursor) as cursor:
            await cursor.execute(f"/* innodb-advisor:{collector} */ {sql}", values or None)
            columns = [column[0] for column in cursor.description or ()]
            return Rows.of(columns, await cursor.rows(bound) if columns else ())

    @property
    def peer(self) -> Peer:
        """Both ends of the connection; empty for a closed one."""
        writer = self._raw._writer  # noqa: SLF001
        end = None if writer is None else writer.get_extra_info("socket")
        try:
            if end is None:
                return Peer()
            if end.family == socket.AF_UNIX:
                # unix(7): process, user and group that called listen(); process 0 is one that cannot be seen.
                process, _, _ = _CREDENTIALS.unpack(
                    end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
                )
                return Peer(pid=process or None)
            return Peer(own=end.getsockname()[:2], port=end.getpeername()[1])
        except (OSError, AttributeError):  # the connection broke, or this is not Linux
            return Peer()

    @property
    def closed(self) -> bool:
        """Whether the session is over."""
        return bool(self._raw.closed)

    def abort(self) -> None:
        """Drop the connection at once, without a close message."""
        self._raw.close()

    async def close(self) -> None:
        """End the session with a close message."""
        writer = self._raw._writer  # noqa: SLF001
        if writer is None:
            return
        try:
            with contextlib.suppress(OSError):
                async with asyncio.timeout(1):
                    await self._raw.ensure_closed()
                    await writer.wait_closed()
        finally:
            self.abort()
            writer.transport.abort()  # it may still wait to send


async def _accepts(target: Target) -> bool:
    """Whether the address accepts connections, in whatever protocol."""
    opening = (
        asyncio.open_unix_connection(target.socket)
        if target.socket
        else asyncio.open_connection(target.host, target.port)
    )
    try:
        async with asyncio.timeout(1):
            _, writer = await opening
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True
