from __future__ import annotations

import json
import os
import re
import signal
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from advisor.cli.main import main
from advisor.contract.fleet import FleetFinding, Source
from advisor.contract.recommendation import Severity
from advisor.fleet import report as sums
from tests.advisor.fleet.answering import Answering, Form, error, plain, vector, zipped
from tests.advisor.fleet.scraped import AT
from tests.waiting import DEADLINE

INFO = {"flavour": "mysql", "version_text": "9.7.4", "version_comment": "MySQL"}
RULE = "warmup-disabled"
Told = Mapping[str, "list[tuple[dict[str, str], float]]"]


def fleet(series_by_text: Told) -> Answering:
    """One that answers the query in which a text of `told` is first found."""

    def answers(form: Form) -> tuple[int, Mapping[str, str], bytes]:
        if form["query"] == "vector(time())":
            return zipped(vector(({}, AT + 100.0)))
        series = next((series for text, series in series_by_text.items() if text in form["query"]), [])
        return zipped(vector(*series, at=float(form.get("time", AT))))

    return Answering(answers)


@pytest.fixture
def sidecars() -> Iterator[Answering]:
    """Two servers with sidecars, of which one has a finding, and one with mysqld_exporter alone."""
    finding = {"rule": RULE, "subject": "", "instance": "db-1:9747"}
    change = {**finding, "setting": "innodb_buffer_pool_dump_pct"}
    saved = "innodb_advisor_predicted_read_bytes_saved_per_second"
    with fleet(
        {
            "unless": [({"instance": "db-0:9747"}, AT - 600)],
            "timestamp(": [
                ({"instance": "db-1:9747", "start": "max_own"}, 1.0),
                ({"instance": "db-1:9747", "start": "min_own"}, 1.0),
            ],
            "innodb_up|mysql_up": [
                ({"instance": "db-1:9747", "__name__": "innodb_up"}, 1.0),
                ({"instance": "db-1:9104", "__name__": "mysql_up"}, 1.0),
                ({"instance": "db-2:9747", "__name__": "innodb_up"}, 0.0),
                ({"instance": "db-3:9104", "__name__": "mysql_up"}, 1.0),
            ],
            "innodb_server_info": [({**INFO, "instance": "db-1:9747"}, 1.0)],
            "mysql_version_info": [({"version": "11.8.2-MariaDB", "instance": "db-3:9104"}, 1.0)],
            "innodb_advisor_advice": [({"instance": f"db-{n}:9747"}, AT) for n in (1, 2)],
            "(recommendation|": [
                ({**change, "__name__": "innodb_advisor_recommendation", "severity": "warning"}, 1.0),
                ({**change, "__name__": "innodb_advisor_recommended_value"}, 100.0),
                ({**change, "__name__": "innodb_advisor_setting_value"}, 25.0),
                ({**finding, "__name__": saved}, 7e6),
                ({**finding, "__name__": "innodb_advisor_suppressed", "rule": "other"}, 1.0),
            ],
        }
    ) as made:
        yield made


def run(*arguments: str, environment: Mapping[str, str | None] | None = None) -> Result:
    return CliRunner().invoke(main, ["fleet", *arguments], env=environment)


def test_a_report_has_findings_servers_and_what_was_not_asked(sidecars: Answering) -> None:
    done = run("--prometheus", sidecars.url, "--output", "json", "--fail-on", "warning")
    assert done.exit_code == 1, done.output
    report = json.loads(done.stdout)
    assert [(server["name"], server["source"], server["up"], server["version"]) for server in report["servers"]] == [
        ("db-1", "verdict", True, "9.7.4"),
        ("db-2", "verdict", False, None),
        ("db-3", "peer", True, "11.8.2-MariaDB"),
    ]
    [finding] = report["findings"]
    assert finding["changes"][0]["apply"] == ["SET GLOBAL innodb_buffer_pool_dump_pct = 100"]
    assert finding["changes"][0]["rollback"] == ["SET GLOBAL innodb_buffer_pool_dump_pct = 25"]
    assert report["best"] == finding
    assert report["vanished"] == [{"server": "db-0", "at": AT - 600}]
    assert report["suppressed"] == 1
    assert report["rules"][0]["read_bytes_saved_per_second"] == 7e6


