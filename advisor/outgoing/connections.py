"""Connections to other HTTP servers, and in words what they answer or why they do not."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from typing import Any

import httpcore

from advisor.outgoing.client_settings import ClientSettings
from exporter import __version__

REDIRECTS = (301, 302, 303, 307, 308)
_KEPT_OPEN_SECONDS = 5.0
_SAID = 300  # characters of an answer at most


class Connections:
    """Connections with the settings in force; unlike other clients httpcore takes no proxy from the environment."""

    def __init__(self, settings: Callable[[], ClientSettings]) -> None:
        """Nothing is opened yet."""
        self._settings = settings
        self._pool: tuple[ClientSettings, httpcore.AsyncConnectionPool] | None = None

    async def pool(self) -> tuple[ClientSettings, httpcore.AsyncConnectionPool]:
        """The settings and the connections that have them."""
        settings = self._settings()
        if self._pool and self._pool[0] is settings:
            return self._pool
        await self.aclose()
        self._pool = settings, httpcore.AsyncConnectionPool(settings.tls, keepalive_expiry=_KEPT_OPEN_SECONDS)
        return self._pool

    async def aclose(self) -> None:
        """Close all connections."""
        if self._pool:
            await self._pool[1].aclose()
            self._pool = None


def headers(settings: ClientSettings, content_type: str) -> list[tuple[str, str]]:
    """The headers of a request with a body."""
    told = [("Content-Type", content_type), ("User-Agent", f"innodb-advisor/{__version__}")]
    return [*told, ("Authorization", settings.authorization)] if settings.authorization else told


def extensions(settings: ClientSettings) -> dict[str, Any]:
    """What httpcore is told beside a request."""
    return {
        "timeout": dict.fromkeys(("connect", "read", "write", "pool"), settings.timeout),
        **({"sni_hostname": settings.server_name} if settings.server_name else {}),
    }


def status_line(answer: httpcore.Response) -> str:
    """The status and its reason: 503 Service Unavailable."""
    return f"{answer.status} {answer.extensions.get('reason_phrase', b'').decode('ascii', 'replace')}".strip()


async def beginning(answer: httpcore.Response) -> str:
    """The beginning of an answer. A short one is read to its end, so that the connection can be used again."""
    read = bytearray()
    async for part in answer.aiter_stream():
        read += part
        if len(read) > 4 * _SAID:
            break
    return shown(read.decode("utf-8", "replace"))


def shown(text: str) -> str:
    """A text of another server as one short line."""
    said = " ".join(text.split()).strip('"')
    return "".join(each if each.isprintable() else "?" for each in said)[:_SAID]


def reason(error: BaseException) -> str:
    """Why there was no answer: the message of the system or of TLS, which the libraries' own errors wrap."""
    seen: BaseException | None = error
    found = str(error) or type(error).__name__
    while seen is not None:
        if isinstance(seen, BaseExceptionGroup):
            seen = seen.exceptions[0]
        if isinstance(seen, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {seen.verify_message}"
        if isinstance(seen, OSError) and seen.strerror:
            # asyncio has the address in strerror.
            found = os.strerror(seen.errno) if isinstance(seen, ConnectionError) and seen.errno else seen.strerror
        seen = seen.__cause__ or seen.__context__
    return found
