"""The HTTP server: uvicorn on a listening socket until a signal stops it, with bounds on connections."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import ipaddress
import logging
import signal
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, cast

import h11
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import Server

from advisor.http import problems
from advisor.http.answers import Json
from advisor.http.browsers import SECURITY_HEADERS
from advisor.http.limits import ALWAYS_ANSWERED, retry_after
from advisor.http.web_settings import WebSettings


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of connections. uvicorn's ``limit_concurrency`` is not used: it refuses scrapes and probes, too.

    Attributes:
        connections: Open at once. Each may hold one answer that its client does not take: 128 times 300 KB, a large
            /metrics, leave room in a container of 128 MiB. Prometheus and probes need ten, a browser six.
        backlog: Connections that the kernel holds until they are accepted. It drops more, and their clients try again
            a second later.
        accepted: Connections that are accepted before the next requests get their turn.
        handshake_seconds: For a TLS handshake; asyncio's own limit is a minute.
        grace_seconds: In which a request follows its connection, before others' go first.
        exchange_seconds: For a request to arrive, its answer to be made, and the client to take it. The model is the
            slowest to answer, and has its own limit of 60 s of a core.
        idle_seconds: After an answer. Longer than the time between two scrapes, so that Prometheus keeps its
            connection.
    """

    connections: int = 128
    backlog: int = 1024
    accepted: int = 2
    handshake_seconds: float = 5.0
    grace_seconds: float = 1.0
    exchange_seconds: float = 60.0
    idle_seconds: int = 75


BOUNDS = Bounds()
_TICKS = 10
"""Of uvicorn in a second: it renews the header Date at every tenth."""
_MALFORMED = problems.response(
    HTTPException(HTTPStatus.BAD_REQUEST, "this is no HTTP request, or its header is longer than 16 KiB")
)
_UNANSWERED = problems.response(
    HTTPException(
        HTTPStatus.SERVICE_UNAVAILABLE,
        f"there is no answer after {BOUNDS.exchange_seconds:g} s: all cores are busy; try again later",
        retry_after(BOUNDS.exchange_seconds),
    )
)

log = logging.getLogger(__name__)
log.setLevel(logging.ERROR)  # malformed requests from strangers would fill the log


