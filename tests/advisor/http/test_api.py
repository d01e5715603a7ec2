"""Metrics, snapshots and probes, with a recording, a real server, or none; and the two ends of a process."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics

from advisor.contract.recommendation import Advice
from lab.servers import PrivateServer
from tests.advisor.building import RECORDING, capture
from tests.advisor.in_process import InProcess
from tests.advisor.sidecar import Sidecar, problem, values
from tests.unavailable import promtool_says
from tests.waiting import wait_for

OPENMETRICS = {"Accept": "application/openmetrics-text; version=1.0.0, text/plain;q=0.5"}
PAGES = ("/", "/docs", "/page/app.js", "/page/page.css", "/page/docs.js", "/page/swagger-ui.css")
ENDPOINTS = (
    *PAGES,
    "/metrics",
    "/advise",
    "/rules",
    "/snapshot",
    "/state",
    "/events",
    "/series",
    "/healthz",
    "/readyz",
)

Serve = Callable[..., Sidecar]
Compose = Callable[..., InProcess]
PASSWORD = "correct-horse-9"
StartServer = Callable[..., PrivateServer]
some_servers = pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-11.8"], indirect=True)


class Account:
    """An account of a test's own, by whose name its sessions are known."""

    def __init__(self, server: PrivateServer, user: str) -> None:
        self._server, self.user = server, user
        self.dsn = f"mysql://{user}@{server.host}:{server.port}"

    def run(self, *statements: str) -> list[tuple[object, ...]]:
        with self._server.connect() as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    def sessions(self) -> int:
        [(count,)] = self.run(f"SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = '{self.user}'")
        return int(str(count))

    def make(self) -> None:
        name = f"{self.user}@'%'"
        self.run(f"CREATE USER {name} IDENTIFIED BY '{PASSWORD}'", f"GRANT ALL ON *.* TO {name}")

    def remove(self) -> None:
        self.run(f"DROP USER IF EXISTS {self.user}@'%'")


@pytest.fixture(scope="module")
def account(server: PrivateServer) -> Iterator[Account]:
    account = Account(server, "watching")
    account.make()
    yield account
    account.remove()


@pytest.fixture(scope="module")
def watching(account: Account) -> Iterator[InProcess]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INNODB_ADVISOR_PASSWORD", PASSWORD)
        sidecar = InProcess("--dsn", account.dsn, "--interval", "1s")
    with sidecar:
        wait_for(lambda: sidecar.get("/readyz").status_code == 200)
        yield sidecar


def test_metrics_have_the_classic_format_by_default(replaying: InProcess) -> None:
    response = replaying.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=")
    assert "Accept" in response.headers["vary"].split(", ")
    samples = values(response.text)
    assert samples["innodb_up", frozenset()] == 1.0
    recommended = [dict(labels) for name, labels in samples if name == "innodb_advisor_recommendation"]
    assert "shop.orders" in [
        finding["subject"] for finding in recommended if finding["rule"] == "scan-exceeds-old-sublist"
    ]


def test_metrics_have_openmetrics_format_if_the_client_accepts_it(replaying: InProcess) -> None:
    response = replaying.get("/metrics", headers=OPENMETRICS)
    assert response.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert response.text.endswith("# EOF\n")
    assert values(response.text, parse_openmetrics) == values(replaying.get("/metrics").text)


def test_promtool_finds_no_problem_in_all_metrics(unlike: InProcess) -> None:
    text = unlike.get("/metrics").text
    assert 'innodb_advisor_rule_failed{rule="breaking"} 1.0' in text
    assert 'innodb_advisor_suppressed{rule="unwanted",subject=""} 1.0' in text
    assert 'setting="",severity="warning"' in text
    assert promtool_says(text) == ""


def test_the_snapshot_has_every_collectors_outcome(replaying: InProcess) -> None:
    snapshot = replaying.get("/snapshot").json()
    assert snapshot["server"]["flavour"] == "mysql"
    assert snapshot["pools"][0]["size_pages"] > 0
    for outcome in snapshot["outcomes"].values():
        assert (outcome["failure"] is None) == (outcome["reason"] == "")