@pytest.mark.parametrize("style", ["text", "csv", "markdown", "html"])
def test_every_form_names_the_server_and_the_change(sidecars: Answering, style: str) -> None:
    done = run("--prometheus", sidecars.url, "--format", style)
    assert done.exit_code == 0, done.output
    assert "db-1" in done.stdout
    assert "SET GLOBAL innodb_buffer_pool_dump_pct = 100" in done.stdout


def test_findings_that_the_configuration_suppresses_are_counted_alone(sidecars: Answering, tmp_path: Path) -> None:
    config = tmp_path / "advisor.yaml"
    config.write_text(f"suppress: [{{rule: {RULE}}}]")
    report = json.loads(run("--prometheus", sidecars.url, "--output", "json", "--config", str(config)).stdout)
    assert (report["findings"], report["suppressed"]) == ([], 2)


def test_verdicts_that_are_refused_leave_their_servers_out_with_the_error(sidecars: Answering) -> None:
    known = sidecars.answers
    sidecars.answers = lambda form: (
        plain(error("internal", "oops"), 500) if "recommendation|" in form["query"] else known(form)
    )
    report = json.loads(run("--prometheus", sidecars.url, "--output", "json").stdout)
    assert report["findings"] == []
    assert {"servers": ["db-1", "db-2"], "reason": "HTTP 500, internal: oops"} in report["not_asked"]


def test_one_server_or_a_shard_is_asked_alone(sidecars: Answering) -> None:
    one = json.loads(run("--prometheus", sidecars.url, "--output", "json", "--server", "db-1").stdout)
    assert [server["name"] for server in one["servers"]] == ["db-1"]
    assert 'instance=~"db-1:9104|db-1:9747"' in sidecars.asked[-1][1]["query"]
    parts = [
        json.loads(run("--prometheus", sidecars.url, "--output", "json", "--shard", f"{i}/2").stdout) for i in (0, 1)
    ]
    assert sorted(server["name"] for part in parts for server in part["servers"]) == ["db-1", "db-2", "db-3"]
    assert [part["shard"] for part in parts] == ["0/2", "1/2"]
    unknown = run("--prometheus", sidecars.url, "--server", "db-4")
    assert (unknown.exit_code, "no server db-4; did you mean db-" in unknown.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--prometheus", "http://u:p@x"], "--prometheus-config has a place for it"),
        (["--prometheus", "http://x/api/v1/query"], "leave out /api/v1/query"),
        (["--selector", "cluster=eu"], "no list of matchers"),
        (["--shard", "8/8"], "from 0/8 to 7/8"),
        (["--service", 'a="b"=gcp'], "one of aurora, rds, azure, cloudsql"),
        (["--window", "5m"], "not between 10m and 24h"),
        (["--identity", "replica"], "replica tells replicas of one server apart"),
        (["--header", "X-Scope-OrgID"], "has to be a header in a line"),
        (["--header", "@/no/such"], "cannot read /no/such"),
        (["--server", "a", "--shard", "0/2"], "do not go together"),
        (["--prometheus-config", "/no/such"], "/no/such"),
        ([], "cannot connect: Connection refused"),
    ],
)
def test_what_cannot_be_used_is_said(arguments: list[str], message: str) -> None:
    done = run(*(["--prometheus", "http://127.0.0.1:1"] if "--prometheus" not in arguments else []), *arguments)
    assert done.exit_code == 2, done.output
    assert message in done.stderr
    assert done.stdout == ""


def test_headers_and_a_login_come_from_files_and_the_environment(sidecars: Answering, tmp_path: Path) -> None:
    tenant, config = tmp_path / "tenant", tmp_path / "login.yml"
    tenant.write_text("X-Scope-OrgID: eu\n")
    config.write_text("authorization: {credentials: s3cret}\n")
    options = ("--prometheus", sidecars.url, "--header", f"@{tenant}", "--prometheus-config", str(config))
    assert run(*options, environment={"INNODB_ADVISOR_PROMETHEUS_HEADERS": "X-More: yes"}).exit_code == 0
    headers = sidecars.asked[-1][2]
    assert (headers["x-scope-orgid"], headers["x-more"], headers["authorization"]) == ("eu", "yes", "Bearer s3cret")


