"""The sidecar over HTTP, as a process: with a recording, with real servers, and while there is none."""

from __future__ import annotations

import asyncio
import gzip
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_classic

from advisor import api
from advisor.recommendation import Advice
from advisor.source import Replayed
from advisor.whatif import Refused, WhatIf, what_if
from advisor.window import Window
from lab import debian
from lab.cache import Unavailable
from lab.servers import Server
from tests.advisor.building import advised, capture, captured, snapshot
from tests.advisor.sidecar import Sidecar, wait_for
from tests.unavailable import give_up

OPENMETRICS = {"Accept": "application/openmetrics-text; version=1.0.0, text/plain;q=0.5"}
RECORDING = "mysql-9.7/repeated-scan"
ENDPOINTS = ("/", "/page/page.js", "/page/page.css", "/metrics", "/advise", "/snapshot", "/healthz", "/readyz")

Serve = Callable[..., Sidecar]
StartServer = Callable[..., Server]
some_servers = pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-10.11"], indirect=True)


@pytest.fixture(scope="module")
def replaying(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    sidecar = Sidecar(tmp_path_factory.mktemp("sidecar"), "--recording", capture(RECORDING))
    yield sidecar
    sidecar.kill()


@pytest.fixture(scope="module")
def watching(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    sidecar = Sidecar(tmp_path_factory.mktemp("sidecar"), "--dsn", server.dsn, "--interval", "1s")
    wait_for(lambda: sidecar.get("/readyz").status_code == 200)
    yield sidecar
    sidecar.kill()


def problem(response: httpx.Response) -> tuple[int, str]:
    """Status and detail of an error, which must be problem+json (RFC 9457) and nothing else."""
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert body["type"] == "about:blank"
    assert body["status"] == response.status_code
    assert body["title"]
    assert not re.search(r"Traceback|File \"|\.py\b", response.text)
    return response.status_code, body["detail"]


def values(
    text: str, parse: Callable[[str], Any] = parse_classic
) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Samples by name and labels; none may be there twice."""
    samples = [sample for family in parse(text) for sample in family.samples]
    found = {(sample.name, frozenset(sample.labels.items())): float(sample.value) for sample in samples}
    assert len(found) == len(samples)
    return found


def test_metrics_come_in_the_classic_format_to_whoever_does_not_ask(replaying: Sidecar) -> None:
    response = replaying.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=")
    found = values(response.text)
    assert found["innodb_up", frozenset()] == 1.0
    [recommended] = [dict(labels) for name, labels in found if name == "innodb_advisor_recommendation"]
    assert recommended["subject"] == "shop.orders"


def test_metrics_come_in_openmetrics_to_whoever_accepts_it(replaying: Sidecar) -> None:
    response = replaying.get("/metrics", headers=OPENMETRICS)
    assert response.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert response.text.endswith("# EOF\n")
    assert values(response.text, parse_openmetrics) == values(replaying.get("/metrics").text)


def test_the_advice_is_what_the_rules_say_of_the_recording(replaying: Sidecar) -> None:
    response = replaying.get("/advise")
    assert response.headers["content-type"] == "application/json"
    assert Advice.model_validate_json(response.content) == advised(captured(RECORDING))
    assert response.json()["recommendations"][0]["changes"][0]["from"] == 37


def test_a_shorter_look_back_sees_less(replaying: Sidecar) -> None:
    whole, part = (replaying.get(f"/advise{query}").json() for query in ("", "?window=3"))
    assert 0 < part["watched_seconds"] <= 3 < whole["watched_seconds"]


def test_the_snapshot_tells_how_every_collector_went(replaying: Sidecar) -> None:
    found = replaying.get("/snapshot").json()
    assert found["server"]["flavour"] == "mysql"
    assert found["pools"][0]["size_pages"] > 0
    for outcome in found["outcomes"].values():
        assert (outcome["failure"] is None) == (outcome["reason"] == "")


def test_a_recording_is_ready_at_once(replaying: Sidecar) -> None:
    for path in ("/healthz", "/readyz"):
        response = replaying.get(path)
        assert (response.status_code, response.text) == (200, "ok\n")
        assert response.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize("path", ["/nope", "/page/api.py", "/page/..%2fapi.py", "/page/%2e%2e/api.py", "/docs"])
def test_what_is_not_there_is_a_problem(replaying: Sidecar, path: str) -> None:
    assert problem(replaying.get(path)) == (404, "Not Found")


@pytest.mark.parametrize("path", ENDPOINTS)
def test_other_methods_are_a_problem_and_say_which_are_allowed(replaying: Sidecar, path: str) -> None:
    response = httpx.post(replaying.url + path, content=b"x")
    assert problem(response)[0] == 405
    assert response.headers["allow"] == "GET"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("abc", "window: Input should be a valid number"),
        ("", "window: Input should be a valid number"),
        ("0", "window: Input should be greater than 0"),
        ("-1", "window: Input should be greater than 0"),
        ("3601", "window: Input should be less than or equal to 3600"),
        ("nan", "window: Input should be "),
        ("1e999", "window: Input should be less than or equal to 3600"),
    ],
)
def test_a_parameter_that_cannot_be_used_is_a_problem(replaying: Sidecar, query: str, said: str) -> None:
    status, detail = problem(replaying.get(f"/advise?window={query}"))
    assert status == 422
    assert detail.startswith(said)


def ask(sidecar: Sidecar, body: object, query: str = "") -> httpx.Response:
    return httpx.post(f"{sidecar.url}/whatif{query}", json=body, timeout=30)


def test_what_if_is_the_answer_of_the_model(replaying: Sidecar) -> None:
    for value in (80, "80"):
        response = ask(replaying, {"set": {"innodb_old_blocks_pct": value}})
        assert (response.status_code, response.headers["content-type"]) == (200, "application/json")
        found = WhatIf.model_validate_json(response.content)
        assert found == what_if(captured(RECORDING), {"innodb_old_blocks_pct": 80})
    assert response.json()["changes"][0]["from"] == 37


def test_what_if_looks_back_as_far_as_it_is_told(replaying: Sidecar) -> None:
    found = ask(replaying, {"set": {"innodb_buffer_pool_size": "1G"}}, "?window=3").json()
    assert 0 < found["watched_seconds"] <= 3


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"set": {"innodb_old_blocks_pct": 96}}, "innodb_old_blocks_pct: 96 is not a whole number from 5 to 95"),
        ({"set": {"innodb_old_blocks_pct": "1e3"}}, "innodb_old_blocks_pct: 1e3 is not a whole number from 5 to 95"),
        ({"set": {"sort_buffer_size": 1}}, "the model does not answer for sort_buffer_size; it does for "),
        ({"set": {"innodb_old_blocks_pct": True}}, "set.innodb_old_blocks_pct."),
        ({"set": {"innodb_old_blocks_pct": None}}, "set.innodb_old_blocks_pct."),
        ({"set": {"innodb_old_blocks_pct": [1]}}, "set.innodb_old_blocks_pct."),
        ({"set": {}}, "set: "),
        ({"set": []}, "set: "),
        ({}, "set: Field required"),
        ({"set": {"innodb_old_blocks_pct": 80}, "sets": {}}, "sets: Extra inputs are not permitted"),
        ([], "Input should be a valid dictionary or object"),
    ],
)
def test_a_question_that_makes_no_sense_is_a_problem(replaying: Sidecar, body: object, said: str) -> None:
    status, detail = problem(ask(replaying, body))
    assert status == 422
    assert said in detail


def test_a_question_that_is_no_json_is_a_problem(replaying: Sidecar) -> None:
    headers = {"Content-Type": "application/json"}
    for content in (b"", b"{", b'{"set": {"innodb_old_blocks_pct": NaN}}', b"\xff"):
        response = httpx.post(f"{replaying.url}/whatif", content=content, headers=headers)
        assert problem(response)[0] in (400, 422), content


def test_a_question_that_cannot_be_answered_says_why(serve: Serve) -> None:
    question = {"set": {"innodb_old_blocks_pct": 80}}
    status, detail = problem(ask(serve("--recording", capture("mariadb-11.8/idle")), question))
    assert status == 503
    assert detail.startswith("the model has no answer: which tables are scanned is not known: performance_schema is")
    status, detail = problem(ask(serve("--dsn", "mysql://root@127.0.0.1:1"), question))
    assert (status, detail) == (503, "cannot connect to 127.0.0.1:1: Connection refused")


async def test_the_model_does_not_keep_others_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    thinking, enough = threading.Event(), threading.Event()

    def slow(*_: object) -> None:
        thinking.set()
        assert enough.wait(20)
        raise Refused("enough")

    monkeypatch.setattr("advisor.api.what_if", slow)
    monkeypatch.setattr("advisor.engine.advise", slow)
    transport = httpx.ASGITransport(api.create(Replayed(capture(RECORDING)), ()), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://sidecar") as client:
        for method, path in (("POST", "/whatif"), ("GET", "/advise"), ("GET", "/metrics")):
            thinking.clear()
            enough.clear()
            body = {"set": {"innodb_old_blocks_pct": 80}} if method == "POST" else None
            waiting = asyncio.create_task(client.request(method, path, json=body))
            assert await asyncio.to_thread(thinking.wait, 20)
            assert (await client.get("/healthz")).text == "ok\n"
            assert not waiting.done()
            if path == "/metrics":  # a scrape does without
                assert (await waiting).status_code == 200
            enough.set()
            assert (await waiting).status_code == (422 if method == "POST" else 200 if path == "/metrics" else 500)


async def test_advice_is_worked_out_once_for_a_snapshot_and_leaves_the_core_alone_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen, cost = [], 0.05
    advice = advised(Window((snapshot(10), snapshot(20))))

    def counted(rules: object, window: Window) -> Advice:
        del rules
        seen.append(window.latest)
        time.sleep(cost)
        return advice

    monkeypatch.setattr("advisor.engine.advise", counted)
    source = Replayed(capture(RECORDING))
    parts, history = api.App(source, ()), list(source.history)
    for length in (3, 3, 4):
        source.history = history[:length]
        assert await parts.advice() is not None
    assert seen == [history[2]]
    await asyncio.sleep(10 * cost)
    await parts.advice()
    assert seen == [history[2], history[3]]
    await parts.advice(longest=3.0)  # another question
    assert len(seen) == 3


def test_what_was_sent_and_is_no_text_is_refused(replaying: Sidecar) -> None:
    sent = b'{"set": {"innodb_old_blocks_pct": "\\ud800"}}'
    response = httpx.post(f"{replaying.url}/whatif", content=sent, headers={"Content-Type": "application/json"})
    assert problem(response)[0] == 422


def test_the_page_loads_nothing_from_elsewhere(replaying: Sidecar) -> None:
    for path in ("/", "/page/page.js", "/page/page.css"):
        response = replaying.get(path)
        assert response.headers["content-security-policy"] == "default-src 'self'; frame-ancestors 'none'"
        assert response.headers["x-content-type-options"] == "nosniff"
        assert not re.search(r"(?:https?:)?//[\w.-]+\.\w|@import|url\(", response.text), path
        for link in re.findall(r"(?:src|href)=\"([^\"]*)\"", response.text):
            assert replaying.get(link).status_code == 200
    assert replaying.get("/").headers["content-type"].startswith("text/html")


def test_the_page_holds_no_inline_script_or_style_that_its_policy_would_block(replaying: Sidecar) -> None:
    html = replaying.get("/").text
    assert "<style" not in html
    assert " style=" not in html
    assert not re.search(r"<script(?![^>]*\bsrc=)|\bon\w+=", html)


def test_the_schema_describes_the_advice_as_it_is_served(replaying: Sidecar) -> None:
    schema = replaying.get("/openapi.json").json()
    assert set(schema["paths"]) == {"/metrics", "/advise", "/whatif", "/snapshot", "/healthz", "/readyz"}
    assert "from" in schema["components"]["schemas"]["Change"]["properties"]


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
    """The document after its scripts ran."""
    program, environment = chromium()
    done = subprocess.run(  # noqa: S603
        [
            program,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
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
    return done.stdout


def test_a_browser_shows_the_recommendation(replaying: Sidecar, tmp_path: Path) -> None:
    document = rendered(replaying.url, tmp_path)
    [found] = advised(captured(RECORDING)).recommendations
    assert f"<h2>{found.summary}</h2>" in document
    assert found.changes[0].apply[0] in document
    assert found.fingerprint in document
    for item in found.evidence:
        assert item.source in document


def test_a_browser_shows_what_the_rules_could_not_see(serve: Serve, tmp_path: Path) -> None:
    document = rendered(serve("--recording", capture("mariadb-11.8/idle")).url, tmp_path)
    assert "Nothing to change, as far as has been watched." in document
    assert "table_scans: performance_schema is OFF" in document
    assert "add performance_schema = ON" in document


def test_a_browser_shows_why_there_is_no_advice(serve: Serve, tmp_path: Path) -> None:
    document = rendered(serve("--dsn", "mysql://root@127.0.0.1:1").url, tmp_path)
    assert "cannot connect to 127.0.0.1:1: Connection refused" in document


def test_a_browser_takes_a_name_for_text_whatever_it_holds(serve: Serve, tmp_path: Path) -> None:
    text = gzip.decompress(capture(RECORDING).read_bytes()).decode()
    named = text.replace('"orders"', '"<b>orders"').replace("/shop/orders.ibd", "/shop/@003cb@003eorders.ibd")
    recording = tmp_path / "recording.jsonl"
    recording.write_text(named)
    document = rendered(serve("--recording", recording).url, tmp_path / "home")
    assert "<h2>shop.&lt;b&gt;orders (" in document
    assert "<b>" not in document


@some_servers
def test_a_server_is_scraped_in_both_formats(server: Server, watching: Sidecar) -> None:
    classic = values(watching.get("/metrics").text)
    openmetrics = values(watching.get("/metrics", headers=OPENMETRICS).text, parse_openmetrics)
    assert set(classic) == set(openmetrics)
    assert classic["innodb_up", frozenset()] == 1.0
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT @@innodb_buffer_pool_size, @@innodb_page_size, @@innodb_old_blocks_pct")
        [(pool, page, pct)] = cursor.fetchall()
    assert classic["innodb_buffer_pool_size_bytes", frozenset()] == float(pool)
    assert classic["innodb_page_size_bytes", frozenset()] == float(page)
    assert classic["innodb_setting", frozenset({("name", "innodb_old_blocks_pct")})] == float(pct)


@some_servers
def test_advice_on_a_server_has_the_shape_of_the_contract(server: Server, watching: Sidecar) -> None:
    advice = Advice.model_validate_json(watching.get("/advise").content)
    assert advice.server.endswith(server.version)
    assert advice.recommendations == ()
    lacking = {each.lacks for each in advice.blind}
    off = {"table_scans", "count_statements", "table_files"}  # MariaDB has performance_schema off by default
    assert lacking <= ({"window"} if server.name.startswith("mysql") else {"window", *off})


@some_servers
def test_the_snapshot_of_a_server_says_why_a_collector_failed(server: Server, watching: Sidecar) -> None:
    found = watching.get("/snapshot").json()
    failed = {name: each for name, each in found["outcomes"].items() if each["failure"]}
    if server.name.startswith("mysql"):
        assert failed == {}
        return
    assert failed["table_scans"]["failure"] == "disabled"
    assert failed["table_scans"]["reason"] == "performance_schema is OFF"
    assert failed["table_scans"]["cure"].startswith("add performance_schema = ON")
    assert failed["cached_indexes"]["failure"] == "absent"
    for name in failed:
        assert found[name] is None
        assert failed[name]["reason"]


@some_servers
def test_many_scrapes_at_once_need_no_more_than_two_sessions(server: Server, watching: Sidecar) -> None:
    paths = ["/metrics", "/advise", "/snapshot", "/readyz", "/healthz"] * 12
    with ThreadPoolExecutor(12) as pool:
        answers = pool.map(watching.get, paths)
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'root'")
            [(sessions,)] = cursor.fetchall()
        assert {each.status_code for each in answers} == {200}
    assert sessions - 1 <= 2


@some_servers
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_and_closes_its_sessions(server: Server, serve: Serve, number: signal.Signals) -> None:
    def sessions() -> int:
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'root'")
            return int(cursor.fetchall()[0][0])

    sidecar = serve("--dsn", server.dsn, "--interval", "1s")
    wait_for(lambda: sidecar.get("/readyz").status_code == 200)
    before = sessions()
    with httpx.Client() as idle:  # as Prometheus keeps its connection open
        assert idle.get(sidecar.url + "/metrics").status_code == 200
        assert sidecar.stop(number) == 0
    assert "Traceback" not in sidecar.log()
    wait_for(lambda: sessions() < before)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_replay_cleanly(serve: Serve, number: signal.Signals) -> None:
    sidecar = serve("--recording", capture(RECORDING))
    assert sidecar.get("/healthz").status_code == 200
    assert sidecar.stop(number) == 0
    assert "Traceback" not in sidecar.log()


def test_it_lives_through_a_server_that_is_away_and_comes_back(start_server: StartServer, serve: Serve) -> None:
    server = start_server("mariadb-10.11")
    server.kill()
    sidecar = serve("--dsn", server.dsn, "--interval", "1s")

    status, detail = problem(wait_for(lambda: _after_first_try(sidecar)))
    assert status == 503
    assert f"cannot connect to 127.0.0.1:{server.port}: Connection refused" in detail
    for path in ("/advise", "/snapshot"):
        assert problem(sidecar.get(path)) == (503, detail)
    assert sidecar.get("/healthz").status_code == 200
    assert values(sidecar.get("/metrics").text) == {("innodb_up", frozenset()): 0.0}

    server.restart()
    wait_for(lambda: sidecar.get("/readyz").status_code == 200)
    assert values(sidecar.get("/metrics").text)["innodb_up", frozenset()] == 1.0

    server.kill()
    wait_for(lambda: sidecar.get("/readyz").status_code == 503)
    assert values(sidecar.get("/metrics").text)["innodb_up", frozenset()] == 0.0
    assert sidecar.stop() == 0
    assert "Traceback" not in sidecar.log()


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
def test_a_refused_login_is_said_and_the_password_is_shown_nowhere(server: Server, serve: Serve) -> None:
    password = "correct-horse-9"
    sidecar = serve(
        *("--dsn", f"mysql://keeper@{server.host}:{server.port}", "--interval", "1s", "--verbose"),
        env={"INNODB_ADVISOR_PASSWORD": password},
    )
    status, detail = problem(wait_for(lambda: _after_first_try(sidecar)))
    assert status == 503
    assert detail.startswith(f"127.0.0.1:{server.port} refused the login of 'keeper': Access denied")

    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE USER keeper@'%' IDENTIFIED BY '{password}'")
        try:
            wait_for(lambda: sidecar.get("/readyz").status_code == 200)
            texts = [sidecar.get(path).text for path in (*ENDPOINTS, "/openapi.json")]
            assert sidecar.stop() == 0
        finally:
            cursor.execute("DROP USER keeper@'%'")
    assert not [text for text in (*texts, sidecar.log()) if password in text]


def test_every_address_is_listened_on_when_none_is_named(serve: Serve) -> None:
    sidecar = serve("--recording", capture(RECORDING), "--listen", ":0")
    assert sidecar.get("/healthz").status_code == 200


def _after_first_try(sidecar: Sidecar) -> httpx.Response | None:
    response = sidecar.get("/readyz")
    return None if "nothing has been collected yet" in response.text else response


def test_a_port_in_use_is_one_clear_line(run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("serve", "--recording", capture(RECORDING), "--listen", f"127.0.0.1:{port}")
    assert done.returncode == 2
    assert done.stderr == f"Error: cannot listen on 127.0.0.1:{port}: Address already in use\n"


def test_an_address_of_another_machine_is_one_clear_line(
    run: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = run("serve", "--recording", capture(RECORDING), "--listen", "192.0.2.1:9747")
    assert done.returncode == 2
    assert done.stderr == "Error: cannot listen on 192.0.2.1:9747: Cannot assign requested address\n"
