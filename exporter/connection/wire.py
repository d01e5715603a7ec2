"""aiomysql, hardened: no SHOW WARNINGS, no silent TLS downgrade, no clear-text password."""

from __future__ import annotations

import asyncio
import os
import ssl
from typing import Any

# aiomysql looks up the operating system's user name on import, and a container's uid may have none.
os.environ.setdefault("USER", "innodb-advisor")

import aiomysql
from pymysql.constants import CLIENT

from exporter.connection.target import Target


class LoginRefused(Exception):
    """A login that would be unsafe; the text continues a sentence that begins with the server's address."""


class Cursor(aiomysql.Cursor):  # type: ignore[misc]  # aiomysql ships no types
    """A cursor without the extra SHOW WARNINGS that aiomysql sends after a statement with warnings."""

    async def _show_warnings(self, conn: object) -> None:
        pass


class Raw(aiomysql.Connection):  # type: ignore[misc]  # aiomysql ships no types
    """A connection that refuses a TLS downgrade and clear-text passwords, and knows whether the server greeted it.

    aiomysql continues without TLS if the server offers none, and sends the password in clear text if asked to.
    """

    server_version: str | None = None
    tls_required = False
    _ssl_context: ssl.SSLContext | None
    _stream: asyncio.StreamWriter | None = None

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
                raise LoginRefused("offers no TLS, which ssl-mode or a certificate asks for")
            self._ssl_context = None
            self.client_flag &= ~CLIENT.SSL
        self._check(self._server_auth_plugin)

    async def _process_auth(self, plugin_name: bytes, auth_packet: Any) -> None:
        self._check(plugin_name.decode("ascii", "replace"))
        await super()._process_auth(plugin_name, auth_packet)

    def _check(self, plugin: str) -> None:
        if plugin == "mysql_clear_password" and self._ssl_context is None and not self._unix_socket:
            raise LoginRefused("asks for the password in clear text and offers no TLS")


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
    raw.tls_required = target.mode not in ("DISABLED", "PREFERRED")
    return raw
