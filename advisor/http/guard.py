"""Checks before the endpoints: names, logins, other sites, sizes; and the headers of every response.

The cheapest checks come first, and no body is read before the login.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from http import HTTPStatus
from time import monotonic

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from advisor.http import problems
from advisor.http.browsers import SECURITY_HEADERS, Names
from advisor.http.limits import ALWAYS_ANSWERED, Bucket, too_often
from advisor.http.logins import Logins
from advisor.http.web_configuration import RateLimit, WebConfig
from advisor.http.web_settings import WebSettings

LONGEST_BODY = 64 * 1024
"""Bytes of a request body at most. A what-if with every setting of the model has 2 KiB."""
_REALM = {"WWW-Authenticate": 'Basic realm="innodb-advisor", charset="UTF-8"'}
_OPEN = WebConfig()


class Guard:
    """The application behind the checks."""

    def __init__(
        self,
        app: ASGIApp,
        web: WebSettings | None = None,
        *,
        names: Names | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Guard an application.

        Args:
            app: The application.
            web: Logins, headers and a rate limit; None for an open service.
            names: The names that requests may use; by default any name of a network.
            clock: Seconds, monotonic.
        """
        self._app = app
        self._web = web
        self._names = names or Names()
        self._clock = clock
        self._logins = Logins(clock)
        self._limit: RateLimit | None = None
        self._bucket: Bucket | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        config = self._web.config if self._web else _OPEN
        has_begun = False

        async def respond(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(_with_headers(message, config))

        try:
            await self._check(config, scope)
            if scope["method"] == "HEAD":  # RFC 9110, section 9.3.2; uvicorn leaves out the body
                scope = {**scope, "method": "GET"}
            await self._app(scope, _bounded(receive), respond)
        except HTTPException as error:
            await problems.response(error)(scope, receive, respond)
        except Exception as error:  # noqa: BLE001 - the client gets a problem for any error
            # An endpoint's error is logged and answered already; in the middle of a response the connection is closed.
            if not has_begun:
                await problems.response(problems.unexpected(error))(scope, receive, respond)

    async def _check(self, config: WebConfig, scope: Scope) -> None:
        headers = Headers(scope=scope)
        if scope["path"] not in ALWAYS_ANSWERED:
            self._limit_rate(config.rate_limit)
        if config.users:
            user, password = _credentials(headers.getlist("authorization"))
            address = scope["client"][0] if scope["client"] else ""
            if not await self._logins.verify(config.users, address, user, password):
                raise HTTPException(HTTPStatus.UNAUTHORIZED, "this is no user's name and password", _REALM)
        elif scope["scheme"] == "http":
            # Else the browser has no login for a name that is not ours, or the certificate does not match it.
            self._names.require(headers)
        self._names.refuse_other_sites(scope["method"], headers)
        if "content-length" in headers and "transfer-encoding" in headers:
            # A proxy before this may take the other one, and a body for the next request (RFC 9112, section 6.3).
            raise HTTPException(HTTPStatus.BAD_REQUEST, "a body has one length", {"Connection": "close"})
        if int(headers.get("content-length", 0)) > LONGEST_BODY:  # h11 lets nothing but a number through
            raise _too_long()

    def _limit_rate(self, limit: RateLimit | None) -> None:
        """Apply the limit of the web configuration, which may have changed."""
        if limit != self._limit:
            self._limit = limit
            self._bucket = Bucket(limit.burst, 1 / limit.interval, self._clock) if limit and limit.interval else None
        if self._bucket is not None:
            if wait := self._bucket.wait():
                raise too_often("there is a limit on requests (rate_limit of the web configuration)", wait)
            self._bucket.take()


def _with_headers(message: Message, config: WebConfig) -> Message:
    """A message of a response; its start has the security headers, and those of the web configuration."""
    if message["type"] == "http.response.start":
        headers = MutableHeaders(scope=message)
        for name, value in SECURITY_HEADERS.items():
            headers.setdefault(name, value)
        headers.update(dict(config.headers.configured()))
    return message


def _credentials(sent: list[str]) -> tuple[str, bytes]:
    """User and password of basic authentication (RFC 7617)."""
    scheme, _, written = (sent[0] if len(sent) == 1 else "").partition(" ")
    if scheme.lower() != "basic":
        raise HTTPException(HTTPStatus.UNAUTHORIZED, "log in with a user's name and password", _REALM)
    try:
        user, colon, password = base64.b64decode(written.strip(), validate=True).partition(b":")
    except (binascii.Error, ValueError):
        colon = b""
    if not colon:
        raise HTTPException(HTTPStatus.UNAUTHORIZED, "this is no basic authentication (RFC 7617)", _REALM)
    return user.decode("utf-8", "surrogateescape"), password


def _bounded(receive: Receive) -> Receive:
    """Receive a body of limited length. Starlette's own limit answers in plain text."""
    length = 0

    async def receive_part() -> Message:
        nonlocal length
        message = await receive()
        length += len(message.get("body", b""))
        if length > LONGEST_BODY:
            raise _too_long()
        return message

    return receive_part


def _too_long() -> HTTPException:
    return HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request brings {LONGEST_BODY:,} bytes at most")
