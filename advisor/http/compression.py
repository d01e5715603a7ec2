"""Compression of answers for clients that accept it."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import Receive, Scope, Send

from advisor.http.negotiation import accepts_gzip


class Compression(GZipMiddleware):
    """Starlette's, which looks for the letters gzip in Accept-Encoding and so also compresses for ``gzip;q=0``."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        if scope["type"] == "http":
            scope = {**scope, "headers": list(scope["headers"])}
            headers = MutableHeaders(scope=scope)
            accepted = accepts_gzip(", ".join(headers.getlist("accept-encoding")))
            headers["accept-encoding"] = "gzip" if accepted else "identity"
        await super().__call__(scope, receive, send)
