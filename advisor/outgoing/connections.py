"""Connections to other HTTP servers, with their answers and errors in words."""

from __future__ import annotations

import contextlib
import os
import ssl
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import httpcore

from advisor.outgoing.settings import ClientSettings
from exporter import __version__

REDIRECTS = (301, 302, 303, 307, 308)
_KEPT_OPEN_SECONDS = 5.0
_SHOWN = 300  # characters of an answer at most


class Connections:
    """Connections with the settings in force; unlike other clients httpcore takes no proxy from the environment."""

    def __init__(self, settings: Callable[[], ClientSettings]) -> None:
        """Open nothing before the first request."""
        self._settings = settings
        self._pool: tuple[ClientSettings, httpcore.AsyncConnectionPool] | None = None

    @contextlib.asynccontextmanager
    async def request(
        self, method: str, url: str, headers: Iterable[tuple[str, str]] = (), content: bytes | None = None
    ) -> AsyncIterator[httpcore.Response]:
        """The answer to a request, with its body still to read. Each step has the settings' timeout.

        Raises:
            httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, OSError: No answer came.
        """
        settings, pool = await self._current_pool()
        head = [("User-Agent", f"innodb-advisor/{__version__}"), *headers]
        extensions: dict[str, Any] = {
            "timeout": dict.fromkeys(("connect", "read", "write", "pool"), settings.timeout),
            **({"sni_hostname": settings.server_name} if settings.server_name else {}),
        }
        if settings.authorization:
            head.append(("Authorization", settings.authorization))
        async with pool.stream(method, url, headers=head, content=content, extensions=extensions) as response:
            yield response

    async def aclose(self) -> None:
        """Close all connections."""
        if self._pool:
            await self._pool[1].aclose()
            self._pool = None

    async def _current_pool(self) -> tuple[ClientSettings, httpcore.AsyncConnectionPool]:
        settings = self._settings()
        if self._pool is None or self._pool[0] is not settings:
            await self.aclose()
            self._pool = settings, httpcore.AsyncConnectionPool(settings.tls, keepalive_expiry=_KEPT_OPEN_SECONDS)
        return self._pool


def status_line(answer: httpcore.Response) -> str:
    """The status and its reason: 503 Service Unavailable."""
    return f"{answer.status} {answer.extensions.get('reason_phrase', b'').decode('ascii', 'replace')}".strip()


async def beginning(answer: httpcore.Response) -> str:
    """The beginning of an answer. A short one is read to its end, so that the connection can be used again."""
    read = bytearray()
    async for part in answer.aiter_stream():
        read += part
        if len(read) > 4 * _SHOWN:
            break
    return shown(read.decode("utf-8", "replace"))


def shown(text: str) -> str:
    """A text of another server as one short line."""
    line = " ".join(text.split()).strip('"')
    return "".join(letter if letter.isprintable() else "?" for letter in line)[:_SHOWN]


def reason(error: BaseException) -> str:
    """Why there was no answer: the message of the system or of TLS, which the libraries' own errors wrap."""
    seen: BaseException | None = error
    text = str(error) or type(error).__name__
    while seen is not None:
        if isinstance(seen, BaseExceptionGroup):
            seen = seen.exceptions[0]
        if isinstance(seen, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {seen.verify_message}"
        if isinstance(seen, OSError) and seen.strerror:
            # asyncio has the address in strerror.
            text = os.strerror(seen.errno) if isinstance(seen, ConnectionError) and seen.errno else seen.strerror
        seen = seen.__cause__ or seen.__context__
    return text
