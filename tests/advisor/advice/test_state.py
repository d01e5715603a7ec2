"""The state: from the start to the first verdicts, away and back, and of a recording."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from advisor.advice.service import Service
from advisor.advice.state import Starting, State, state
from advisor.contract.recommendation import Severity
from advisor.files.yaml_file import FileError
from advisor.observe.source import Replay
from advisor.rules.rulebook import Rulebook
from exporter import __version__
from exporter.collectors.status import STATUS
from exporter.connection.errors import ServerError
from exporter.server import identify
from tests.advisor.advice.watching import Watched, rulebook, service_of
from tests.advisor.building import RECORDING, RULES_FOLDER, capture
from tests.advisor.sidecar import write_rule

SCANNED = 1
"""Findings in RECORDING."""


async def judged(service: Service) -> State:
    await service.assessment()
    return state(service)


def test_before_the_first_snapshot_it_waits_for_that() -> None:
    answer = state(service_of(Watched()))
    assert (answer.state, answer.target, answer.server, answer.at) == ("starting", "db1:3306", None, None)
    assert answer.starting == Starting(waits_for="the first snapshot", seconds_left=None)
    assert (answer.judged, answer.up_since, answer.problem) == (None, None, None)
    assert answer.counts == {Severity.CRITICAL: 0, Severity.WARNING: 0, Severity.INFO: 0}
    assert (answer.interval_seconds, answer.sidecar) == (10.0, __version__)


async def test_after_the_first_snapshot_it_waits_for_the_second_and_says_how_long() -> None:
    source = Watched(1)
    service = service_of(source, now=lambda: source.history[0].at + 3)
    expected = Starting(waits_for="the second snapshot", seconds_left=7.0)
    assert state(service).starting == expected
    answer = await judged(service)
    assert (answer.state, answer.starting) == ("starting", expected)
    assert (answer.server, answer.flavour) == ("MySQL 9.7.4", "mysql")


def test_of_a_release_newer_than_all_known_it_says_whose_behaviour_is_assumed() -> None:
    source = Watched(1)
    source.history[0] = replace(source.history[0], server=identify({"version": "26.7.0"}))
    assert state(service_of(source)).server == "MySQL 26.7.0 (assumed to behave like 9.7)"


async def test_with_verdicts_it_watches_and_counts() -> None:
    source = Watched(6)
    service = service_of(source, now=lambda: source.history[-1].at)
    assert state(service).starting == Starting(waits_for="the first verdicts", seconds_left=None)
    answer = await judged(service)
    assert (answer.state, answer.starting, answer.recording) == ("watching", None, None)
    assert answer.at == source.history[-1].at
    assert answer.up_since == answer.at - (source.history[-1][STATUS] or {})["uptime"]
    assert answer.counts == {Severity.CRITICAL: 0, Severity.WARNING: SCANNED, Severity.INFO: 0}
    assert answer.judged is not None
    assert answer.judged.rules == answer.judged.ok + answer.judged.blind + answer.judged.failed
    assert 0 < answer.judged.rules <= answer.rules.count == len(service.rules.rules)
    assert answer.judged.at == answer.at
    assert answer.judged.seconds > 7


async def test_while_the_server_is_away_it_says_why_and_since_when_and_what_was_said_before() -> None:
    source = Watched(6)
    clock = [source.history[-1].at]
    service = service_of(source, now=lambda: clock[0])
    before, verdict = await judged(service), service.last_verdict
    service.look()
    source.problem, clock[0] = ServerError("cannot connect to db1:3306: Connection refused"), clock[0] + 10
    service.look()
    clock[0] += 20
    answer = state(service)
    assert (answer.state, answer.starting) == ("away", None)
    assert (answer.problem, answer.problem_since) == ("cannot connect to db1:3306: Connection refused", clock[0] - 20)
    assert (answer.server, answer.up_since, answer.at) == ("MySQL 9.7.4", None, before.at)
    assert (answer.judged, answer.counts) == (before.judged, before.counts)
    last = service.last_verdict
    assert last is not None
    assert verdict is not None
    assert last.advice.recommendations == verdict.advice.recommendations
    source.problem = None
    service.look()
    assert state(service).state == "watching"


def test_a_recording_is_named_and_has_its_span() -> None:
    replay = Replay(capture(RECORDING))
    answer = state(Service(replay, rulebook()))
    assert (answer.state, answer.target, answer.interval_seconds) == ("recording", None, None)
    assert answer.recording is not None
    assert answer.model_dump(by_alias=True)["recording"] == {
        "name": "recording.jsonl.gz",
        "from": replay.history[0].at,
        "to": replay.history[-1].at,
    }


async def test_rules_that_were_not_loaded_anew_are_a_problem_of_the_rules(tmp_path: Path) -> None:
    path = write_rule(tmp_path)
    rules = Rulebook(RULES_FOLDER, tmp_path)
    loaded, service = len(rules.rules), Service(Watched(6), rules)
    path.write_text("id: [")
    with pytest.raises(FileError):
        service.rules.reload()
    answer = state(service).rules
    assert answer.problem is not None
    assert answer.problem.startswith(f"{path}:1")
    assert answer.count == loaded
