"""The service: the last advice at once, with its age; a slow model holds nobody."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import httpx
import pytest

from advisor.advice.evaluation_loop import EARLY_REST, REST, rest_of
from advisor.advice.model_worker import ModelWorker
from advisor.advice.service import Service
from advisor.http import app as application
from advisor.pool.errors import Unanswerable
from advisor.pool.fitting import Loads
from advisor.rules.configuration import Suppression
from advisor.rules.rulebook import Rulebook
from tests.advisor.advice.watching import Watched, rulebook
from tests.advisor.advice.workers import HeldWorker
from tests.advisor.building import RULES_FOLDER, variables
from tests.waiting import until

Answer = TypeVar("Answer")

SCAN = "scan-exceeds-old-sublist"


class Held:
    """A service on a server whose snapshots come one by one, with a worker and a clock in the test's hands."""

    def __init__(self, shown: int = 6, rules: Rulebook | None = None) -> None:
        self.source, self.worker, self.now = Watched(shown), HeldWorker(), 100.0
        self.service = Service(
            self.source, rules or rulebook(), worker=self.worker, clock=lambda: self.now, now=lambda: self.now
        )

    def rest(self) -> None:
        """Let the longest rest pass."""
        self.now += REST.longest


async def test_the_last_advice_is_there_at_once_with_its_age_while_a_model_is_fitted() -> None:
    held = Held(4)
    first = (await held.service.assessment()).advice
    [finding] = [finding for finding in first.recommendations if finding.rule == SCAN]
    assert finding.judged_at == first.at == held.source.history[3].at
    held.worker.free.clear()
    held.source.show()
    held.rest()
    second = (await held.service.assessment()).advice
    assert second.at == held.source.history[4].at  # the rules without a model have seen it
    [still] = [finding for finding in second.recommendations if finding.rule == SCAN]
    assert still.judged_at == first.at  # the others have not
    assert second.computed_at == held.now
    held.now += 7.0
    assert (await held.service.assessment()).advice.age_seconds == 7.0


async def test_rules_without_a_model_are_there_while_the_first_model_is_fitted() -> None:
    held = Held()
    held.worker.free.clear()
    first = await until(held.service.first_verdict)
    assert SCAN in {blind.rule for blind in first.advice.blind if blind.lacks == "time"}
    assert first.states["warmup-disabled"].state == "silent"
    held.worker.free.set()
    assert (await held.service.assessment()).states[SCAN].state == "firing"


