"""POST /whatif/sweep and GET /whatif/settings: the model's answers, and the problems of invalid questions."""

from __future__ import annotations

import math

import pytest

from advisor.http import examples
from advisor.pool.curve import MissCurve
from advisor.pool.estimate import curve
from advisor.pool.ranges import SettingRanges, ranges
from advisor.pool.sweep import Sweep, sweep
from tests.advisor.building import RECORDING, captured
from tests.advisor.in_process import InProcess
from tests.advisor.sidecar import problem

PCT, SIZE = "innodb_old_blocks_pct", "innodb_buffer_pool_size"


def test_a_sweep_is_the_models_answer(replaying: InProcess) -> None:
    question = {"setting": PCT, "set": {SIZE: "512M"}, "values": [73], "points": 5, "seconds": 5}
    response = replaying.post("/whatif/sweep", json=question)
    assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
    answer = Sweep.model_validate_json(response.content)
    assert answer == sweep(captured(RECORDING), PCT, beside={SIZE: "512M"}, values=[73], points=5)
    assert response.json()["from"] == 37
    shorter = replaying.post("/whatif/sweep?window=3", json={"setting": PCT})
    assert Sweep.model_validate_json(shorter.content).at == answer.at


def test_the_settings_are_listed_with_their_ranges(replaying: InProcess, without_sources: InProcess) -> None:
    assert SettingRanges.model_validate_json(replaying.get("/whatif/settings").content) == ranges(captured(RECORDING))
    lacking = SettingRanges.model_validate_json(without_sources.get("/whatif/settings").content)
    assert lacking.lacks is not None
    assert lacking.lacks.startswith("what is read of each table is not known: performance_schema is OFF")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"setting": "innodb_old_block_pct"}, "unknown setting innodb_old_block_pct; did you mean innodb_old_blocks"),
        ({"setting": PCT, "set": {PCT: 50}}, "innodb_old_blocks_pct is swept"),
        ({"setting": PCT, "values": [4]}, "innodb_old_blocks_pct: 4 is not a whole number from 5 to 95"),
        ({"setting": PCT, "points": 1}, "points must be greater than or equal to 2"),
        ({"setting": PCT, "points": 101}, "points must be less than or equal to 100"),
        ({"setting": PCT, "values": [37] * 101}, "values "),
        ({"setting": PCT, "seconds": 0}, "seconds must be greater than 0"),
        ({"setting": PCT, "seconds": 6}, "seconds must be less than or equal to 5"),
        ({"setting": 1}, "setting must be a text"),
        ({"set": {}}, "setting is missing"),
        ({"setting": PCT, "sets": {}}, "sets is not known here"),
    ],
)
def test_an_invalid_question_gets_a_reason_in_one_sentence(replaying: InProcess, body: object, message: str) -> None:
    status, detail = problem(replaying.post("/whatif/sweep", json=body))
    assert status == 422
    assert detail.startswith(message)
    assert "\n" not in detail


def test_an_unanswerable_question_gets_a_reason(without_sources: InProcess, away: InProcess) -> None:
    status, detail = problem(without_sources.post("/whatif/sweep", json={"setting": PCT}))
    assert status == 503
    assert detail.startswith("the model has no answer: what is read of each table is not known: performance_schema is")
    for response in (away.post("/whatif/sweep", json={"setting": PCT}), away.get("/whatif/settings")):
        assert problem(response) == (503, "cannot connect to 127.0.0.1:1: Connection refused")


def test_the_examples_are_real_answers() -> None:
    assert Sweep.model_validate(examples.SWEEP) == sweep(captured(RECORDING), PCT, points=7)
    assert SettingRanges.model_validate(examples.SETTINGS) == ranges(captured(RECORDING))
    window, shown = captured("mysql-9.7/hot-set-exceeds-pool"), examples.curve()
    real = curve(window.snapshots, math.inf, (0.5, 2.0)).tidied()
    assert MissCurve.model_validate(shown["application/json"]["example"]) == real
