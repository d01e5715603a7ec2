"""Work that is done once for all concurrent callers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")


class SingleFlight(Generic[Result]):
    """All callers while the work is under way get the same result or error."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, Result]]) -> None:
        self._work = work
        self._task: asyncio.Task[Result] | None = None

    @property
    def under_way(self) -> bool:
        """Whether the work is being done."""
        return self._task is not None

    async def join(self) -> Result:
        """The result. A caller that is cancelled does not cancel the work."""
        if self._task is None:
            self._task = asyncio.create_task(self._work())
            self._task.add_done_callback(self._done)
        return await asyncio.shield(self._task)

    def _done(self, task: asyncio.Task[Result]) -> None:
        self._task = None
        if not task.cancelled():
            task.exception()  # marked as retrieved: there may be no caller left

    async def cancel(self) -> None:
        """Cancel the work."""
        await cancelled(self._task)


async def cancelled(task: asyncio.Task[Any] | None) -> None:
    """Cancel a task, and wait for its end."""
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
