"""Alerts and recording rules, checked by the oldest and the newest promtool and against the exposed metrics."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from advisor.advice import metrics as advisor_metrics
from advisor.contract.recommendation import Severity
from advisor.rules.rulebook import Rulebook
from exporter.sampling import metrics as exporter_metrics
from lab.packages.cache import REPOSITORY
from lab.programs import promtool
from lab.programs.prometheus import NEWEST, OLDEST, Prometheus, running
from tests.advisor.building import RULES_FOLDER, advised, captured
from tests.charts.pages import anchors
from tests.charts.promql import EXPOSED, EXPOSED_BY_FLEET, OF_PEER, TARGET, labels
from tests.unavailable import if_available, or_give_up

FOLDER = REPOSITORY / "charts" / "innodb-advisor" / "alerts"
ALERTS, RECORDED = FOLDER / "innodb-advisor.rules.yaml", FOLDER / "recording.rules.yaml"
OF_FLEET = FOLDER / "fleet.rules.yaml"
RECORDED_OF_PEER = FOLDER / "mysqld-exporter.rules.yaml"
CASES = Path(__file__).parent / "rules"
DOCS = REPOSITORY / "docs" / "alerting.md"

each_suite = pytest.mark.parametrize("suite", [OLDEST, NEWEST])


def load(path: Path) -> Any:
    return YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))


def rules(path: Path) -> list[Any]:
    return [rule for group in load(path)["groups"] for rule in group["rules"]]


each_alert = pytest.mark.parametrize("alert", [pytest.param(rule, id=rule["alert"]) for rule in rules(ALERTS)])
each_alert_of_all = pytest.mark.parametrize(
    "alert", [pytest.param(rule, id=rule["alert"]) for rule in (*rules(ALERTS), *rules(OF_FLEET))]
)


@pytest.mark.system
@each_suite
def test_promtool_finds_no_problem(suite: str) -> None:
    assert if_available(promtool.check_rules, suite, *sorted(FOLDER.glob("*.yaml"))) == ""


@pytest.mark.system
@each_suite
def test_the_promtool_cases_pass(suite: str) -> None:
    first, *more = sorted(CASES.glob("*.yaml"))
    assert if_available(promtool.run_tests, first, suite, *more) == ""


OF_CAPTURES = {
    "mysql-9.7/idle": [],
    "mysql-5.6/idle": [],
    # performance_schema is off by default: that is advice, not a failure, and is reported once.
    "mariadb-10.5/idle": ["InnoDBAdvice"],
    "mariadb-10.11/idle": ["InnoDBAdvice"],
    "mariadb-11.8/idle": ["InnoDBAdvice"],
    "mysql-9.7/unprivileged": ["InnoDBAdvice", "InnoDBExporterCollectorFailing"],
}
"""What fires for what a real server answered."""


@pytest.fixture(scope="module")
def of_captures() -> list[dict[str, str]]:
    """The sidecar's metrics for each capture as promtool input, constant for 100 minutes."""
    rules = Rulebook(RULES_FOLDER)
    series = []
    for name in OF_CAPTURES:
        window = captured(name)
        families = *exporter_metrics.families(window.latest), *advisor_metrics.families(advised(window), rules)
        for sample in [sample for family in families for sample in family.samples]:
            of_it = {**sample.labels, "job": "innodb", "instance": name}
            written = ",".join(f"{label}={json.dumps(value)}" for label, value in of_it.items())
            series.append({"series": f"{sample.name}{{{written}}}", "values": f"{sample.value:.17g}x20"})
    return series


@pytest.mark.system
@each_suite
def test_captures_of_real_servers_fire_exactly_these_alerts(
    suite: str, of_captures: list[dict[str, str]], tmp_path: Path
) -> None:
    fires = [
        {"labels": f'{{alertname="{alert}",instance="{name}"}}', "value": 1}
        for name, alerts in OF_CAPTURES.items()
        for alert in alerts
    ]
    asked = {"expr": 'group by (alertname, instance) (ALERTS{alertstate="firing"})', "eval_time": "100m"}
    case = {"interval": "5m", "input_series": of_captures, "promql_expr_test": [{**asked, "exp_samples": fires}]}
    file = tmp_path / "captures.yaml"
    file.write_text(json.dumps({"rule_files": [str(ALERTS)], "evaluation_interval": "5m", "tests": [case]}))
    assert if_available(promtool.run_tests, file, suite) == ""