def test_a_recording_is_ready_at_once(replaying: InProcess) -> None:
    for path in ("/healthz", "/readyz"):
        response = replaying.get(path)
        assert (response.status_code, response.text) == (200, "ok\n")
        assert response.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize(
    "path",
    [
        *("/nope", "/page/api.py", "/page/..%2fapi.py", "/page/%2e%2e/api.py", "/redoc", "/-/quit", "/.env"),
        *("/metrics/x.css", "/state/x.js", "/snapshot/x.png", "/rules/x.css", "/healthz/", "/pyproject.toml"),
    ],
)
def test_an_unknown_path_is_a_problem(replaying: InProcess, path: str) -> None:
    status, detail = problem(replaying.get(path))
    assert status == 404
    assert detail == "Not Found" or path.startswith("/rules/")


@pytest.mark.parametrize("path", ENDPOINTS)
def test_other_methods_are_a_problem_that_lists_the_allowed_ones(replaying: InProcess, path: str) -> None:
    response = replaying.post(path, content=b"x")
    assert problem(response)[0] == 405
    assert response.headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    "path", [*ENDPOINTS, "/rules/scan-exceeds-old-sublist", "/openapi.json", "/nope", "/whatif", "/curve"]
)
def test_head_has_the_headers_of_get_and_no_body(replaying: InProcess, path: str) -> None:
    got, head = replaying.get(path), replaying.head(path)
    assert (head.status_code, head.content) == (got.status_code, b"")
    moving = ["date", "etag", "last-modified"]
    if path in ("/advise", "/state"):
        moving.append("content-length")  # an age of 5.1 or 5.123 seconds, and the clock
    assert {n: v for n, v in head.headers.items() if n not in moving} == {
        n: v for n, v in got.headers.items() if n not in moving
    }
    assert head.headers.get("content-length") != "0"


@pytest.mark.parametrize("method", ["TRACE", "PUT", "DELETE", "PATCH", "PROPFIND", "BREW", "OPTIONS"])
def test_methods_that_are_not_meant_are_refused(replaying: InProcess, method: str) -> None:
    assert replaying.request(method, "/metrics").status_code == 405


@pytest.mark.parametrize("path", ["/-/reload", "/whatif", "/whatif/sweep"])
def test_reading_changes_and_asks_nothing(replaying: InProcess, path: str) -> None:
    assert {replaying.get(path).status_code, replaying.head(path).status_code} == {405}


def test_an_answer_is_compressed_only_where_it_is_accepted(replaying: InProcess) -> None:
    for accepted, encoding in (("gzip", "gzip"), ("identity", None)):
        response = replaying.get("/metrics", headers={"Accept-Encoding": accepted})
        assert response.headers.get("content-encoding") == encoding
        assert "innodb_up 1.0" in response.text
        assert "Accept-Encoding" in response.headers["vary"]


@some_servers
def test_a_server_is_scraped_in_both_formats(server: PrivateServer, watching: InProcess) -> None:
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
def test_advice_on_a_server_has_the_shape_of_the_contract(server: PrivateServer, watching: InProcess) -> None:
    advice = Advice.model_validate_json(watching.get("/advise?rule=scan-exceeds-old-sublist").content)
    assert advice.server.endswith(server.version)
    assert {blind.lacks for blind in advice.blind} <= {"window", "time"}


@some_servers
def test_the_snapshot_gives_the_reason_of_a_collectors_failure(server: PrivateServer, watching: InProcess) -> None:
    snapshot = watching.get("/snapshot").json()
    failed = {name: outcome for name, outcome in snapshot["outcomes"].items() if outcome["failure"]}
    if server.name.startswith("mysql"):
        assert failed == {}
        return
    assert failed["cached_indexes"]["failure"] == "absent"
    for name, outcome in failed.items():
        assert snapshot[name] is None
        assert outcome["reason"]


def test_the_snapshot_says_what_turns_a_disabled_source_on(without_sources: InProcess) -> None:
    outcome = without_sources.get("/snapshot").json()["outcomes"]["table_scans"]
    assert (outcome["failure"], outcome["reason"]) == ("disabled", "performance_schema is OFF")
    assert outcome["cure"].startswith("add performance_schema = ON")


