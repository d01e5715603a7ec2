"""HEAD on every endpoint that has GET (RFC 9110, section 9.3.2)."""

from __future__ import annotations

from http import HTTPStatus

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Head:
    """Answers HEAD as GET, with the same headers and without the body; FastAPI's routes have GET only.

    The answer ends where the body would begin: some have no end.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        head = scope["method"] == "HEAD"
        ended = False

        async def sent(message: Message) -> None:
            nonlocal ended
            if message["type"] == "http.response.start" and message["status"] == HTTPStatus.METHOD_NOT_ALLOWED:
                headers = MutableHeaders(scope=message)
                if "GET" in headers.get("allow", "").split(", "):
                    headers["allow"] += ", HEAD"
            elif message["type"] == "http.response.body" and head:
                if ended:
                    return
                ended, message = True, {**message, "body": b"", "more_body": False}
            await send(message)

        await self._app({**scope, "method": "GET"} if head else scope, receive, sent)
