"""The service: the last advice at once, with its age; a slow model holds nobody."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import httpx
import pytest

from advisor.advice import judgement
from advisor.advice.judgement import Judgement, Options
from advisor.advice.rounds import LONGEST_REST, rest_after
from advisor.advice.service import Service
from advisor.http import app as application
from advisor.observe.source import Replay
from advisor.observe.window import Window
from advisor.pool.errors import Refused
from advisor.rules.check import Rule
from advisor.rules.rulebook import Rulebook
from advisor.rules.suppression import Suppression
from tests.advisor.building import RECORDING, RULES_FOLDER, capture, variables
from tests.waiting import DEADLINE, until

SCAN = "scan-exceeds-old-sublist"


class Live(Replay):
    """A recording that goes on: its snapshots come one by one."""

    def __init__(self, length: int) -> None:
        super().__init__(capture(RECORDING))
        self._all = list(self.history)
        self.show(length)

    def show(self, length: int) -> None:
        self.history = self._all[:length]


class Bench:
    """A judge whose rules with a model take as long as the test wants, and a clock for them."""

    def __init__(self) -> None:
        self.now, self.cost = 100.0, 0.0
        self.rounds: list[tuple[bool, float, Options]] = []
        self.fitting, self.fitted = threading.Event(), threading.Event()
        self.fitted.set()

    def judge(self, rules: Sequence[Rule], window: Window, options: Options) -> Iterator[Judgement]:
        models = any(rule.file.choose for rule in rules)
        if models and not options.models:  # whether one has to be asked
            yield from judgement.judge(rules, window, options)
            return
        self.rounds.append((models, window.latest.at, options))
        if models:
            self.fitting.set()
            assert self.fitted.wait(DEADLINE)
            options.pause()
        self.now += self.cost
        yield from judgement.judge(rules, window, options)

    def clock(self) -> float:
        return self.now


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.fitted.set()


def service_of(source: Replay, bench: Bench) -> Service:
    return Service(source, Rulebook(RULES_FOLDER), judge=bench.judge, clock=bench.clock, now=bench.clock)


async def test_the_last_advice_is_there_at_once_with_its_age_while_a_model_is_fitted(bench: Bench) -> None:
    source = Live(4)
    service = service_of(source, bench)
    complete = await service.assessment()
    assert complete is not None
    first = complete.advice
    [found] = [each for each in first.recommendations if each.rule == SCAN]
    assert found.judged_at == first.at == source.history[3].at
    bench.fitted.clear()
    source.show(5)
    bench.now += LONGEST_REST
    second = await service.fresh_advice()
    assert not bench.fitted.is_set()
    assert second.at == source.history[4].at  # the rules without a model have seen it
    [still] = [each for each in second.recommendations if each.rule == SCAN]
    assert still.judged_at == first.at  # the others have not
    assert second.computed_at == bench.now
    bench.now += 7.0
    assert (await service.fresh_advice()).age_seconds == 7.0
    bench.fitted.set()
    await asyncio.sleep(0)


async def test_rules_without_a_model_are_there_while_the_first_model_is_fitted(bench: Bench) -> None:
    bench.fitted.clear()
    service = service_of(Live(6), bench)
    found = await until(lambda: service.assessment(patience=0.02))
    waiting = {each.rule for each in found.advice.blind if each.lacks == "time"}
    assert SCAN in waiting
    assert found.states["warmup-disabled"].state == "silent"
    bench.fitted.set()
    complete = await service.assessment()
    assert complete is not None
    assert complete.states[SCAN].state == "firing"
    assert complete.advice.next_at is None  # a recording has no newer snapshot


async def test_a_slow_model_holds_no_scrape_no_question_and_no_other_window(bench: Bench) -> None:
    bench.fitted.clear()
    service = Service(Live(6), Rulebook(RULES_FOLDER), judge=bench.judge)
    transport = httpx.ASGITransport(application.create(service), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://sidecar") as client:
        assert "innodb_advisor_rule_blind" in (await client.get("/metrics")).text
        assert bench.fitting.is_set()
        asked = {"set": {"innodb_old_blocks_pct": 80}}
        assert (await client.post("/whatif", json=asked)).status_code == 200
        assert (await client.get("/healthz")).text == "ok\n"
        assert not bench.fitted.is_set()
    bench.fitted.set()


async def test_a_model_in_the_background_yields_to_a_question() -> None:
    asked, answered, order = threading.Event(), threading.Event(), []

    def judge(rules: Sequence[Rule], window: Window, options: Options) -> Iterator[Judgement]:
        if any(rule.file.choose for rule in rules):
            assert asked.wait(DEADLINE)
            options.pause()
            order.append("background")
        return iter(judgement.judge((), window, options))

    def model(*_: object) -> NoReturn:
        asked.set()
        answered.wait(0.2)  # the background could go on meanwhile
        order.append("question")
        raise Refused("enough")

    service = Service(Live(6), Rulebook(RULES_FOLDER), judge=judge, model=model)
    await service.assessment(patience=0.0)
    with pytest.raises(Refused):
        await service.what_if({}, None)
    await service.assessment()
    assert order == ["question", "background"]


async def test_what_a_change_of_settings_outdates_is_called_off(bench: Bench) -> None:
    bench.fitted.clear()
    source = Live(6)
    history = list(source.history)
    source.show(4)
    service = service_of(source, bench)
    await service.assessment(patience=0.0)
    assert await asyncio.to_thread(bench.fitting.wait, DEADLINE)
    followed = variables(innodb_old_blocks_pct="80")
    changed = [replace(each, sections={**each.sections, "variables": followed}) for each in history[4:]]
    source.history = [*history[:4], *changed]
    waiting = asyncio.create_task(service.assessment())
    await asyncio.sleep(0)
    bench.fitted.set()
    found = await waiting
    assert found is not None
    assert found.advice.watched_seconds < 2
    assert found.advice.recommendations == ()


async def test_an_evaluation_rests_by_what_it_took() -> None:
    assert rest_after(0.01, 60.0) == pytest.approx(0.99)  # 1 % of a core
    assert rest_after(0.01, 600.0) == pytest.approx(3.99)
    assert rest_after(0.5, 60.0) == pytest.approx(49.5)
    assert rest_after(2.0, 60.0) == rest_after(0.5, 600.0) == LONGEST_REST
    assert rest_after(10.0, 600.0) == pytest.approx(90.0)  # a tenth


async def test_a_snapshot_is_evaluated_once_and_other_windows_are_remembered(bench: Bench) -> None:
    source = Live(5)
    service = service_of(source, bench)
    for _ in range(3):
        await service.advice()
    assert [each[:2] for each in bench.rounds] == [(False, source.history[4].at), (True, source.history[4].at)]
    assert all(options.recent for _, _, options in bench.rounds)
    for seconds in (3.0, 4.0, 5.0, 3.0, 4.0, 5.0):
        await service.advice(seconds)
    assert len(bench.rounds) == 8
    assert not any(options.recent for _, _, options in bench.rounds[2:])
    await service.advice(6.0)
    await service.advice(3.0)  # forgotten
    assert len(bench.rounds) == 12


async def test_rules_that_are_loaded_again_unchanged_are_not_judged_again(bench: Bench, tmp_path: Path) -> None:
    suppressed: list[Suppression] = []
    book = Rulebook(RULES_FOLDER, tmp_path, lambda: suppressed)
    service = Service(Live(5), book, judge=bench.judge, clock=bench.clock, now=bench.clock)
    first = await service.advice()
    assert first is not None
    await service.reload()
    again = await service.advice_by_now()
    assert again is not None
    assert [each.rule for each in again.recommendations] == [each.rule for each in first.recommendations]
    suppressed.append(Suppression(rule=SCAN))
    await service.reload()
    without = await service.advice_by_now()
    assert without is not None
    assert SCAN not in [each.rule for each in without.recommendations]
    assert len(bench.rounds) == 2
    another_rule(tmp_path)
    await service.reload()
    await service.advice()
    assert len(bench.rounds) == 4


def another_rule(folder: Path) -> None:
    """A built-in rule with another title, among a user's own."""
    name = "warmup-disabled.yaml"
    text = (RULES_FOLDER / name).read_text(encoding="utf-8")
    (folder / name).write_text(re.sub(r"(?m)^title: .*", "title: Another title", text), encoding="utf-8")


