"""The page and /docs: their content; they load nothing from other hosts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin

import pytest

from advisor.contract.recommendation import Advice
from advisor.http import examples, pages
from advisor.pool.what_if import WhatIf, what_if
from tests.advisor.building import RECORDING, advised, captured
from tests.advisor.in_process import InProcess

SCAN = "scan-exceeds-old-sublist"
POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"


@pytest.mark.parametrize(
    ("path", "policy"),
    [
        ("/", POLICY),
        ("/page/app.js", POLICY),
        ("/page/page.css", POLICY),
        ("/page/docs.js", POLICY),
        ("/docs", f"{POLICY}; img-src 'self' data:"),
    ],
)
def test_the_pages_load_nothing_from_elsewhere(replaying: InProcess, path: str, policy: str) -> None:
    response = replaying.get(path)
    assert response.headers["content-security-policy"] == policy
    assert response.headers["x-content-type-options"] == "nosniff"
    assert not re.search(r"(?:https?:)?//[\w.-]+\.\w|@import|url\(", response.text)
    links = re.findall(r"(?:src|href)=\"([^\"]*)\"", response.text)
    assert [link for link in links if link.startswith("/")] == [], "a proxy may put a path before"
    for link in links:
        assert replaying.get(urljoin("/", link)).status_code == 200


@pytest.mark.parametrize("path", ["/", "/docs"])
def test_a_page_holds_no_inline_script_or_style_that_its_policy_would_block(replaying: InProcess, path: str) -> None:
    response = replaying.get(path)
    assert response.headers["content-type"].startswith("text/html")
    assert "<style" not in response.text
    assert " style=" not in response.text
    assert not re.search(r"<script(?![^>]*\bsrc=)|\bon\w+=", response.text)


@pytest.mark.parametrize("name", pages.FILES)
def test_a_file_of_the_pages_is_served_as_it_is(replaying: InProcess, name: str) -> None:
    assert replaying.get(f"/page/{name}").content == pages.FILES[name].read_bytes()


def test_the_description_is_json(replaying: InProcess) -> None:
    answer = replaying.get("/openapi.json")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["openapi"].startswith("3.1.")


@pytest.fixture(scope="module")
def schema(replaying: InProcess) -> dict[str, Any]:
    document: dict[str, Any] = replaying.get("/openapi.json").json()
    return document


def operations(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def test_the_schema_has_every_endpoint(schema: dict[str, Any]) -> None:
    assert {name for name, _ in operations(schema)} == {
        *("GET /metrics", "GET /snapshot", "GET /overview", "GET /series", "GET /curve", "GET /state", "GET /events"),
        *(
            "GET /advise",
            "GET /advise/{fingerprint}",
            "GET /advise/{fingerprint}/plan",
            "POST /advise/{fingerprint}/plan",
            "GET /advise/{fingerprint}/receipt",
            "GET /history",
            "GET /rules",
            "GET /rules/{rule_id}",
            "GET /runbooks/{alert}",
            "GET /silence",
            "GET /statements",
            "GET /upgrade",
        ),
        *(
            "POST /whatif",
            "POST /whatif/sweep",
            "GET /whatif/settings",
            "POST /-/reload",
            "GET /healthz",
            "GET /readyz",
        ),
    }
    assert "from" in schema["components"]["schemas"]["Change"]["properties"]
    ids = [operation["operationId"] for _, operation in operations(schema)]
    assert sorted(ids) == [
        *("advise", "curve", "events", "finding", "healthz", "history", "metrics", "overview"),
        *(
            "plan",
            "plan_for_manifest",
            "readyz",
            "receipt",
            "reload",
            "rule",
            "rules",
            "runbook",
            "series",
            "settings",
            "silence",
            "snapshot",
            "state",
            "statements",
            "sweep",
            "upgrade",
            "whatif",
        ),
    ]
    assert "HTTPValidationError" not in schema["components"]["schemas"]


def test_every_endpoint_has_a_summary_a_description_and_for_every_response_and_form_an_example(
    schema: dict[str, Any],
) -> None:
    for name, operation in operations(schema):
        assert operation["summary"], name
        assert len(operation["description"]) > 30, name
        for status, response in operation["responses"].items():
            assert response["description"] not in ("", "Successful Response"), (name, status)
            assert "content" in response or status == "303", (name, status)
            for form, content in response.get("content", {}).items():
                assert content.get("example") or content.get("examples"), (name, status, form)
                assert (form == "application/problem+json") == (status != "200"), (name, status, form)
        for parameter in operation.get("parameters", ()):
            assert parameter["description"], (name, parameter["name"])
            assert parameter["schema"]["examples"], (name, parameter["name"])


def test_every_form_that_an_endpoint_has_is_in_the_schema(schema: dict[str, Any], replaying: InProcess) -> None:
    fingerprint = advised(captured(RECORDING)).recommendations[0].fingerprint
    for path, real in (
        ("/advise", "/advise"),
        ("/advise/{fingerprint}", f"/advise/{fingerprint}"),
        ("/rules/{rule_id}", f"/rules/{SCAN}"),
        ("/runbooks/{alert}", "/runbooks/InnoDBDown"),
        ("/metrics", "/metrics"),
    ):
        forms = schema["paths"][path]["get"]["responses"]["200"]["content"]
        assert len(forms) > 1
        for form in forms:
            response = replaying.get(real, headers={"Accept": form})
            assert response.headers["content-type"].partition(";")[0] == form


def test_the_described_problems_are_the_ones_that_occur(schema: dict[str, Any], replaying: InProcess) -> None:
    for path, method, status in (
        ("/advise", "get", 406),
        ("/advise/{fingerprint}", "get", 404),
        ("/rules/{rule_id}", "get", 404),
        ("/whatif", "post", 422),
    ):
        assert str(status) in schema["paths"][path][method]["responses"]
        accept = {"Accept": "image/png"} if status == 406 else {}
        response = (replaying.get if method == "get" else replaying.post)(path, headers=accept)
        assert response.status_code == status
        described = schema["paths"][path][method]["responses"][str(status)]["content"]["application/problem+json"]
        assert set(response.json()) == set(described["schema"]["properties"])
        assert response.json()["title"] == described["example"]["title"]


def test_the_examples_match_a_capture_except_for_its_figures() -> None:
    window = captured(RECORDING)
    shown = Advice.model_validate(examples.advice()["application/json"]["examples"]["a setting to change"]["value"])
    [example] = shown.recommendations
    [finding] = [finding for finding in advised(window).recommendations if finding.rule == SCAN]
    assert (example.fingerprint, example.subject) == (finding.fingerprint, finding.subject)
    assert [change.setting for change in example.changes] == [change.setting for change in finding.changes]
    named = {(evidence.name, evidence.unit, evidence.source) for evidence in finding.evidence}
    assert {(evidence.name, evidence.unit, evidence.source) for evidence in example.evidence} <= named
    predicted = what_if(window, {"innodb_old_blocks_pct": 80})
    assert [table.subject for table in WhatIf.model_validate(examples.WHAT_IF).tables] == [
        table.subject for table in predicted.tables
    ]