@some_servers
def test_many_scrapes_at_once_need_no_more_than_two_sessions(watching: InProcess, account: Account) -> None:
    paths = ["/metrics", "/advise", "/snapshot", "/readyz", "/healthz"] * 12
    with ThreadPoolExecutor(12) as pool:
        answers = pool.map(watching.get, paths)
        sessions = account.sessions()
        assert {answer.status_code for answer in answers} == {200}
    assert sessions <= 2


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
def test_a_process_takes_a_rejected_login_up_and_ends_cleanly_with_its_sessions(
    server: PrivateServer, serve: Serve
) -> None:
    """With SIGTERM, while a client's connection is open."""
    keeper = Account(server, "keeper")
    keeper.remove()
    sidecar = serve(*("--dsn", keeper.dsn, "--interval", "1s", "--verbose"), env={"INNODB_ADVISOR_PASSWORD": PASSWORD})
    status, detail = problem(wait_for(lambda: _after_first_try(sidecar)))
    assert status == 503
    assert detail.startswith(f"127.0.0.1:{server.port} refused the login of 'keeper': Access denied")
    keeper.make()
    try:
        wait_for(lambda: sidecar.get("/readyz").status_code == 200)
        assert keeper.sessions()
        texts = [sidecar.get(path).text for path in (*ENDPOINTS, "/openapi.json")]
        with httpx.Client() as idle:  # as Prometheus keeps its connection open
            assert idle.get(sidecar.url + "/metrics").status_code == 200
            assert sidecar.stop(signal.SIGTERM) == 0
        wait_for(lambda: keeper.sessions() == 0)
    finally:
        keeper.remove()
    assert "Traceback" not in sidecar.log()
    assert not [text for text in (*texts, sidecar.log()) if PASSWORD in text]


def test_it_listens_on_every_address_by_default_and_an_interrupt_ends_a_replay_cleanly(serve: Serve) -> None:
    sidecar = serve("--recording", capture(RECORDING), "--listen", ":0")
    assert sidecar.get("/healthz").status_code == 200
    assert sidecar.stop(signal.SIGINT) == 0
    assert "Traceback" not in sidecar.log()


def test_it_survives_a_server_that_goes_down_and_returns(start_server: StartServer, compose: Compose) -> None:
    server = start_server("mariadb-11.8")
    server.kill()
    sidecar = compose("--dsn", server.dsn, "--interval", "1s")

    status, detail = problem(wait_for(lambda: _after_first_try(sidecar)))
    assert status == 503
    assert f"cannot connect to 127.0.0.1:{server.port}: Connection refused" in detail
    for path in ("/advise", "/snapshot"):
        assert problem(sidecar.get(path)) == (503, detail)
    assert sidecar.get("/healthz").status_code == 200
    samples = {name: value for (name, _), value in values(sidecar.get("/metrics").text).items()}
    assert samples["innodb_up"] == 0.0
    of_itself = ("innodb_advisor_rules", "innodb_advisor_page_info")
    assert {name for name in samples if not name.startswith(of_itself)} == {"innodb_up"}

    state = wait_for(lambda: _state(sidecar, "away"))
    assert (state["target"], state["server"], state["problem"]) == (f"127.0.0.1:{server.port}", None, detail)
    server.restart()
    wait_for(lambda: sidecar.get("/readyz").status_code == 200)
    assert values(sidecar.get("/metrics").text)["innodb_up", frozenset()] == 1.0
    wait_for(lambda: [event["kind"] for event in _events(sidecar)] == ["away", "back"])

    server.kill()
    wait_for(lambda: sidecar.get("/readyz").status_code == 503)
    assert values(sidecar.get("/metrics").text)["innodb_up", frozenset()] == 0.0
    [*_, away] = wait_for(lambda: events if len(events := _events(sidecar)) == 3 else None)
    state = wait_for(lambda: _state(sidecar, "away"))
    assert (away["kind"], away["at"]) == ("away", state["problem_since"])
    assert state["server"].startswith("MariaDB 11.8.")


def _state(sidecar: InProcess, name: str) -> dict[str, Any] | None:
    """The state, if it is of this name."""
    state: dict[str, Any] = sidecar.get("/state").json()
    return state if state["state"] == name else None


def _events(sidecar: InProcess) -> list[dict[str, Any]]:
    return list(sidecar.get("/events").json()["events"])


def _after_first_try(sidecar: Sidecar | InProcess) -> httpx.Response | None:
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
