"""Wait for an event. There is one deadline for all tests, which no verdict depends on unless something hangs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

T = TypeVar("T")

DEADLINE = 240.0
"""Seconds: a hundred times what any event here takes on an idle machine."""
_PAUSE = 0.02


def wait_for(event: Callable[[], T | None]) -> T:
    """The first true value that ``event`` returns.

    Raises:
        AssertionError: There was none before the deadline.
    """
    end = time.monotonic() + DEADLINE
    while not (value := event()):
        assert time.monotonic() < end, f"it did not happen within {DEADLINE:g} s"
        time.sleep(_PAUSE)
    return value


@overload
async def until(event: Callable[[], Awaitable[T | None]]) -> T: ...
@overload
async def until(event: Callable[[], T | None]) -> T: ...
async def until(event: Callable[[], Any]) -> Any:
    """The same in an event loop, of a function or a coroutine function.

    Raises:
        AssertionError: There was none before the deadline.
    """
    end = asyncio.get_running_loop().time() + DEADLINE
    while True:
        value = event()
        if isinstance(value, Awaitable):
            value = await value
        if value:
            return value
        assert asyncio.get_running_loop().time() < end, f"it did not happen within {DEADLINE:g} s"
        await asyncio.sleep(_PAUSE)
