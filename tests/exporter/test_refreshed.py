"""A refreshed value: shared by all who want it, at rest afterwards, cancelled when nobody waits."""

from __future__ import annotations

import asyncio

import pytest

from exporter.refreshed import Refreshed


class Computation:
    """Counts computations, each of which ends when the test lets it, and takes so many seconds of a core."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.begun = self.cancelled = 0
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.failure: Exception | None = None
        self.now = self.core = 0.0
        self.seconds = seconds
        self.refreshed = Refreshed(
            self.compute, rest=lambda seconds: seconds / 0.01, clock=lambda: self.now, core=lambda: self.core
        )

    async def compute(self) -> int:
        self.begun += 1
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        self.core += self.seconds
        if self.failure is not None:
            raise self.failure
        return self.begun


async def rounds() -> None:
    """Let everything go on that can."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_all_who_ask_meanwhile_get_the_same_value() -> None:
    computation = Computation()
    assert await asyncio.gather(*(computation.refreshed.get() for _ in range(3))) == [1, 1, 1]
    assert await computation.refreshed.get() == 2


async def test_all_who_ask_meanwhile_get_the_same_error_and_the_last_value_stays() -> None:
    computation = Computation()
    await computation.refreshed.get()
    computation.failure = ZeroDivisionError()
    errors = await asyncio.gather(*(computation.refreshed.get() for _ in range(3)), return_exceptions=True)
    assert errors == [computation.failure] * 3
    assert (computation.refreshed.value, computation.refreshed.failure) == (1, computation.failure)
    computation.failure = None
    assert await computation.refreshed.get(max_age=60.0) == 3  # a failure is never fresh
    assert computation.refreshed.failure is None


async def test_a_young_value_is_the_answer() -> None:
    computation = Computation()
    await computation.refreshed.get()
    computation.now = 9.9
    assert await computation.refreshed.get(max_age=10.0) == 1
    computation.now = 10.1
    assert await computation.refreshed.get(max_age=10.0) == 2


async def test_it_is_cancelled_when_its_last_caller_goes_away() -> None:
    computation = Computation()
    computation.go_on.clear()
    first, second = (asyncio.create_task(computation.refreshed.get()) for _ in range(2))
    await rounds()
    first.cancel()
    await rounds()
    assert (computation.begun, computation.cancelled) == (1, 0)
    second.cancel()
    await rounds()
    assert (computation.begun, computation.cancelled) == (1, 1)
    computation.go_on.set()
    assert await computation.refreshed.get() == 2


async def test_what_was_begun_goes_on_without_callers() -> None:
    computation = Computation()
    computation.go_on.clear()
    asked = asyncio.create_task(computation.refreshed.get())
    await rounds()
    computation.refreshed.begin()
    asked.cancel()
    await rounds()
    computation.go_on.set()
    await computation.refreshed.join()
    assert (computation.refreshed.value, computation.cancelled) == (1, 0)


async def test_it_rests_by_the_core_that_it_took() -> None:
    computation = Computation(seconds=0.5)
    await computation.refreshed.get()
    assert computation.refreshed.rests_until == pytest.approx(50.0)
    rested = []
    for computation.now in (49.9, 50.1):
        rested.append(computation.refreshed.rested)
    assert rested == [False, True]


async def test_what_is_forgotten_while_it_is_computed_is_never_its_value() -> None:
    computation = Computation()
    computation.go_on.clear()
    computation.refreshed.begin()
    await rounds()
    computation.refreshed.forget()
    computation.go_on.set()
    await rounds()
    assert (computation.refreshed.value, computation.cancelled, computation.refreshed.under_way) == (None, 1, False)
    assert await computation.refreshed.get() == 2
