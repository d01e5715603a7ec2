"""The state: from the start to the first verdicts, away and back, and of a recording."""

from __future__ import annotations

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
from exporter.connection.errors import Unreachable
from tests.advisor.advice.watching import Watched, rulebook, service_of
from tests.advisor.building import RECORDING, RULES_FOLDER, capture
from tests.advisor.sidecar import write_rule

SCANNED = 1
"""Findings in RECORDING."""


async def judged(service: Service) -> State:
    await service.assessment()
    return state(service)


def test_before_the_first_snapshot_it_waits_for_that() -> None:
    found = state(service_of(Watched()))
    assert (found.state, found.target, found.server, found.at) == ("starting", "db1:3306", None, None)
    assert found.starting == Starting(waits_for="the first snapshot", seconds_left=None)
    assert (found.judged, found.up_since, found.problem) == (None, None, None)
    assert found.counts == {Severity.CRITICAL: 0, Severity.WARNING: 0, Severity.INFO: 0}
    assert (found.interval_seconds, found.sidecar) == (10.0, __version__)


async def test_after_the_first_snapshot_it_waits_for_the_second_and_says_how_long() -> None:
    source = Watched(1)
    service = service_of(source, now=lambda: source.history[0].at + 3)
    expected = Starting(waits_for="the second snapshot", seconds_left=7.0)
    assert state(service).starting == expected
    found = await judged(service)
    assert (found.state, found.starting) == ("starting", expected)
    assert (found.server, found.flavour) == ("MySQL 9.7.4", "mysql")


async def test_with_verdicts_it_watches_and_counts() -> None:
    source = Watched(6)
    service = service_of(source, now=lambda: source.history[-1].at)
    assert state(service).starting == Starting(waits_for="the first verdicts", seconds_left=None)
    found = await judged(service)
    assert (found.state, found.starting, found.recording) == ("watching", None, None)
    assert found.at == source.history[-1].at
    assert found.up_since == found.at - (source.history[-1][STATUS] or {})["uptime"]
    assert found.counts == {Severity.CRITICAL: 0, Severity.WARNING: SCANNED, Severity.INFO: 0}
    assert found.judged is not None
    assert found.judged.rules == found.judged.ok + found.judged.blind + found.judged.failed
    assert 0 < found.judged.rules <= found.rules.count == len(service.rules.rules)
    assert found.judged.at == found.at
    assert found.judged.seconds > 7


async def test_while_the_server_is_away_it_says_why_and_since_when_and_what_was_said_before() -> None:
    source = Watched(6)
    clock = [source.history[-1].at]
    service = service_of(source, now=lambda: clock[0])
    before, said = await judged(service), service.last_verdict
    service.look()
    source.problem, clock[0] = Unreachable("cannot connect to db1:3306: Connection refused"), clock[0] + 10
    service.look()
    clock[0] += 20
    found = state(service)
    assert (found.state, found.starting) == ("away", None)
    assert (found.problem, found.problem_since) == ("cannot connect to db1:3306: Connection refused", clock[0] - 20)
    assert (found.server, found.up_since, found.at) == ("MySQL 9.7.4", None, before.at)
    assert (found.judged, found.counts) == (before.judged, before.counts)
    last = service.last_verdict
    assert last is not None
    assert said is not None
    assert last.advice.recommendations == said.advice.recommendations
    source.problem = None
    service.look()
    assert state(service).state == "watching"


def test_a_recording_is_named_and_has_its_span() -> None:
    replay = Replay(capture(RECORDING))
    found = state(Service(replay, rulebook()))
    assert (found.state, found.target, found.interval_seconds) == ("recording", None, None)
    assert found.recording is not None
    assert found.model_dump(by_alias=True)["recording"] == {
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
    found = state(service).rules
    assert found.problem is not None
    assert found.problem.startswith(f"{path}:1")
    assert found.count == loaded
