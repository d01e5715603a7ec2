"""A value that is computed once for all who want it, and then rests."""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


def core_seconds() -> float:
    """CPU time that this process and its ended children took so far, in seconds."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Refreshed(Generic[Value]):
    """A value that is computed now and then, once for all who want it.

    Whoever asks while it is computed gets the same value or the same error. A computation that ``begin`` started goes
    on by itself; one that ``get`` started is cancelled when its last caller goes away. Afterwards the value rests, so
    that it takes a bounded share of a core.

    Attributes:
        value: The last one; None before the first.
        failure: Why the last computation failed; None after one that did not.
        computed_at: When the last computation ended, by the clock.
        rests_until: When the next one is due, by the clock.
        unasked: Whether the computation under way was begun by ``begin``.
    """

    def __init__(
        self,
        compute: Callable[[], Coroutine[Any, Any, Value]],
        *,
        rest: Callable[[float], float] = lambda _: 0.0,
        clock: Callable[[], float] = time.monotonic,
        core: Callable[[], float] = core_seconds,
    ) -> None:
        """Nothing is computed yet.

        Args:
            compute: Computes the value.
            rest: Seconds to rest after a computation, from the seconds of a core that the process took meanwhile. That
                is an upper bound of what the computation took.
            clock: Seconds, monotonic.
            core: CPU seconds so far.
        """
        self._compute, self._rest, self._clock, self._core = compute, rest, clock, core
        self._task: asyncio.Task[Value] | None = None
        self._callers = 0
        self.unasked = False
        self.forget()

    @property
    def under_way(self) -> bool:
        """Whether it is computed now."""
        return self._task is not None

    @property
    def rested(self) -> bool:
        """Whether the rest is over."""
        return self._clock() >= self.rests_until

    @property
    def age(self) -> float:
        """Seconds since the last computation; infinite before the first."""
        return self._clock() - self.computed_at

    def begin(self) -> None:
        """Compute it, whether anybody waits or not; what is under way goes on."""
        self._start(unasked=True)

    async def get(self, max_age: float = 0.0) -> Value:
        """The value, computed anew unless it is younger than ``max_age`` seconds. Raises its error."""
        if self.value is not None and self.failure is None and self.age < max_age:
            return self.value
        task = self._start(unasked=False)
        self._callers += 1
        try:
            return await asyncio.shield(task)
        finally:
            if task is self._task:
                self._callers -= 1
                if not self._callers and not self.unasked:
                    self.cancel()

    async def join(self) -> None:
        """Wait for what is under way, be it a success or a failure."""
        if self._task is not None:
            await asyncio.wait([self._task])

    def cancel(self) -> None:
        """End the computation under way, and keep the value."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def close(self) -> None:
        """End the computation under way, and wait for its end."""
        task = self._task
        self.cancel()
        if task is not None:
            await asyncio.wait([task])

    def forget(self) -> None:
        """End the computation under way, and forget the value and the rest."""
        self.cancel()
        self.value: Value | None = None
        self.failure: BaseException | None = None
        self.computed_at = self.rests_until = float("-inf")

    def _start(self, *, unasked: bool) -> asyncio.Task[Value]:
        self.unasked = unasked or (self._task is not None and self.unasked)
        if self._task is None:
            self._callers = 0
            began = self._core()
            self._task = asyncio.create_task(self._compute())
            self._task.add_done_callback(lambda task: self._end(task, began))
        return self._task

    def _end(self, task: asyncio.Task[Value], began: float) -> None:
        if not task.cancelled():
            task.exception()  # marked as retrieved: there may be no caller left
        if task is not self._task:
            return
        self._task = None
        if not task.cancelled():
            self.failure = task.exception()
            if self.failure is None:
                self.value = task.result()
            self.computed_at = self._clock()
            self.rests_until = self.computed_at + self._rest(self._core() - began)
