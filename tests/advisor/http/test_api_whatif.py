"""POST /whatif: the model's answer, and the problems of invalid questions."""

from __future__ import annotations

import httpx
import pytest

from advisor.pool.what_if import WhatIf, what_if
from tests.advisor.building import RECORDING, captured
from tests.advisor.in_process import InProcess
from tests.advisor.sidecar import problem


def ask(sidecar: InProcess, body: object, query: str = "") -> httpx.Response:
    return sidecar.post(f"/whatif{query}", json=body)


def test_what_if_is_the_models_answer(replaying: InProcess) -> None:
    for value in (80, "80"):
        response = ask(replaying, {"set": {"innodb_old_blocks_pct": value}})
        assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
        answer = WhatIf.model_validate_json(response.content)
        assert answer == what_if(captured(RECORDING), {"innodb_old_blocks_pct": 80})
    assert response.json()["changes"][0]["from"] == 37


def test_what_if_uses_the_requested_window(replaying: InProcess) -> None:
    answer = ask(replaying, {"set": {"innodb_buffer_pool_size": "1G"}}, "?window=3").json()
    assert 0 < answer["watched_seconds"] <= 3


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"set": {"innodb_old_blocks_pct": 96}}, "innodb_old_blocks_pct: 96 is not a whole number from 5 to 95"),
        ({"set": {"innodb_old_blocks_pct": "1e3"}}, "innodb_old_blocks_pct: 1e3 is not a whole number from 5 to 95"),
        ({"set": {"sort_buffer_size": 1}}, "the model does not answer for sort_buffer_size; it does for "),
        *(
            ({"set": {"a": wrong}}, 'set.a must be a number, or a text such as "4G"')
            for wrong in (True, None, [1], {"to": 1})
        ),
        ({"set": {}}, "set must not be empty"),
        ({"set": []}, "set must be an object of names and values"),
        ({}, "set is missing"),
        ({"sets": {"innodb_old_blocks_pct": 80}}, "sets is not known here"),
        ({"set": {"innodb_old_blocks_pct": 80}, "sets": {}}, "sets is not known here"),
        ([], "the body must be a JSON object, sent as application/json"),
        ("set", "the body must be a JSON object, sent as application/json"),
    ],
)
def test_an_invalid_question_gets_a_reason_in_one_sentence(replaying: InProcess, body: object, message: str) -> None:
    status, detail = problem(ask(replaying, body))
    assert status == 422
    assert detail.startswith(message)
    assert "\n" not in detail


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the body is missing"),
        (b"{", "the body is not JSON: Expecting property name enclosed in double quotes"),
        (b'{"set": {"innodb_old_blocks_pct": NaN}}', "innodb_old_blocks_pct: nan is not a whole number from 5 to 95"),
        (b"\xff", "There was an error parsing the body"),
    ],
)
def test_invalid_json_is_a_problem(replaying: InProcess, content: bytes, message: str) -> None:
    response = replaying.post("/whatif", content=content, headers={"Content-Type": "application/json"})
    status, detail = problem(response)
    assert status in (400, 422)
    assert detail == message


def test_a_body_that_is_not_text_is_rejected(replaying: InProcess) -> None:
    sent = b'{"set": {"innodb_old_blocks_pct": "\\ud800"}}'
    response = replaying.post("/whatif", content=sent, headers={"Content-Type": "application/json"})
    assert problem(response)[0] == 422


def test_an_unknown_parameter_is_rejected(replaying: InProcess) -> None:
    question = {"set": {"innodb_old_blocks_pct": 80}}
    assert problem(ask(replaying, question, "?windw=3")) == (422, "windw is not known here")


def test_an_unanswerable_question_gets_a_reason(without_sources: InProcess, away: InProcess) -> None:
    question = {"set": {"innodb_old_blocks_pct": 80}}
    status, detail = problem(ask(without_sources, question))
    assert status == 503
    assert detail.startswith("the model has no answer: what is read of each table is not known: performance_schema is")
    status, detail = problem(ask(away, question))
    assert (status, detail) == (503, "cannot connect to 127.0.0.1:1: Connection refused")
