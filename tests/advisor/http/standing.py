"""An event loop whose time stands still: a limit of ten seconds passes when a test says so, and never by load."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from tests.waiting import DEADLINE


class StandingLoop(asyncio.SelectorEventLoop):
    """Its clock is set by ``passes``. Sockets and threads work as ever."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._threads: set[asyncio.Future[Any]] = set()
        super().__init__()

    def time(self) -> float:
        return self.now

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        future = super().run_in_executor(executor, func, *args)
        self._threads.add(future)
        future.add_done_callback(self._threads.discard)
        return future

    async def settle(self) -> None:
        """Let everything happen that can happen now."""
        quiet = 0
        while quiet < 2:
            if self._threads:
                await asyncio.wait(self._threads)
            await asyncio.sleep(0)
            quiet = 0 if self._ready or self._threads else quiet + 1  # type: ignore[attr-defined]


async def passes(seconds: float = 0.0) -> None:
    """Let so much time pass, and everything happen that is due then."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, StandingLoop)
    await loop.settle()
    loop.now += seconds
    await loop.settle()


async def happens(event: Callable[[], object]) -> None:
    """Wait for an event that needs no time to pass: of a socket, or another thread."""
    end = time.monotonic() + DEADLINE
    while not event():
        assert time.monotonic() < end, f"it did not happen within {DEADLINE:g} s"
        await asyncio.sleep(0)


def still() -> float:
    """A clock that stands still, for what is limited by rate."""
    return 0.0


def loop_time() -> float:
    """The clock of the running loop."""
    return asyncio.get_running_loop().time()
