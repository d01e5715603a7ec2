"""Kept miss curves: when one is worked out, who waits for it, and when it is forgotten."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from advisor.advice.curves import FRESH_SECONDS, REST_SECONDS, Curves
from advisor.advice.turns import Turns
from advisor.observe.window import Window
from advisor.pool.curve import TIMES, Curve
from advisor.pool.errors import Unanswerable
from exporter.snapshot import Snapshot
from tests.advisor.building import snapshot, variables
from tests.advisor.curves import curve
from tests.waiting import DEADLINE

LONGEST = 3600.0
INTERVAL = 60


@dataclass
class Model:
    """Stands for the estimate; each takes as many seconds of a core as the test wants.

    Attributes:
        asked: The newest snapshot's time and the longest window of each estimate.
        wait: Called before the answer.
    """

    now: float = 1000.0
    core: float = 0.0
    cost: float = 0.5
    asked: list[tuple[float, float]] = field(default_factory=list)
    failure: Exception | None = None
    wait: Callable[[], object] = lambda: None

    def __call__(
        self,
        history: Sequence[Snapshot],
        longest: float,
        times: Sequence[float],
        check_time: Callable[[], None],
    ) -> Curve:
        assert tuple(times) == TIMES
        self.asked.append((history[-1].at, longest))
        self.wait()
        check_time()
        self.core += self.cost
        check_time()
        if self.failure:
            raise self.failure
        return curve(at=history[-1].at, seconds=Window.of(history, longest).seconds)


class Watch:
    """A server that is watched, second by second."""

    def __init__(self, model: Model, longest: float = LONGEST) -> None:
        self.model, self.turns, self.questions = model, Turns(), asyncio.Lock()
        self.remembered: list[tuple[float, Curve | None]] = []  # the window's end, and its curve
        self.curves = Curves(
            longest,
            self.turns,
            self.questions,
            estimate=model,
            remember=lambda window, curve: self.remembered.append((window.latest.at, curve)),
            clock=lambda: model.now,
            core=lambda: model.core,
        )
        self.longest = longest
        self.history: deque[Snapshot] = deque(maxlen=round(longest) // INTERVAL + 1)
        self.pct = "37"
        self.watch(0)

    @property
    def window(self) -> Window:
        return Window.of(self.history, self.longest)

    def watch(self, seconds: int) -> None:
        """Let time pass, with a collection a minute, and nobody who looks at the curve."""
        for _ in range(max(1, seconds // INTERVAL)):
            at = self.model.now + INTERVAL if self.history else self.model.now
            self.model.now = at
            self.history.append(snapshot(at, variables=variables(innodb_old_blocks_pct=self.pct)))

    async def keep(self) -> None:
        """What the service does each second, until the curve is there."""
        self.curves.keep(self.window, self.history)
        await self.curves.wait()

    async def keep_for(self, seconds: int) -> int:
        """The curves that are worked out meanwhile."""
        before = len(self.model.asked)
        for _ in range(seconds // INTERVAL):
            self.watch(INTERVAL)
            await self.keep()
        return len(self.model.asked) - before

    async def ask(self, longest: float = LONGEST) -> Curve:
        self.curves.look(self.window)
        return await self.curves.asked(Window.of(self.history, longest), self.history, longest)

    def kept(self) -> Curve | None:
        return self.curves.kept(self.window)


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def watched(model: Model) -> Watch:
    return Watch(model)


async def test_a_curve_is_there_after_five_minutes_grows_with_the_window_and_then_rests_for_an_hour(
    watched: Watch,
) -> None:
    assert await watched.keep_for(240) == 0
    assert watched.kept() is None
    assert await watched.keep_for(3600) == 3  # of windows of 5, 20 and 57 minutes
    found = watched.kept()
    assert found is not None
    assert found.seconds == pytest.approx(3420.0)
    assert await watched.keep_for(8 * 3600) == 8


async def test_each_hour_is_remembered_with_its_curve_or_without_one(watched: Watch) -> None:
    await watched.keep_for(4 * 3600)
    assert [at for at, _ in watched.remembered] == [at for at, _ in watched.model.asked]
    assert all(curve is not None and curve.at == at for at, curve in watched.remembered)
    watched.model.failure = Unanswerable("curve", "nothing explains it")
    await watched.keep_for(2 * 3600)
    assert [curve for _, curve in watched.remembered[-2:]] == [None, None]
    before = len(watched.remembered)
    with pytest.raises(Unanswerable):
        await watched.ask(900.0)
    assert len(watched.remembered) == before  # a question about another window is none of an hour


@pytest.mark.parametrize(("cost", "most"), [(0.7, 9), (1.5, 5), (3.0, 3)])
async def test_curves_that_nobody_asked_for_take_a_second_of_a_core_an_hour_at_most(cost: float, most: int) -> None:
    watched = Watch(Model(cost=cost))
    await watched.keep_for(2 * 3600)
    before = watched.model.core
    assert 0 < await watched.keep_for(9 * 3600) <= most
    assert (watched.model.core - before) / 9 <= 1.0
    assert watched.kept() is not None


async def test_a_scrape_works_nothing_out(watched: Watch) -> None:
    watched.watch(3600)
    assert watched.kept() is None
    assert watched.model.asked == []


async def test_a_request_gets_a_fresh_curve_at_once_and_else_a_new_one_which_scrapes_get_too(watched: Watch) -> None:
    watched.watch(120)  # too short for one that nobody asked for
    first = await watched.ask()
    await watched.keep()
    assert watched.kept() is first
    watched.watch(round(FRESH_SECONDS) - INTERVAL)
    assert await watched.ask() is first
    watched.watch(INTERVAL)
    second = await watched.ask()
    assert second.at > first.at
    assert watched.kept() is second
    assert len(watched.model.asked) == 2
    watched.model.now += REST_SECONDS  # of a recording, which goes nowhere, it stays the last
    assert await watched.ask() is second


async def test_a_curve_of_a_much_shorter_window_is_not_fresh(watched: Watch) -> None:
    watched.watch(60)
    first = await watched.ask()
    watched.watch(120)
    await watched.keep()
    assert await watched.ask() is first
    watched.watch(60)
    assert (await watched.ask()).seconds == 240.0


async def test_each_window_has_its_own_curve_and_scrapes_get_the_whole_ones(watched: Watch) -> None:
    watched.watch(1200)
    short = await watched.ask(600.0)
    assert watched.kept() is None
    whole = await watched.ask()
    assert await watched.ask(600.0) is short
    assert watched.kept() is whole
    for longest in (100.0, 200.0, 300.0):
        await watched.ask(longest)
    assert await watched.ask() is whole
    assert await watched.ask(600.0) is not short
    assert [longest for _, longest in watched.model.asked] == [600.0, LONGEST, 100.0, 200.0, 300.0, 600.0]


@pytest.mark.parametrize("event", ["setting", "restart", "gap"])
async def test_an_interruption_ends_the_curve_and_a_new_one_comes_after_five_minutes(
    watched: Watch, event: str
) -> None:
    await watched.keep_for(3600)
    assert watched.kept() is not None
    match event:
        case "setting":
            watched.pct = "80"
            watched.watch(INTERVAL)
        case "gap":
            watched.model.now += 600.0
            watched.watch(INTERVAL)
        case "restart":
            watched.model.now += INTERVAL
            at = watched.model.now
            watched.history.append(snapshot(at, status={"uptime": 5.0}))
            at += INTERVAL
    assert watched.kept() is None
    watched.curves.keep(watched.window, watched.history)
    if event != "restart":
        assert await watched.keep_for(240) == 0
        assert await watched.keep_for(60) == 1
        assert watched.kept() is not None


async def test_a_curve_of_settings_that_changed_meanwhile_is_not_kept(watched: Watch) -> None:
    watched.watch(600)
    begun, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        assert go_on.wait(DEADLINE)

    watched.model.wait = wait
    asked = asyncio.create_task(watched.ask())
    assert await asyncio.to_thread(begun.wait, DEADLINE)
    watched.pct = "80"
    watched.watch(INTERVAL)
    assert watched.kept() is None
    go_on.set()
    with pytest.raises(Unanswerable, match="changed meanwhile"):
        await asked
    assert watched.kept() is None


async def test_requests_at_the_same_time_share_a_curve(watched: Watch) -> None:
    watched.watch(600)
    assert len(set(map(id, await asyncio.gather(*(watched.ask() for _ in range(5)))))) == 1
    assert len(watched.model.asked) == 1


async def test_a_request_waits_for_a_curve_under_way_and_both_yield_to_a_question(watched: Watch) -> None:
    watched.watch(600)
    begun = threading.Event()
    watched.model.wait = begun.set
    with watched.turns.first():  # somebody asks what if
        watched.curves.keep(watched.window, watched.history)
        assert await asyncio.to_thread(begun.wait, DEADLINE)
        asked = asyncio.create_task(watched.ask())
        for _ in range(10):
            await asyncio.sleep(0)
        assert not asked.done()
        assert watched.kept() is None
    assert await asked is watched.kept()
    assert len(watched.model.asked) == 1


async def test_one_model_at_a_time_answers_those_who_wait(watched: Watch) -> None:
    watched.watch(600)
    async with watched.questions:
        asked = asyncio.create_task(watched.ask())
        for _ in range(10):
            await asyncio.sleep(0)
        assert watched.model.asked == []
    assert await asked is watched.kept()


async def test_what_takes_too_long_is_given_up(watched: Watch) -> None:
    watched.watch(600)
    watched.model.cost = 31.0
    with pytest.raises(Unanswerable, match="it takes more than 30 s of a core"):
        await watched.ask()


async def test_a_failure_is_the_answer_until_something_new_was_collected(watched: Watch) -> None:
    watched.watch(120)
    watched.model.failure = Unanswerable("reads", "nothing explains it")
    for _ in range(3):
        with pytest.raises(Unanswerable, match="nothing explains it") as raised:
            await watched.ask()
        assert raised.value.lacks == "reads"
    assert len(watched.model.asked) == 1
    assert watched.kept() is None
    watched.watch(INTERVAL)
    watched.model.failure = None
    assert await watched.ask() is watched.kept()


async def test_failures_that_nobody_asked_for_rest_as_curves_do(
    watched: Watch, caplog: pytest.LogCaptureFixture
) -> None:
    watched.model.failure = Unanswerable("reads", "nothing explains it")
    await watched.keep_for(2 * 3600)
    assert await watched.keep_for(2 * 3600) == 2
    assert caplog.text == ""
    watched.model.failure = ZeroDivisionError()
    await watched.keep_for(3600)
    assert await watched.keep_for(2 * 3600) == 2
    assert "no miss curve" in caplog.text
    with pytest.raises(ZeroDivisionError):
        await watched.ask()


async def test_a_short_history_is_enough_where_it_cannot_be_longer(model: Model) -> None:
    watched = Watch(model, longest=120.0)
    assert await watched.keep_for(240) == 1