class Connection(H11Protocol):
    """uvicorn's connection, with a deadline. It ends for a newer one where there are too many.

    Attributes:
        since: When its last exchange began, by the clock of the loop.
    """

    def __init__(self, *arguments: Any, admits: Callable[[Any], bool], **options: Any) -> None:
        """As uvicorn's; ``admits`` checks the client's certificate."""
        super().__init__(*arguments, **options)
        self.logger = log
        self.app = self._answer
        self.since, self._is_idle = 0.0, False
        self._admits = admits
        self._answering: asyncio.Task[None] | None = None
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def address(self) -> str:
        """The client's."""
        return str(self.client and self.client[0])

    @property
    def is_asked(self) -> bool:
        """Whether its client has sent a whole request, and waits for the answer."""
        return bool(self._cycle and not self._cycle.more_body and not self._cycle.response_complete)

    @property
    def is_scraped(self) -> bool:
        """Whether it is asked what is answered in any case."""
        return self.is_asked and self.scope["path"] in ALWAYS_ANSWERED

    @property
    def is_answered(self) -> bool:
        """Whether its client has asked, and waits for no answer."""
        return bool(self._cycle and self._cycle.response_complete)

    @property
    def _cycle(self) -> RequestResponseCycle | None:
        """uvicorn's, which its types leave out that there is none before the first request."""
        return self.cycle

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Accept the connection if its certificate is allowed."""
        super().connection_made(transport)
        tls = transport.get_extra_info("ssl_object")
        if tls is not None and not self._admits(tls.getpeercert()):
            transport.abort()
            return
        self._begin()
        self._make_room()

    def data_received(self, data: bytes) -> None:
        """Receive a part of a request."""
        if self.transport.is_closing():  # it was not accepted
            return
        if self._is_idle:
            self._begin()
        super().data_received(data)

    def on_response_complete(self) -> None:
        """An answer is written. Its client may have begun the next request already, or may be slow to take it."""
        super().on_response_complete()
        self._is_idle = self.is_answered and self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]

    def connection_lost(self, exc: Exception | None) -> None:
        """Give up what nobody waits for any more, and leave nothing behind."""
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)
        if self._answering is not None and not self.is_answered:
            self._answering.cancel()
        self.app = self.config.loaded_app  # without a circle of references the memory is free at once

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - one message for all
        """Answer bytes that are not HTTP."""
        self._end_with(_MALFORMED)

    def _end_with(self, problem: Json) -> None:
        """Close the connection with a problem, unless another answer has begun."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.abort()
            return
        headers = {**SECURITY_HEADERS, **problem.headers, "connection": "close"}
        status = HTTPStatus(problem.status_code)
        for event in (
            h11.Response(status_code=status, headers=list(headers.items()), reason=status.phrase),
            h11.Data(data=bytes(problem.body)),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The application, for as long as the client is there."""
        self._answering = asyncio.current_task()
        try:
            await cast(ASGIApp, self.config.loaded_app)(scope, receive, send)
        except asyncio.CancelledError:
            if not self.transport.is_closing():  # the server stops
                raise

    def _begin(self) -> None:
        """A client has connected, or a request begins."""
        self.since, self._is_idle = self.loop.time(), False
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(BOUNDS.exchange_seconds, self._expire)

    def _expire(self) -> None:
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        elif self.is_asked:
            self._end_with(_UNANSWERED)
        elif not self._is_idle:  # uvicorn closes idle connections
            self.transport.abort()

    def _make_room(self) -> None:
        """Close one connection where there are too many: one of the address that has the most.

        First of those that have waited for no answer for a second: one that has just come may be a scrape whose request
        is on its way. Of these the one goes that has been there longest. None goes that waits for an answer to a scrape
        or a probe: where all do, the new one is closed.
        """
        open_ones = [
            connection
            for connection in cast(set[Connection], self.connections)
            if not connection.transport.is_closing()
        ]
        if len(open_ones) <= BOUNDS.connections:
            return
        candidates = [connection for connection in open_ones if connection is not self and not connection.is_scraped]
        of_address = Counter(connection.address for connection in candidates)
        most = max(of_address.values(), default=0)
        greedy = (connection for connection in candidates if of_address[connection.address] == most)
        came = self.loop.time() - BOUNDS.grace_seconds
        min(greedy, key=lambda one: (one.is_asked or one.since > came, one.since), default=self).transport.abort()


class _UntilSignal(Server):
    """uvicorn, which exits cleanly after a signal instead of raising it again, and wakes up once a second."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._stopping = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept. asyncio takes one number for both; the listeners keep their own backlog."""
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(BOUNDS.backlog)

    async def main_loop(self) -> None:
        """Tick once a second, until it stops; uvicorn's own loop ticks ten times, which takes 0.2 % of a core."""
        seconds = 0
        while not await self.on_tick(_TICKS * seconds):
            seconds += 1
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    await self._stopping.wait()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)

    def _stop(self) -> None:
        self.force_exit = self.should_exit  # a second signal does not wait for open requests
        self.should_exit = True
        self._stopping.set()


class _Loop(asyncio.SelectorEventLoop):
    """Limits TLS handshakes to less than asyncio's minute; uvicorn has no option for it."""

    def create_server(self, *arguments: Any, **options: Any) -> Any:
        if options.get("ssl") is not None:
            seconds = BOUNDS.handshake_seconds
            options |= {"ssl_handshake_timeout": seconds, "ssl_shutdown_timeout": seconds}
        return super().create_server(*arguments, **options)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; every address for an empty host.

    Raises:
        OSError: The address is in use, or not an address of this machine.
    """
    if not host and socket.has_dualstack_ipv6():
        listener = socket.create_server(("", port), family=socket.AF_INET6, backlog=BOUNDS.backlog, dualstack_ipv6=True)
    else:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family, backlog=BOUNDS.backlog)
    # Accepted connections inherit it. Without it, on a connection that is kept open, the body of a response waits 40 ms
    # until the client acknowledges the head. asyncio sets it only if the protocol's number is known; here it is 0.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def is_local(listener: socket.socket) -> bool:
    """Whether only processes of this machine can connect."""
    return ipaddress.ip_address(listener.getsockname()[0]).is_loopback


def configured(app: ASGIApp, web: WebSettings | None = None) -> Config:
    """How uvicorn serves an application; with TLS where the web configuration has it."""
    tls = web and web.listening
    return Config(
        app,
        http=functools.partial(Connection, admits=web.admits if web else lambda _: True),  # type: ignore[arg-type]  # is called, as a class is
        ws="none",
        ssl_context_factory=(lambda *_: tls) if tls else None,
        proxy_headers=False,  # headers about the client's address can be forged
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_keep_alive=BOUNDS.idle_seconds,
        backlog=BOUNDS.accepted,
        timeout_graceful_shutdown=5,
    )


def run(app: ASGIApp, listener: socket.socket, web: WebSettings | None = None) -> None:
    """Serve until SIGINT or SIGTERM."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        runner.run(_UntilSignal(configured(app, web)).serve(sockets=[listener]))
