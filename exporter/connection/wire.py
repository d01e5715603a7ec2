"""aiomysql, hardened: no SHOW WARNINGS, no silent TLS downgrade, no clear-text password, no answer without end."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Sequence
from typing import Any

# aiomysql looks up the operating system's user name on import, and a container's uid may have none.
os.environ.setdefault("USER", "innodb-advisor")

import aiomysql
from aiomysql import connection
from pymysql.constants import CLIENT

from exporter.connection.errors import ServerError
from exporter.connection.target import Target

_LOGIN = 64 << 10
"""Bytes of a whole login: the greeting, a switch of the plugin and a public key are less than 4 KiB."""
_VALUE = 40
"""Bytes that a value takes in memory at least, with its place in a row: an answer's bound limits its values, too."""
_FEW_READS = 200
"""Of what comes beside rows: the login, columns, and the ends of both."""
_CHUNK = 64 << 10
"""Bytes that are taken at once: as many as asyncio holds before it stops to receive."""
_PAUSE = 512
"""Reads between two pauses for others, where they come faster than they are read."""


class Cursor(aiomysql.SSCursor):  # type: ignore[misc]  # aiomysql ships no types
    """A cursor of one result, read row by row.

    It is without the extra SHOW WARNINGS that aiomysql sends after a statement with warnings.
    """

    _connection: Any

    async def _show_warnings(self, conn: object) -> None:
        pass

    async def nextset(self) -> None:
        """Raises ServerError where there is another result: each statement has one."""
        if self._result is not None and self._result.has_next:
            raise ServerError("the answer has more than one result")

    async def rows(self, bound: int) -> list[Sequence[object]]:
        """All rows. Raises ServerError where they have more values than fit ``bound`` bytes."""
        rows: list[Sequence[object]] = []
        values = bound // _VALUE
        while (row := await self.fetchone()) is not None:
            values -= len(row)
            if values < 0:
                raise ServerError(f"the answer has more than {bound // _VALUE:,} values")
            rows.append(row)
        return rows

    async def close(self) -> None:
        """Read what is left, within the bound; of a lost connection nothing is."""
        if self._connection is None or self._connection.closed:
            self._connection = None  # nothing is left to be read
        else:
            await super().close()


class _Reader:
    """The server's answers, each of a bounded length.

    It takes all that has come at once: a row is two reads, of which most then find their bytes here.
    """

    def __init__(self, stream: asyncio.StreamReader, address: str) -> None:
        self._stream = stream
        self._address = address
        self._chunk, self._at = b"", 0
        self.begin(_LOGIN)

    def begin(self, bound: int) -> None:
        """A new answer begins, of so many bytes at most. A row or column is two reads, and takes far more memory."""
        self._bound = self._left = bound
        self._reads = bound // _VALUE + _FEW_READS

    async def readexactly(self, size: int) -> bytes:
        self._left -= size
        self._reads -= 1
        if self._left < 0:
            raise ServerError(f"the answer of {self._address} is longer than {self._bound >> 10:,} KiB")
        if self._reads < 0:
            raise ServerError(f"the answer of {self._address} has too many rows or columns")
        if self._reads % _PAUSE == 0:
            await asyncio.sleep(0)
        if len(self._chunk) - self._at < size:
            self._chunk, self._at = self._chunk[self._at :] + await self._stream.read(_CHUNK), 0
            if len(self._chunk) < size:
                self._chunk += await self._stream.readexactly(size - len(self._chunk))
        self._at += size
        return self._chunk[self._at - size : self._at]


class Raw(aiomysql.Connection):  # type: ignore[misc]  # aiomysql ships no types
    """A connection that refuses a TLS downgrade and clear-text passwords, and knows whether the server greeted it.

    aiomysql continues without TLS if the server offers none, and sends the password in clear text if asked to.
    """

    server_version: str | None = None
    tls_required = False
    address = ""
    _ssl_context: ssl.SSLContext | None
    _stream: asyncio.StreamWriter | None = None
    _bounded: _Reader | None = None

    @property
    def _reader(self) -> _Reader | None:
        return self._bounded

    @_reader.setter
    def _reader(self, reader: asyncio.StreamReader | None) -> None:
        self._bounded = None if reader is None else _Reader(reader, self.address)

    def expect(self, bound: int) -> None:
        """The next answer has so many bytes at most."""
        if self._bounded is not None:
            self._bounded.begin(bound)

    @property
    def _writer(self) -> asyncio.StreamWriter | None:
        return self._stream

    @_writer.setter
    def _writer(self, writer: asyncio.StreamWriter | None) -> None:
        if writer is None and self._stream is not None:
            # aiomysql only closes it, which under TLS waits for the other side's close message.
            self._stream.transport.abort()
        self._stream = writer

    async def _get_server_information(self) -> None:
        await super()._get_server_information()
        if not self.server_capabilities & CLIENT.SSL:
            if self.tls_required:
                raise ServerError(
                    f"{self.address} offers no TLS, which ssl-mode or a certificate asks for; no password was sent"
                )
            self._ssl_context = None
            self.client_flag &= ~CLIENT.SSL
        self._check(self._server_auth_plugin)

    async def _process_auth(self, plugin_name: bytes, auth_packet: Any) -> None:
        self._check(plugin_name.decode("ascii", "replace"))
        await super()._process_auth(plugin_name, auth_packet)

    def _check(self, plugin: str) -> None:
        if plugin == "mysql_clear_password" and self._ssl_context is None and not self._unix_socket:
            raise ServerError(
                f"{self.address} asks for the password in clear text and offers no TLS; no password was sent"
            )


class _Protocol(asyncio.StreamReaderProtocol):
    """Knows its transport as soon as the connection is open."""

    transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        super().connection_made(transport)


async def _open_connection(*address: Any, **options: Any) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """As aiomysql's own, but drops the connection if it is cancelled as the TLS handshake ends.

    asyncio only closes it then, which waits for the other side's close message after nobody knows the connection.
    """
    loop = asyncio.get_running_loop()
    reader = connection._StreamReader(loop=loop)  # noqa: SLF001
    protocol = _Protocol(reader, loop=loop)
    try:
        transport, _ = await loop.create_connection(lambda: protocol, *address, **options)
    except asyncio.CancelledError:
        if protocol.transport is not None:
            protocol.transport.abort()
        raise
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


connection._open_connection = _open_connection  # noqa: SLF001


def raw_connection(target: Target) -> Any:
    """A connection, not yet open.

    Raises:
        TargetError: The TLS files cannot be used.
    """
    raw = Raw(
        host=target.host,
        port=target.port,
        unix_socket=target.socket,
        user=target.user,
        # aiomysql encodes it in Latin-1: this sends UTF-8, or the exact bytes of the environment variable.
        password=target.password.encode(errors="surrogateescape").decode("latin1"),
        ssl=target.tls(),
        charset="utf8mb4",
        autocommit=None,  # a session's first statement sets it: init_connect comes after the login's answer
        program_name="innodb-advisor",
    )
    raw.address = target.address
    raw.tls_required = target.mode not in ("DISABLED", "PREFERRED")
    return raw
