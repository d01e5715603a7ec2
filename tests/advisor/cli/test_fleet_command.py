"""`fleet` on the command line: its errors, its exit codes, and where the report goes."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from advisor.cli.main import main
from advisor.contract.fleet import FleetReport
from tests.advisor.fleet.answering import Answering, Form, error, plain, vector, zipped

UP = {"__name__": "mysql_up", "instance": "db-1:9104"}


def answers(form: Form) -> tuple[int, dict[str, str], bytes]:
    """One server, of which nothing else is known."""
    query = form["query"]
    if query == "vector(time())":
        status, headers, body = zipped(vector(({}, time.time())))
    elif query.startswith("max by (cluster, namespace, pod, instance, __name__)"):
        status, headers, body = zipped(vector((UP, 1.0)))
    else:
        status, headers, body = zipped(vector())
    return status, dict(headers), body


@pytest.fixture
def prometheus() -> Iterator[Answering]:
    with Answering(answers) as running:
        yield running


def fleet(*options: object) -> Result:
    return CliRunner().invoke(main, ["fleet", *map(str, options)])


@pytest.mark.parametrize("style", ["text", "json", "csv", "markdown", "html"])
def test_a_file_gets_what_standard_output_would(prometheus: Answering, tmp_path: Path, style: str) -> None:
    file = tmp_path / "report"
    options = ("--prometheus", prometheus.url, "--output", style)
    run = fleet(*options)
    written = fleet(*options, "--to", file)
    assert (run.exit_code, written.exit_code, written.output) == (0, 0, "")
    text = file.read_bytes().decode()
    assert text
    if style == "json":
        report = FleetReport.model_validate_json(text)
        assert ([server.name for server in report.servers], report.findings) == (["db-1"], ())
    else:
        assert text.splitlines()[0] == run.output.splitlines()[0]
    assert list(tmp_path.iterdir()) == [file], "nothing is left beside it"


def test_the_report_before_stays_where_there_is_no_new_one(prometheus: Answering, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text("yesterday's")
    prometheus.answers = lambda _: plain(error("unavailable", "starting up"), 503)
    result = fleet("--prometheus", prometheus.url, "--output", "html", "--to", file)
    assert (result.exit_code, file.read_text()) == (2, "yesterday's")
    assert "HTTP 503, unavailable: starting up" in result.output
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_that_cannot_be_written_is_refused_before_anyone_is_asked(prometheus: Answering, tmp_path: Path) -> None:
    result = fleet("--prometheus", prometheus.url, "--to", tmp_path / "none" / "report")
    assert (result.exit_code, prometheus.asked) == (2, [])
    assert f"there is no directory {tmp_path / 'none'}" in result.output


def test_what_answers_is_said_with_what_to_look_at(prometheus: Answering) -> None:
    for status, message in (
        (401, "HTTP 401: no login (--prometheus-config has a place for the login"),
        (404, "HTTP 404: no login (the address ends before /api/v1"),
        (302, "HTTP 302: redirects are not followed"),
        (200, "it does not answer as Prometheus' API does"),
    ):
        prometheus.answers = lambda _, status=status: (status, {}, b"no login")  # type: ignore[misc]
        result = fleet("--prometheus", prometheus.url)
        assert (result.exit_code, f"Error: {prometheus.url}: {message}" in result.output) == (2, True), result.output


def test_nobody_is_no_report(prometheus: Answering) -> None:
    prometheus.answers = lambda form: answers({**form, "query": form["query"].replace("max by", "none of")})
    result = fleet("--prometheus", prometheus.url, "--selector", '{cluster="us"}')
    assert result.exit_code == 2
    assert 'no server: there are no series innodb_up or mysql_up of {cluster="us"}' in result.output
    assert fleet("--prometheus", prometheus.url, "--shard", "1/2").exit_code == 0, "the part of a fleet may be empty"


def test_a_server_that_is_not_there_is_named_with_who_is(prometheus: Answering) -> None:
    result = fleet("--prometheus", prometheus.url, "--server", "db-2")
    assert (result.exit_code, result.output) == (2, "Error: no server db-2; did you mean db-1?\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--shard", "3/2"), "'3/2' is not a shard such as 0/8"),
        (("--window", "5x"), "'5x' is not a duration such as 60s, 5m or 1h"),
        (("--window", "5m"), "'5m' is not between 10m and 24h"),
        (("--selector", "cluster=eu"), "is no list of matchers such as"),
        (("--service", "rds"), "is not a selector and one of"),
        (("--header", "token"), "such as X-Scope-OrgID: team-a"),
        (("--alertmanager", "http://127.0.0.1:9093"), "--alertmanager needs --listen"),
        (("--server", "db-1", "--shard", "0/2"), "--server and --shard do not go together"),
        (("--server", "db-1", "--listen", "127.0.0.1:0"), "--listen is for all servers"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_options_that_cannot_be_meant_are_refused(
    prometheus: Answering, options: tuple[str, ...], message: str
) -> None:
    result = fleet("--prometheus", prometheus.url, *options)
    assert (result.exit_code, prometheus.asked) == (2, [])
    assert message in result.output


def test_a_port_that_is_taken_is_said(prometheus: Answering) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        result = fleet("--prometheus", prometheus.url, "--listen", where)
    assert (result.exit_code, prometheus.asked) == (2, [])
    assert f"Error: cannot listen on {where}: Address already in use" in result.output


def test_an_interrupt_ends_it_with_130_and_leaves_the_file(prometheus: Answering, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text("yesterday's")

    def interrupting(form: Form) -> tuple[int, dict[str, str], bytes]:
        if form["query"] == "vector(time())":  # the first
            os.kill(os.getpid(), signal.SIGINT)
        return answers(form)

    prometheus.answers = interrupting
    result = fleet("--prometheus", prometheus.url, "--to", file)
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "interrupted\n")
    assert file.read_text() == "yesterday's"
