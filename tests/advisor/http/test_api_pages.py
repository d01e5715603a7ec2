"""The page and /docs: their content; they load nothing from other hosts."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from advisor.contract.recommendation import Advice
from advisor.http import examples
from advisor.render import text
from advisor.rules import check
from advisor.whatif.answer import WhatIf, what_if
from lab.packages import debian
from lab.packages.cache import Unavailable
from tests.advisor.building import RECORDING, RULES_FOLDER, advised, capture, captured
from tests.advisor.sidecar import Sidecar
from tests.unavailable import give_up

SCAN = "scan-exceeds-old-sublist"
POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"

Serve = Callable[..., Sidecar]


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
def test_the_pages_load_nothing_from_elsewhere(replaying: Sidecar, path: str, policy: str) -> None:
    response = replaying.get(path)
    assert response.headers["content-security-policy"] == policy
    assert response.headers["x-content-type-options"] == "nosniff"
    assert not re.search(r"(?:https?:)?//[\w.-]+\.\w|@import|url\(", response.text)
    for link in re.findall(r"(?:src|href)=\"([^\"]*)\"", response.text):
        assert replaying.get(link).status_code == 200


@pytest.mark.parametrize("path", ["/", "/docs"])
def test_a_page_holds_no_inline_script_or_style_that_its_policy_would_block(replaying: Sidecar, path: str) -> None:
    response = replaying.get(path)
    assert response.headers["content-type"].startswith("text/html")
    assert "<style" not in response.text
    assert " style=" not in response.text
    assert not re.search(r"<script(?![^>]*\bsrc=)|\bon\w+=", response.text)


@pytest.fixture(scope="module")
def schema(replaying: Sidecar) -> dict[str, Any]:
    found: dict[str, Any] = replaying.get("/openapi.json").json()
    return found


def operations(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def test_the_schema_has_every_endpoint(schema: dict[str, Any]) -> None:
    assert {name for name, _ in operations(schema)} == {
        *("GET /metrics", "GET /snapshot", "GET /overview", "GET /series", "GET /curve", "GET /state", "GET /events"),
        *(
            "GET /live",
            "GET /advise",
            "GET /advise/{fingerprint}",
            "GET /history",
            "GET /rules",
            "GET /rules/{rule_id}",
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
        *("advise", "curve", "events", "finding", "healthz", "history", "live", "metrics", "overview", "readyz"),
        *("reload", "rule", "rules", "series", "settings", "snapshot", "state", "sweep", "whatif"),
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


def test_every_form_that_an_endpoint_has_is_in_the_schema(schema: dict[str, Any], replaying: Sidecar) -> None:
    fingerprint = advised(captured(RECORDING)).recommendations[0].fingerprint
    for path, real in (
        ("/advise", "/advise"),
        ("/advise/{fingerprint}", f"/advise/{fingerprint}"),
        ("/rules/{rule_id}", f"/rules/{SCAN}"),
        ("/metrics", "/metrics"),
    ):
        forms = schema["paths"][path]["get"]["responses"]["200"]["content"]
        assert len(forms) > 1
        for form in forms:
            response = replaying.get(real, headers={"Accept": form})
            assert response.headers["content-type"].partition(";")[0] == form


def test_the_described_problems_are_the_ones_that_occur(schema: dict[str, Any], replaying: Sidecar) -> None:
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
    [found] = [each for each in advised(window).recommendations if each.rule == SCAN]
    assert (example.fingerprint, example.subject) == (found.fingerprint, found.subject)
    assert [each.setting for each in example.changes] == [each.setting for each in found.changes]
    named = {(each.name, each.unit, each.source) for each in found.evidence}
    assert {(each.name, each.unit, each.source) for each in example.evidence} <= named
    predicted = what_if(window, {"innodb_old_blocks_pct": 80})
    assert [each.subject for each in WhatIf.model_validate(examples.WHAT_IF).tables] == [
        each.subject for each in predicted.tables
    ]


def test_the_plain_text_examples_match_the_json_examples() -> None:
    whole = examples.advice()
    shown = Advice.model_validate(whole["application/json"]["examples"]["a setting to change"]["value"])
    assert whole["text/plain"]["example"] == text.plain(shown)
    assert examples.finding()["text/plain"]["example"] == text.plain_finding(shown.recommendations[0])


def chromium() -> tuple[str, dict[str, str]]:
    """A command and its environment; skips, or fails when servers are required, where there is none."""
    try:
        release = Path("/etc/os-release").read_text()
        suite = re.search(r"^VERSION_CODENAME=(\w+)", release, re.MULTILINE)
        if suite is None:
            raise Unavailable("this machine is no Debian")
        root = debian.unpacked(suite[1], "chromium")
    except (OSError, Unavailable) as error:
        give_up(f"Chromium can't be had here: {error}")
    return str(root / "usr/lib/chromium/chromium"), {"LD_LIBRARY_PATH": debian.libraries(root)}


def rendered(url: str, folder: Path) -> str:
    """The document after its scripts ran, in a browser without other hosts; the browser reports no error."""
    program, environment = chromium()
    done = subprocess.run(  # noqa: S603
        [
            program,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--enable-logging=stderr",
            f"--user-data-dir={folder}",
            "--virtual-time-budget=3000",
            "--dump-dom",
            url,
        ],
        env={**os.environ, **environment, "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert not re.findall(r"CONSOLE.*", done.stderr)
    return done.stdout


def test_a_browser_shows_the_recommendation(replaying: Sidecar, tmp_path: Path) -> None:
    document = rendered(replaying.url, tmp_path)
    [found] = [each for each in advised(captured(RECORDING)).recommendations if each.rule == SCAN]
    assert f"<h2>{found.summary}</h2>" in document
    assert f"{found.changes[0].apply[0]};" in document
    assert f'<a href="/advise/{found.fingerprint}">{found.fingerprint}</a>' in document
    assert f'<a href="/rules/{SCAN}">{SCAN}</a>' in document
    assert re.search(r"effect: pages read per pass [\d,]+ → 0 \(expect 0 to \d+\)", document)
    assert "Other settings that would help" in document
    assert found.alternatives[0].change.apply[0] in document
    for item in found.evidence:
        assert item.source in document


def test_a_browser_shows_actions_set_aside_findings_and_failed_rules(unlike: Sidecar, tmp_path: Path) -> None:
    document = rendered(unlike.url, tmp_path)
    assert "<p>Add an index</p><pre>CREATE INDEX a ON t (a);</pre>" in document
    assert "roll back: DROP INDEX a ON t;" in document
    folded = dict(re.findall(r"<details><summary>([^<(]*) \(\d+\)</summary>(.*?)</details>", document))
    assert SCAN in folded["Overruled by another recommendation"]
    assert "the rule unwanted is suppressed" in folded["Suppressed by the configuration"]
    assert re.search(r'<details open="">\s*<summary>Failed rules.*?breaking.*?a division by zero', document)
    assert "only-on-the-moon" not in document


def test_a_browser_shows_silence_and_blind_rules(serve: Serve, tmp_path: Path) -> None:
    unwanted = [argument for each in check.load(RULES_FOLDER) for argument in ("--suppress", each.id)]
    document = rendered(serve("--recording", capture("mariadb-11.8/idle"), *unwanted).url, tmp_path)
    assert "Nothing to change in this window." in document
    assert "table_scans: performance_schema is OFF" in document
    assert "add performance_schema = ON" in document


def test_a_browser_shows_why_there_is_no_advice(serve: Serve, tmp_path: Path) -> None:
    document = rendered(serve("--dsn", "mysql://root@127.0.0.1:1").url, tmp_path)
    assert "cannot connect to 127.0.0.1:1: Connection refused" in document


def test_a_browser_shows_any_name_as_text(serve: Serve, tmp_path: Path) -> None:
    text = gzip.decompress(capture(RECORDING).read_bytes()).decode()
    named = text.replace('"orders"', '"<b>orders"').replace("/shop/orders.ibd", "/shop/@003cb@003eorders.ibd")
    recording = tmp_path / "recording.jsonl"
    recording.write_text(named)
    document = rendered(serve("--recording", recording).url, tmp_path / "home")
    assert "<h2>shop.&lt;b&gt;orders (" in document
    assert "<b>" not in document


def test_a_browser_shows_every_endpoint_in_the_docs(replaying: Sidecar, tmp_path: Path, schema: dict[str, Any]) -> None:
    unfolded = schema["paths"]["/advise"]["get"]
    document = rendered(f"{replaying.url}/docs#/advice/{unfolded['operationId']}", tmp_path)
    assert unfolded["parameters"][0]["description"] in document
    for name, operation in operations(schema):
        assert f'data-path="{name.partition(" ")[2]}"' in document
        assert operation["summary"] in document
    # Everything loaded, or to be loaded, comes from this host.
    loaded = re.findall(r"<(?:script|link|img|iframe)[^>]*?(?:src|href)=\"([^\"]*)\"", document)
    assert loaded
    assert all(each.startswith(("/page/", "data:")) for each in loaded)
