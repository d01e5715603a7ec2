"""Validation of answers that a client has already, by their ETag (RFC 9110, sections 8.8.3, 13.1.2 and 15.4.5)."""

from __future__ import annotations

import hashlib
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_OF_THE_CONTENT = ("content-length", "content-type")


def etag(content: bytes) -> str:
    """The ETag of an answer. It is weak: the answer may be compressed on its way."""
    return f'W/"{hashlib.blake2b(content, digest_size=16).hexdigest()}"'


class Validation:
    """Answers 304 where the client has the answer already: its If-None-Match names the answer's ETag."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        known = Headers(scope=scope).get("if-none-match") if scope["type"] == "http" else None
        if known is None or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        tags = {each.strip().removeprefix("W/") for each in known.split(",")}
        is_same = False

        async def sent(message: Message) -> None:
            nonlocal is_same
            if message["type"] == "http.response.start" and message["status"] == HTTPStatus.OK:
                headers = MutableHeaders(scope=message)
                is_same = headers.get("etag", "").removeprefix("W/") in tags
                if is_same:
                    message["status"] = HTTPStatus.NOT_MODIFIED
                    for name in _OF_THE_CONTENT:
                        del headers[name]
            elif message["type"] == "http.response.body" and is_same:
                message = {**message, "body": b""}
            await send(message)

        await self._app(scope, receive, sent)
