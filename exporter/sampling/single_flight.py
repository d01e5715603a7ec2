"""Work that is done once however many ask for it meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")


class SingleFlight(Generic[Result]):
    """Single flight: all who ask while it is under way get the one result, or the one error."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, Result]]) -> None:
        self._work = work
        self._task: asyncio.Task[Result] | None = None

    @property
    def under_way(self) -> bool:
        """Whether somebody has asked for it already."""
        return self._task is not None

    async def join(self) -> Result:
        """The result; who gives up waiting does not spoil it for the others."""
        if self._task is None:
            self._task = asyncio.create_task(self._work())
            self._task.add_done_callback(self._landed)
        return await asyncio.shield(self._task)

    def _landed(self, task: asyncio.Task[Result]) -> None:
        self._task = None
        if not task.cancelled():
            task.exception()  # whoever waited has it; nobody may have

    async def end(self) -> None:
        """Break it off."""
        await ended(self._task)


async def ended(task: asyncio.Task[Any] | None) -> None:
    """Cancel a task, and wait until it is over."""
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
