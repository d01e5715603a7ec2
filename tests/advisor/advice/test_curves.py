"""Kept miss curves: when one is worked out, who waits for it, and when it is outdated."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from advisor.advice.curves import SCHEDULE, Curves
from advisor.observe.window import Window
from advisor.pool.curve import MissCurve
from advisor.pool.errors import Unanswerable
from advisor.pool.fitting import Loads
from tests.advisor.advice.watching import Watched
from tests.advisor.advice.workers import HeldWorker
from tests.advisor.building import snapshot, variables
from tests.advisor.curves import curve
from tests.waiting import until

LONGEST = 3600.0
INTERVAL = 60


class CurveWorker(HeldWorker):
    """Answers each question with another curve, while it is free."""

    async def ask(self, question: Callable[[Loads], Any], *, background: bool = False) -> Any:
        del question
        return await super().ask(lambda _: curve(), background=background)


class Watch:
    """A server that is watched, minute by minute."""

    def __init__(self, longest: float = LONGEST) -> None:
        self.source, self.worker, self.longest, self.now, self.pct = Watched(), CurveWorker(), longest, 1000.0, "37"
        self.curves = Curves(self.source, self.worker, longest, clock=lambda: self.now)
        self.collect()

    @property
    def window(self) -> Window:
        return Window.of(self.source.history, self.longest)

    def collect(self) -> None:
        """Take a snapshot."""
        self.source.history.append(snapshot(self.now, variables=variables(innodb_old_blocks_pct=self.pct)))

    def watch(self, seconds: int) -> None:
        """Let time pass, with a collection a minute, and nobody who looks at the curve."""
        for _ in range(seconds // INTERVAL):
            self.now += INTERVAL
            self.collect()

    async def keep_for(self, seconds: int) -> int:
        """The curves that are worked out meanwhile, by what the service does each second."""
        before = len(self.worker.asked)
        for _ in range(seconds // INTERVAL):
            self.watch(INTERVAL)
            self.curves.begin(self.window)
            for _ in range(6):  # until it is there
                await asyncio.sleep(0)
        return len(self.worker.asked) - before

    async def ask(self, longest: float = LONGEST) -> MissCurve:
        return await self.curves.asked(Window.of(self.source.history, longest), longest)

    def last(self) -> MissCurve | None:
        return self.curves.last(self.window)


@pytest.fixture
def watched() -> Watch:
    return Watch()


async def test_a_curve_is_there_after_five_minutes_grows_with_the_window_and_then_rests_for_an_hour(
    watched: Watch,
) -> None:
    assert await watched.keep_for(240) == 0
    assert watched.last() is None
    assert await watched.keep_for(3600) == 3  # of windows of 5, 20 and 57 minutes
    assert watched.last() is not None
    assert await watched.keep_for(8 * 3600) == 8
    assert all(watched.worker.asked)  # in the background


async def test_an_answer_is_fresh_for_five_minutes(watched: Watch) -> None:
    watched.watch(1200)
    first = await watched.ask()
    watched.watch(240)
    assert await watched.ask() is first
    watched.watch(60)
    assert await watched.ask() is not first
    assert watched.worker.asked == [False, False]


async def test_what_was_worked_out_in_the_background_answers_too(watched: Watch) -> None:
    await watched.keep_for(300)
    assert await watched.ask() is watched.last()
    assert watched.worker.asked == [True]


async def test_a_curve_of_a_much_shorter_window_is_not_fresh(watched: Watch) -> None:
    watched.watch(60)
    first = await watched.ask()
    watched.watch(120)
    assert await watched.ask() is first
    watched.watch(60)
    assert await watched.ask() is not first


async def test_each_window_has_its_own_curve_and_scrapes_get_the_whole_ones(watched: Watch) -> None:
    watched.watch(1200)
    short = await watched.ask(600.0)
    assert watched.last() is None
    whole = await watched.ask()
    assert await watched.ask(600.0) is short
    assert watched.last() is whole
    for longest in (100.0, 200.0, 300.0):
        await watched.ask(longest)
    assert await watched.ask() is whole
    assert await watched.ask(600.0) is not short


@pytest.mark.parametrize("event", ["setting", "restart", "gap"])
async def test_an_interruption_outdates_the_curve_and_a_new_one_comes_after_five_minutes(
    watched: Watch, event: str
) -> None:
    await watched.keep_for(3600)
    assert watched.last() is not None
    watched.now += {"setting": INTERVAL, "restart": INTERVAL, "gap": 600}[event]
    if event == "restart":
        watched.source.history.append(snapshot(watched.now, status={"uptime": 5.0}))
        assert watched.last() is None
        return
    watched.pct = "80" if event == "setting" else watched.pct
    watched.collect()
    assert watched.last() is None
    assert await watched.keep_for(240) == 0
    assert await watched.keep_for(60) == 1
    assert watched.last() is not None


async def test_a_curve_of_settings_that_changed_meanwhile_is_not_kept(watched: Watch) -> None:
    watched.watch(600)
    watched.worker.free.clear()
    asked = asyncio.create_task(watched.ask())
    await until(lambda: watched.worker.asked)
    watched.pct = "80"
    watched.watch(INTERVAL)
    watched.worker.free.set()
    assert await asked is not await watched.ask()
    assert len(watched.worker.asked) == 2


async def test_requests_at_the_same_time_share_a_curve(watched: Watch) -> None:
    watched.watch(600)
    assert len(set(map(id, await asyncio.gather(*(watched.ask() for _ in range(5)))))) == 1
    assert watched.worker.asked == [False]


async def test_a_request_waits_for_a_curve_under_way_which_goes_on_without_it(watched: Watch) -> None:
    watched.watch(600)
    watched.worker.free.clear()
    watched.curves.begin(watched.window)
    first, second = (asyncio.create_task(watched.ask()) for _ in range(2))
    await until(lambda: watched.worker.asked)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    watched.worker.free.set()
    assert await second is watched.last()
    assert watched.worker.asked == [True]


async def test_a_failure_is_the_answer_until_something_new_was_collected(watched: Watch) -> None:
    watched.watch(120)
    watched.worker.failure = Unanswerable("reads", "nothing explains it")
    for _ in range(3):
        with pytest.raises(Unanswerable, match="nothing explains it") as raised:
            await watched.ask()
        assert raised.value.lacks == "reads"
    assert len(watched.worker.asked) == 1
    assert watched.last() is None
    watched.watch(INTERVAL)
    watched.worker.failure = None
    assert await watched.ask() is watched.last()


@pytest.mark.parametrize("failure", [Unanswerable("reads", "nothing explains it"), ZeroDivisionError()])
async def test_failures_that_nobody_asked_for_rest_as_curves_do(
    watched: Watch, caplog: pytest.LogCaptureFixture, failure: Exception
) -> None:
    watched.worker.failure = failure
    await watched.keep_for(2 * 3600)
    assert await watched.keep_for(2 * 3600) == 2
    assert ("no miss curve" in caplog.text) is isinstance(failure, ZeroDivisionError)
    with pytest.raises(Unanswerable):
        await watched.ask()


async def test_a_short_history_is_enough_where_it_cannot_be_longer() -> None:
    watched = Watch(longest=120.0)
    assert await watched.keep_for(240) == 1


def test_a_curve_that_takes_long_rests_longer() -> None:
    assert SCHEDULE.rest_after(0.1) == 3600.0
    assert SCHEDULE.rest_after(3.0) == pytest.approx(4 * 3600.0)