@each_alert
def test_each_alert_has_a_case_that_fires_and_one_that_does_not(alert: Any) -> None:
    tests = load(CASES / f"{alert['alert']}.yaml")["tests"]
    firing = [case for test in tests for case in test.get("alert_rule_test", ()) if case.get("exp_alerts")]
    assert {case["alertname"] for case in firing} == {alert["alert"]}
    assert [test for test in tests if test["name"].startswith("silent ")]


@pytest.mark.parametrize("path", [RECORDED, RECORDED_OF_PEER], ids=lambda path: path.name)
def test_each_record_has_a_case(path: Path) -> None:
    cases = load(CASES / path.name.replace(".rules", ""))["tests"]
    asked = {case["expr"] for test in cases for case in test["promql_expr_test"]}
    assert {rule["record"] for rule in rules(path)} <= asked


def test_each_alert_of_the_fleet_has_a_case_that_fires_and_one_that_does_not() -> None:
    tests = load(CASES / "fleet.yaml")["tests"]
    asked = [(case["alertname"], bool(case.get("exp_alerts"))) for test in tests for case in test["alert_rule_test"]]
    assert set(asked) == {(rule["alert"], fires) for rule in rules(OF_FLEET) for fires in (True, False)}


@each_alert_of_all
def test_each_alert_has_a_delay_a_description_and_a_runbook(alert: Any) -> None:
    assert alert["for"]
    severity = alert.get("labels", {}).get("severity")
    # InnoDBAdvice has the rule's severity.
    assert severity in set(Severity) or (severity is None and "severity" in EXPOSED[alert_metric(alert)])
    assert set(alert["annotations"]) == {"summary", "description", "page_url", "runbook_url"}
    assert "First: " in alert["annotations"]["description"]
    assert alert["alert"].lower() in anchors(DOCS.read_text(encoding="utf-8"))
    of = "rules/{{ $labels.rule }}" if alert["alert"] == "InnoDBAdvice" else f"runbooks/{alert['alert']}"
    assert f"/{of}{{{{ end }}}}" in alert["annotations"]["runbook_url"]


def alert_metric(alert: Any) -> str:
    match = re.search(r"innodb_\w+", alert["expr"])
    assert match
    return match[0]


def test_only_a_server_that_is_down_is_critical() -> None:
    critical = [rule["alert"] for rule in rules(ALERTS) if rule.get("labels", {}).get("severity") == "critical"]
    assert critical == ["InnoDBDown"]


@pytest.mark.system
@each_alert_of_all
def test_each_alert_uses_exposed_metrics_and_labels(alert: Any, prometheus: Prometheus) -> None:
    known = {**EXPOSED, **EXPOSED_BY_FLEET}
    there = labels(prometheus.parse(alert["expr"]), known) | {"alertname", *alert.get("labels", {})}
    assert there >= TARGET
    for text in alert["annotations"].values():
        used = set(re.findall(r"\$labels\.(\w+)", text))
        assert used <= there
        for query in re.findall(r'printf ("(?:[^"\\]|\\.)*")', text):
            asked = json.loads(query).replace("%q", '"x"').replace("%s", 'job="x"')
            labels(prometheus.parse(f"innodb_up{{{asked}}}" if asked.startswith("cluster=") else asked), known)


@pytest.mark.system
def test_records_are_named_by_level_metric_and_operations(prometheus: Prometheus) -> None:
    known = {**EXPOSED, **OF_PEER}
    for rule in (*rules(RECORDED), *rules(RECORDED_OF_PEER)):
        level, metric, operations = rule["record"].split(":")
        there = labels(prometheus.parse(rule["expr"]), known)
        # instance stands for all labels of the target.
        expected = {label for word in level.split("_") for label in (TARGET if word == "instance" else {word})}
        assert there == expected
        assert operations
        for part in metric.split("_per_innodb_" if "_per_innodb_" in metric else "::"):
            assert ":ratio" in rule["record"] or {part, f"{part}_total"} & {*EXPOSED, *OF_PEER}
        known[rule["record"]] = there


@pytest.mark.system
def test_the_oldest_prometheus_accepts_the_shipped_rules(tmp_path: Path) -> None:
    files = [ALERTS, OF_FLEET, RECORDED, RECORDED_OF_PEER]
    with or_give_up(running(tmp_path, [], rules=files, suite=OLDEST)) as started:
        loaded = {rule["name"]: rule["health"] for rule in started.rules()}
    assert set(loaded) == {rule.get("alert") or rule["record"] for path in files for rule in rules(path)}
    assert "err" not in loaded.values()