async def test_a_slow_model_holds_no_scrape_and_no_question() -> None:
    held = Held()
    held.worker.free.clear()
    service = Service(held.source, rulebook(), worker=Background(held.worker))
    transport = httpx.ASGITransport(application.create(service), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://sidecar") as client:
        assert "innodb_advisor_rule_blind" in (await client.get("/metrics")).text
        assert held.worker.asked
        asked = {"set": {"innodb_old_blocks_pct": 80}}
        assert (await client.post("/whatif", json=asked)).status_code == 200
        assert (await client.get("/advise?window=5")).status_code == 200
        assert (await client.get("/healthz")).text == "ok\n"


class Background(ModelWorker):
    """Readers get their answers; what the sidecar does by itself is held."""

    def __init__(self, held: HeldWorker) -> None:
        super().__init__()
        self._held = held

    async def ask(self, question: Callable[[Loads], Answer], *, background: bool = False) -> Answer:
        return await (self._held.ask(question, background=True) if background else super().ask(question))


async def test_what_a_change_of_settings_outdates_is_ended() -> None:
    held = Held(4)
    held.worker.free.clear()
    await held.service.first_verdict()
    await until(lambda: held.worker.asked)
    followed = variables(innodb_old_blocks_pct="80")
    held.source.history += [
        replace(snapshot, sections={**snapshot.sections, "variables": followed}) for snapshot in held.source.all[4:6]
    ]
    held.worker.free.set()
    advice = (await held.service.assessment()).advice
    assert advice.watched_seconds < 2
    assert advice.recommendations == ()


def test_an_evaluation_rests_by_what_it_took() -> None:
    assert rest_of(60.0) is EARLY_REST
    assert rest_of(600.0) is REST
    assert EARLY_REST.after(0.01) == pytest.approx(0.99)  # 1 % of a core
    assert EARLY_REST.after(0.5) == pytest.approx(49.5)
    assert EARLY_REST.after(2.0) == EARLY_REST.longest
    assert REST.after(0.01) == pytest.approx(19.99)
    assert REST.after(1.0) == REST.longest
    assert EARLY_REST.after(10.0) == pytest.approx(90.0)  # a tenth
    assert REST.after(50.0) == pytest.approx(450.0)


async def test_a_snapshot_is_judged_once_and_other_windows_are_remembered() -> None:
    held = Held(5)
    whole = await held.service.assessment()
    held.rest()
    assert (await held.service.assessment()).trace is whole.trace
    assert held.worker.asked == [True]
    seen = {seconds: await held.service.assessment(seconds) for seconds in (3.0, 4.0, 5.0)}
    held.rest()
    for seconds, assessment in seen.items():
        assert (await held.service.assessment(seconds)).trace is assessment.trace
    assert held.worker.asked == [True, False, False, False]
    await held.service.assessment(6.0)
    await held.service.assessment(3.0)  # forgotten
    assert len(held.worker.asked) == 6


async def test_another_window_is_judged_anew_after_its_rest() -> None:
    held = Held(5)
    first = await held.service.assessment(5.0)
    held.source.show()
    assert (await held.service.assessment(5.0)).trace is first.trace
    held.rest()
    second = (await held.service.assessment(5.0)).advice
    assert (second.at, second.age_seconds) == (held.source.history[-1].at, 0.0)


async def test_rules_that_are_loaded_again_unchanged_are_not_judged_again(tmp_path: Path) -> None:
    suppressed: list[Suppression] = []
    rules = Rulebook(RULES_FOLDER, tmp_path, lambda: suppressed)
    held = Held(5, rules)
    first = (await held.service.assessment()).advice
    rules.reload()
    again = (await held.service.assessment()).advice
    assert [finding.rule for finding in again.recommendations] == [finding.rule for finding in first.recommendations]
    suppressed.append(Suppression(rule=SCAN))
    rules.reload()
    without = (await held.service.assessment()).advice
    assert SCAN not in [finding.rule for finding in without.recommendations]
    assert len(held.worker.asked) == 1
    another_rule(tmp_path)
    rules.reload()
    await held.service.assessment()
    assert len(held.worker.asked) == 2


def another_rule(folder: Path) -> None:
    """A built-in rule with another title, among a user's own."""
    name = "warmup-disabled.yaml"
    text = (RULES_FOLDER / name).read_text(encoding="utf-8")
    (folder / name).write_text(re.sub(r"(?m)^title: .*", "title: Another title", text), encoding="utf-8")


async def test_a_finding_keeps_its_begin_over_new_rules(tmp_path: Path) -> None:
    rules = Rulebook(RULES_FOLDER, tmp_path)
    held = Held(5, rules)
    first = await held.service.assessment()
    another_rule(tmp_path)
    rules.reload()
    held.source.show()
    second = await held.service.assessment()
    assert second.advice.at > first.advice.at
    began = [
        {finding.fingerprint: finding.since for finding in assessment.advice.recommendations}
        for assessment in (first, second)
    ]
    assert began[1] == began[0] != {}


async def test_a_worker_that_is_ended_makes_its_rules_blind_and_leaves_what_was_found() -> None:
    held = Held(5)
    before = {finding.fingerprint for finding in (await held.service.assessment()).advice.recommendations}
    held.worker.failure = Unanswerable("time", "it was ended")
    held.source.show()
    held.rest()
    await held.service.assessment()
    await until(lambda: len(held.worker.asked) == 2)
    advice = (await held.service.assessment()).advice
    assert (SCAN, "time", "it was ended") in [(blind.rule, blind.lacks, blind.reason) for blind in advice.blind]
    assert {finding.fingerprint for finding in advice.recommendations} == before


async def test_an_evaluation_that_fails_is_logged_and_leaves_the_last_advice(caplog: pytest.LogCaptureFixture) -> None:
    held = Held(5)
    first = await held.service.assessment()
    held.worker.failure = ZeroDivisionError()
    held.source.show()
    held.rest()
    await held.service.assessment()
    await until(lambda: caplog.records)
    assert [(record.levelno, record.message) for record in caplog.records] == [(logging.ERROR, "no advice")]
    [scan] = [finding for finding in first.advice.recommendations if finding.rule == SCAN]
    assert scan in (await held.service.assessment()).advice.recommendations


async def test_a_reader_of_another_window_that_goes_away_ends_the_question() -> None:
    held = Held()
    held.worker.free.clear()
    asked = asyncio.create_task(held.service.assessment(5.0))
    await until(lambda: held.worker.asked)
    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)
    held.worker.free.set()
    await held.service.assessment(5.0)
    assert held.worker.asked == [False, False]