async def test_what_was_found_stands_over_new_rules(bench: Bench, tmp_path: Path) -> None:
    service = Service(Live(6), Rulebook(RULES_FOLDER, tmp_path), judge=bench.judge, clock=bench.clock, now=bench.clock)
    first = await service.advice()
    another_rule(tmp_path)
    await service.reload()
    await service.advice()
    assert len(bench.rounds) == 4
    assert first is not None
    found = {each.fingerprint for each in first.recommendations}
    assert found <= {
        key for _, _, options in bench.rounds[-2:] for each in options.before.values() for key in each.standing
    }


async def test_an_evaluation_that_fails_is_an_error_at_first_and_later_leaves_the_last_advice(bench: Bench) -> None:
    broken = True

    def judge(rules: Sequence[Rule], window: Window, options: Options) -> Iterator[Judgement]:
        if broken:
            raise ZeroDivisionError
        return bench.judge(rules, window, options)

    source = Live(5)
    service = Service(source, Rulebook(RULES_FOLDER), judge=judge, clock=bench.clock, now=bench.clock)
    with pytest.raises(ZeroDivisionError):
        await service.advice()
    assert await service.advice_by_now() is None
    broken, bench.now = False, bench.now + LONGEST_REST
    first = await service.advice()
    broken, bench.now = True, bench.now + LONGEST_REST
    source.show(6)
    last = await service.advice()
    assert first is not None
    assert last is not None
    assert last.at == first.at