def test_nobody_and_a_broken_selector_are_no_reports() -> None:
    with fleet({}) as empty:
        done = run("--prometheus", empty.url, "--selector", 'a="b"', "--output", "json")
        assert (done.exit_code, done.stdout) == (2, "")
        assert 'there are no series innodb_up or mysql_up of {a="b"}' in done.stderr
        empty.answers = lambda _: plain(error("bad_data", "parse error"), 400)
        assert "HTTP 400, bad_data: parse error" in run("--prometheus", empty.url).stderr


def test_two_servers_under_one_identity_get_no_advice() -> None:
    series: Told = {
        "timestamp(": [
            ({"instance": "db-2", "start": "max_peer"}, 5_000.0),
            ({"instance": "db-2", "start": "min_peer"}, 1_000.0),
        ],
        "unless": [],
        "innodb_up|mysql_up": [
            ({"instance": "db-1:3306", "__name__": "mysql_up"}, 1.0),
            ({"instance": "db-1:3307", "__name__": "mysql_up"}, 1.0),
            ({"instance": "db-2", "__name__": "mysql_up"}, 1.0),
            ({"instance": "db-3:9104", "__name__": "mysql_up"}, 1.0),
            ({"instance": "db-3:9747", "__name__": "innodb_up"}, 1.0),
            ({"job": "nameless", "__name__": "mysql_up"}, 1.0),
        ],
    }
    with fleet(series) as answering:
        report = json.loads(run("--prometheus", answering.url, "--output", "json").stdout)
    reasons = {name: group["reason"] for group in report["not_asked"] for name in group["servers"]}
    assert reasons.pop("db-3") == "no sample at the window's end"
    assert "db-1:3306 and db-1:3307 are both db-1" in reasons["db-1"]
    assert "two servers that started 4000 s apart" in reasons["db-2"]
    clocks, nameless = report["warnings"]
    assert re.fullmatch(r"the clock of this machine is \d+ h ahead of that of Prometheus", clocks)
    assert nameless == "1 series of servers have none of the labels cluster, namespace, pod, instance: name others"


def test_an_interrupted_reading_says_so_and_prints_nothing() -> None:
    held = threading.Event()

    def answers(_: Form) -> tuple[int, Mapping[str, str], bytes]:
        os.kill(os.getpid(), signal.SIGINT)
        held.wait(DEADLINE)
        return zipped(vector())

    with Answering(answers) as slow:
        done = run("--prometheus", slow.url)
        held.set()
    assert (done.exit_code, done.stdout, done.stderr) == (130, "", "interrupted\n")


def finding(server: str, rule: str, saved: float | None, *, severity: str = "warning", table: str = "") -> FleetFinding:
    return FleetFinding(
        server=server,
        source=Source.VERDICT,
        rule=rule,
        severity=Severity(severity),
        subject={"schema": "shop", "table": table} if table else {},
        fingerprint="0" * 16,
        read_bytes_saved_per_second=saved,
    )


def test_of_two_findings_on_one_table_only_the_larger_counts() -> None:
    findings = [
        finding("a", "scan", 5.0, table="t"),
        finding("a", "count", 9.0, table="t"),
        finding("a", "scan", 2.0, table="u"),
        finding("b", "scan", 1.0, table="t"),
        finding("b", "unsafe", None, severity="critical"),
        finding("c", "scan", 0.0, table="t"),
    ]
    rules = sums.by_rule(findings, {})
    assert [(rule.rule, rule.findings, rule.servers, rule.read_bytes_saved_per_second) for rule in rules] == [
        ("count", 1, 1, 9.0),
        ("scan", 4, 3, 3.0),
        ("unsafe", 1, 1, None),
    ]
    assert [
        (server.server, server.read_bytes_saved_per_second, server.worst.value) for server in sums.top_servers(findings)
    ] == [
        ("a", 11.0, "warning"),
        ("b", 1.0, "critical"),
        ("c", 0.0, "warning"),
    ]
    best = sums.best(findings)
    assert best
    assert (best.server, best.rule) == ("a", "count")
    assert [ranked.rule for ranked in sums.ranked(findings)][:3] == ["unsafe", "count", "scan"]
    assert sums.best([findings[-1], findings[-2]]) is None
