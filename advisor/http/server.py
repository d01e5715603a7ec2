"""The HTTP server: listens, and runs until a signal stops it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import ipaddress
import signal
import socket
from collections.abc import Iterator
from typing import Any

from starlette.types import ASGIApp
from uvicorn.config import Config
from uvicorn.server import Server

from advisor.http.connections import HANDSHAKE_SECONDS, Connection
from advisor.http.crowd import Crowd
from advisor.http.web_settings import WebSettings

_BACKLOG = 1024
"""Connections that may wait to be accepted; the kernel drops more, and their clients try again a second later."""
_ACCEPTED = 2
"""Connections that are accepted before the next requests get their turn."""
_KEEP_ALIVE_SECONDS = 75
"""Longer than the time between two scrapes, so that Prometheus keeps its connection."""
_TICKS = 10
"""Of uvicorn in a second: it renews the header Date at every tenth."""


class _Server(Server):
    """uvicorn, which exits cleanly after a signal instead of raising it again, and wakes up once a second."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self._stopping = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept. asyncio takes one number for both; the listeners keep their own backlog."""
        await super().startup(sockets)
        for each in sockets or ():
            each.listen(_BACKLOG)

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
            options |= {"ssl_handshake_timeout": HANDSHAKE_SECONDS, "ssl_shutdown_timeout": HANDSHAKE_SECONDS}
        return super().create_server(*arguments, **options)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; every address for an empty host.

    Raises:
        OSError: The address is in use, or not an address of this machine.
    """
    if not host and socket.has_dualstack_ipv6():
        listener = socket.create_server(("", port), family=socket.AF_INET6, backlog=_BACKLOG, dualstack_ipv6=True)
    else:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family, backlog=_BACKLOG)
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
        http=functools.partial(Connection, crowd=Crowd(), admits=web.admits if web else lambda _: True),  # type: ignore[arg-type]  # is called, as a class is
        ws="none",
        ssl_context_factory=(lambda *_: tls) if tls else None,
        proxy_headers=False,  # headers about the client's address can be forged
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        backlog=_ACCEPTED,
        timeout_graceful_shutdown=5,
    )


def run(app: ASGIApp, listener: socket.socket, web: WebSettings | None = None) -> None:
    """Serve until SIGINT or SIGTERM."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        runner.run(_Server(configured(app, web)).serve(sockets=[listener]))
