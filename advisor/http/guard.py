"""Checks before the endpoints: logins, limits on size and rate, other sites; and the headers of every response.

The order matters: the cheapest checks come first, and no body is read before the login.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
from collections.abc import Callable, Iterator
from http import HTTPStatus
from time import monotonic

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from advisor.http import problems
from advisor.http.authentication import Passwords
from advisor.http.browsers import Names
from advisor.http.connections import CROWDED, GONE, SECURITY_HEADERS
from advisor.http.costs import SIDECAR, UNSHARED, Costs
from advisor.http.logins import Crowded, Logins
from advisor.http.problems import MALFORMED
from advisor.http.rate_limits import Bucket, Limit, Rate, retry_after
from advisor.http.web_configuration import RateLimit, WebConfig
from advisor.http.web_settings import WebSettings

LONGEST_BODY = 64 * 1024
"""Bytes of a request body at most."""
AT_ONCE = 64
"""Requests in progress at most; scrapes and probes are always answered."""
MODELS_AT_ONCE = 8
"""Questions to the model, and whatever else keeps a core busy, in progress and waiting at most."""
_REALM = {"WWW-Authenticate": 'Basic realm="innodb-advisor", charset="UTF-8"'}
_OPEN = WebConfig()


class Guard:
    """The application behind the checks.

    Args:
        app: The application.
        web: Logins, headers and a rate limit; None for none of them.
        names: The names that it may be asked under; by default those of a service on a network.
        costs: How often costly requests may be made.
        clock: Seconds, monotonic.
    """

    def __init__(
        self,
        app: ASGIApp,
        web: WebSettings | None = None,
        *,
        names: Names | None = None,
        costs: Costs = SIDECAR,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._app = app
        self._web = web
        self._names = names or Names()
        self._clock = clock
        self._passwords = Passwords()
        self._limit: tuple[RateLimit | None, Bucket | None] = (None, None)
        self._answering = {False: 0, True: 0}  # by whether they keep a core busy
        self._logins = Logins(clock)
        self._kind, self._models = costs.kind, costs.models
        self._costly = {kind: Limit(each, overall, clock) for kind, (each, overall) in costs.rates.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        config = self._web.config if self._web else _OPEN
        began = False

        async def sent(message: Message) -> None:
            nonlocal began
            if message["type"] == "http.response.start":
                began = True
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                headers.update(dict(config.headers.configured()))
            await send(message)

        try:
            await self._answer(config, scope, receive, sent)
        except HTTPException as error:
            await problems.response(error)(scope, receive, sent)
        except Exception as error:  # noqa: BLE001 - the client gets a problem for any error
            # An endpoint's error is logged and answered already; in the middle of a response the connection is closed.
            if not began:
                await problems.unexpected(error)(scope, receive, sent)

    async def _answer(self, config: WebConfig, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        address = scope["client"][0] if scope["client"] else ""
        unshared = scope["path"] in UNSHARED
        if not unshared:
            if scope.get("state", {}).get(CROWDED):
                raise _busy("connections", {"Connection": "close"})
            self._within_rate(config.rate_limit)
        if not config.users and scope["scheme"] == "http":
            # Else the browser has no login for a name that is not ours, or the certificate does not match it.
            self._names.require(headers)
        if config.users:
            gone = scope.get("state", {}).get(GONE, lambda: False)
            await self._log_in(config, address, headers.getlist("authorization"), gone)
        self._names.refuse_other_sites(scope["method"], headers)
        if "content-length" in headers and "transfer-encoding" in headers:
            # A proxy before this may take the other one, and a body for the next request (RFC 9112, section 6.3).
            raise HTTPException(HTTPStatus.BAD_REQUEST, "a body has one length", {"Connection": "close"})
        body: Message = {"type": "http.request", "body": b"", "more_body": False}
        if "content-length" in headers or "transfer-encoding" in headers:
            body = await _whole(headers.get("content-length", ""), receive)
        if unshared:
            await self._app(scope, _once(body, receive), send)
            return
        kind = self._kind(scope)
        with self._place(kind):
            limit = self._sparingly(kind, address)
            state = scope.setdefault("state", {})
            await _while_asked(self._app, scope, body, receive, send)
            if limit is not None and state.get(MALFORMED):
                limit.give_back(address)

    def _within_rate(self, limit: RateLimit | None) -> None:
        """Apply the limit of the web configuration, which counts every request but scrapes and probes."""
        if limit != self._limit[0]:
            rate = Rate(limit.burst, 1 / limit.interval) if limit and limit.interval else None
            self._limit = limit, Bucket(rate, self._clock()) if rate else None
        bucket = self._limit[1]
        if bucket is not None:
            wait = bucket.wait(self._clock())
            if wait:
                raise _too_often("there is a limit on requests (rate_limit of the web configuration)", wait)
            bucket.take()

    async def _log_in(self, config: WebConfig, address: str, sent: list[str], gone: Callable[[], bool]) -> None:
        """Check the login. Wrong ones slow down their own address and user; a right one is always heard."""
        user, password = _credentials(sent)
        if self._passwords.remembered(config.users, user, password):
            return
        # Names of users are few; all others are one.
        who = f"{address} {user}" if user in config.users else address
        try:
            right = await self._logins.verified(who, lambda: self._passwords.verify(config.users, user, password), gone)
        except Crowded:
            raise _too_often("too many attempts to log in", 1.0) from None
        if not right:
            raise HTTPException(HTTPStatus.UNAUTHORIZED, "this is no user's name and password", _REALM)

    @contextlib.contextmanager
    def _place(self, kind: str) -> Iterator[None]:
        """A place among the requests in progress. What keeps a core busy has few of its own, and takes no others."""
        models = kind in self._models
        if self._answering[models] >= (MODELS_AT_ONCE if models else AT_ONCE):
            raise _busy("questions to the model" if models else "requests")
        self._answering[models] += 1
        try:
            yield
        finally:
            self._answering[models] -= 1

    def _sparingly(self, kind: str, address: str) -> Limit | None:
        """Limit the rate of costly requests. Each that is understood counts, however it ends: to refuse it is work."""
        limit = self._costly.get(kind)
        wait = 0.0 if limit is None else limit.take(address)
        if wait:
            raise _too_often("this takes a while to work out, and was asked for very often", wait)
        return limit


async def _while_asked(app: ASGIApp, scope: Scope, body: Message, receive: Receive, send: Send) -> None:
    """Answer, for as long as the client is there: what it no longer waits for is given up."""
    gone, answered = asyncio.Event(), False

    async def sent(message: Message) -> None:
        nonlocal answered
        answered = message["type"] == "http.response.body" and not message.get("more_body")
        await send(message)

    async def gone_by_now() -> Message:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        gone.set()
        if not answered:
            answering.cancel()

    answering = asyncio.ensure_future(app(scope, _once(body, gone_by_now), sent))
    watching = asyncio.create_task(watch())
    try:
        await answering
    except asyncio.CancelledError:
        if not gone.is_set():  # the server stops
            raise
    finally:
        watching.cancel()


def _once(body: Message, then: Receive) -> Receive:
    """Gives a body that is read already, and then what comes next."""
    left = [body]

    async def receive() -> Message:
        return left.pop() if left else await then()

    return receive


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


async def _whole(length: str, receive: Receive) -> Message:
    """The whole body, which must not be too long.

    Starlette's own limit answers in plain text, and does not apply to bodies that no endpoint reads.
    """
    too_long = HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a request brings {LONGEST_BODY:,} bytes at most")
    if length and int(length) > LONGEST_BODY:  # h11 lets nothing but a number through
        raise too_long
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return message
        body += message.get("body", b"")
        if len(body) > LONGEST_BODY:
            raise too_long
        if not message.get("more_body"):
            return {"type": "http.request", "body": bytes(body), "more_body": False}


def _busy(of: str, headers: dict[str, str] | None = None) -> HTTPException:
    return HTTPException(
        HTTPStatus.SERVICE_UNAVAILABLE, f"too many {of} at once; try again", {**retry_after(1), **(headers or {})}
    )


def _too_often(what: str, seconds: float) -> HTTPException:
    return HTTPException(HTTPStatus.TOO_MANY_REQUESTS, f"{what}; try again later", retry_after(seconds))
