"""The chart's dashboards: up to date with their code, complete, and about exposed metrics."""

import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from advisor.advice import metrics as advisor_metrics
from advisor.alerting import delivery as alerting_metrics
from advisor.contract.recommendation import Severity
from advisor.ledger import metrics as ledger_metrics
from advisor.pool import metrics as curve_metrics
from exporter.recording import history as stored_history
from exporter.sampling import metrics as snapshot_metrics
from lab.programs import promtool
from lab.programs.prometheus import Prometheus
from tests.charts.grafana import Chosen, label_values
from tests.charts.promql import EXPOSED, labels
from tests.charts.test_alerts import RECORDED, rules
from tests.unavailable import if_available
from tools.dashboards import registry
from tools.dashboards.board import panels, queries
from tools.docs import links

MODELS = registry.models()
KINDS = {
    spec.name: spec.kind
    for module in (snapshot_metrics, stored_history, advisor_metrics, curve_metrics, ledger_metrics, alerting_metrics)
    for spec in module.SPECS.values()
}
CHOSEN = Chosen(
    {"cluster": ".*", "namespace": ".*", "job": ".+", "instance": ["db-1:9747", "db-2:9747"], "datasource": "any"},
    step=60.0,
    range=3600.0,
    scrape=15.0,
)
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
Parse = Callable[[str], Mapping[str, Any]]
NO_QUERY = {"row", "text"}
SELDOM = {"innodb_advisor_outcomes_total"}
"""Counters of what happens some times a year: their totals are shown, for no rate would show anything."""
WINDOWS = {("rate", "$__rate_interval"), ("last_over_time", "1h:$__interval")}

each_dashboard = pytest.mark.parametrize("uid", MODELS)


@pytest.fixture(scope="module")
def parse(prometheus: Prometheus) -> Parse:
    """The syntax tree of a dashboard's expression."""
    return functools.cache(lambda expression: prometheus.parse(CHOSEN.query(expression)))


@pytest.fixture(scope="module")
def known(prometheus: Prometheus) -> Mapping[str, frozenset[str]]:
    """The labels of each exposed or recorded metric."""
    known = dict(EXPOSED)
    for rule in rules(RECORDED):
        known[rule["record"]] = labels(prometheus.parse(rule["expr"]), known)
    return known


def expressions(uid: str) -> list[str]:
    """Every expression in a dashboard's panels, annotations and variables."""
    model = MODELS[uid]
    asked = [target["expr"] for _, target in queries(model)]
    asked += [event["expr"] for event in model["annotations"]["list"]]
    return asked + [label_values(variable["query"]["query"])[0] for variable in variables(uid)]


def variables(uid: str) -> list[Mapping[str, Any]]:
    """The variables of a dashboard whose values are asked for."""
    return [variable for variable in MODELS[uid]["templating"]["list"] if variable["type"] == "query"]


def selectors(tree: Any, function: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The selectors of a syntax tree, each with the function applied to it."""
    if isinstance(tree, list):
        for node in tree:
            yield from selectors(node, function)
    elif isinstance(tree, dict):
        if tree.get("type") in {"vectorSelector", "matrixSelector"}:
            yield function, tree
        within = tree["func"]["name"] if tree.get("type") == "call" else function
        for node in tree.values():
            yield from selectors(node, within)


def named(tree: Any) -> Iterator[tuple[set[str], set[str]]]:
    """The labels that each part of a syntax tree names, and the metrics of which one must have them."""
    if isinstance(tree, list):
        for node in tree:
            yield from named(node)
    elif isinstance(tree, dict):
        metrics = {selector["name"] for _, selector in selectors(tree)}
        match tree.get("type"):
            case "vectorSelector" | "matrixSelector":
                yield {matcher["name"] for matcher in tree["matchers"]} - {"__name__"}, metrics
            case "aggregation":
                yield set(tree["grouping"]), metrics
            case "binaryExpr" if tree["matching"]:
                yield {*tree["matching"]["labels"], *tree["matching"]["include"]}, metrics
        for node in tree.values():
            yield from named(node)


def test_the_charts_files_and_their_page_equal_the_codes_output() -> None:
    assert registry.stale() == [], "run python -m tools.dashboards"


def test_every_dashboard_is_on_the_page_and_its_links_resolve() -> None:
    page = registry.PAGE.read_text(encoding="utf-8")
    assert [uid for uid in MODELS if f"<!-- {uid}: " not in page] == []
    assert [link for link in links(page) if not (registry.PAGE.parent / link).exists()] == []


@each_dashboard
def test_grafanas_own_model_reads_it_without_loss(uid: str) -> None:
    model = MODELS[uid]
    read = json.loads(json.dumps(Dashboard.from_json(model), cls=JSONEncoder))
    for event in model["annotations"]["list"]:
        del event["titleFormat"], event["textFormat"]  # belongs to the data source; the model lacks it
    assert read == model


@each_dashboard
def test_its_uid_is_valid_and_its_panel_ids_are_unique(uid: str) -> None:
    assert re.fullmatch("[a-z-]{8,40}", uid)
    ids = [panel["id"] for panel in MODELS[uid]["panels"]]
    assert len(set(ids)) == len(ids)
    assert all(ids)


@each_dashboard
def test_no_panel_overlaps_another_or_leaves_the_grid(uid: str) -> None:
    places = [(panel["title"], panel["gridPos"]) for panel in MODELS[uid]["panels"]]
    assert [title for title, at in places if at["x"] + at["w"] > 24 or at["h"] < 1 or at["w"] < 1] == []
    assert [
        (one, other)
        for (one, a), (other, b) in combinations(places, 2)
        if a["x"] < b["x"] + b["w"]
        and b["x"] < a["x"] + a["w"]
        and a["y"] < b["y"] + b["h"]
        and b["y"] < a["y"] + a["h"]
    ] == []


@each_dashboard
def test_every_panel_has_a_description_a_unit_and_the_chosen_data_source(uid: str) -> None:
    for panel in panels(MODELS[uid]):
        assert len(panel["description"]) > 20, panel["title"]
        if panel["type"] in NO_QUERY:
            continue
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert panel["datasource"] == SOURCE
        assert [target["datasource"] for target in panel["targets"]] == [SOURCE] * len(panel["targets"])


@each_dashboard
def test_a_time_series_has_a_legend_with_last_and_max_and_only_one_panel_has_a_threshold(uid: str) -> None:
    for panel in panels(MODELS[uid]):
        if panel["type"] == "timeseries":
            assert all("{{" in target["legendFormat"] for target in panel["targets"]), panel["title"]
            assert panel["options"]["legend"]["displayMode"] == "table"
            assert panel["options"]["legend"]["calcs"] == ["lastNotNull", "max"]
        steps = panel.get("fieldConfig", {}).get("defaults", {}).get("thresholds", {}).get("steps", [])
        limits = [step["value"] for step in steps if step["value"] is not None]
        assert limits == ([1] if panel["title"] == "Operations per merge" else []), panel["title"]


@pytest.mark.system
@each_dashboard
def test_it_uses_exposed_metrics_and_labels(uid: str, parse: Parse, known: Mapping[str, frozenset[str]]) -> None:
    for expression in expressions(uid):
        for names, of in named(parse(expression)):
            assert of <= set(known), expression
            assert names <= frozenset[str]().union(*(known[metric] for metric in of)), expression


@pytest.mark.system
@each_dashboard
def test_series_filter_by_job_and_instance_and_rates_use_counters_and_the_rate_interval(uid: str, parse: Parse) -> None:
    for expression in expressions(uid):
        assert set(re.findall(r"(\w+)\((?:timestamp\()?[^[(]*\[(.*?)\]", expression)) <= WINDOWS
        for function, selector in selectors(parse(expression)):
            name, matched = selector["name"], {matcher["name"]: matcher["value"] for matcher in selector["matchers"]}
            matchers = {"cluster": ".*", "namespace": ".*", "job": ".+", "instance": "(db-1:9747|db-2:9747)"}
            if expression in {label_values(variable["query"]["query"])[0] for variable in variables(uid)}:
                assert matched.items() <= ({"__name__": "innodb_up"} | matchers).items(), expression
            else:
                assert matchers.items() <= matched.items(), expression
            assert (function == "rate") == (KINDS.get(name) == "counter" and name not in SELDOM), expression


RESTARTS: Mapping[str, tuple[str, list[int]]] = {
    "none": ("3600+60x20", []),
    "back at once: for two intervals": ("3600+60x9 20+60x9", [10, 11]),
    "back after ten minutes of crash recovery": ("86400+60x5 _x9 540+60x9", [15]),
    "back after longer than it was up": ("120+60x5 _x9 540+60x9", [15]),
    "not seen for ten minutes, and not restarted": ("120+60x5 _x9 1020+60x9", []),
    "nor if its uptime is rounded down": ("120+60x5 _x9 1019+60x9", []),
    "up for long when it is first watched": ("_x5 7200+60x14", []),
    "watched from its start": ("_x5 10+60x14", [5, 6]),
}
"""Uptimes of a server, a minute apart, and the minutes that are marked."""


@pytest.mark.system
def test_a_restart_is_marked_when_the_server_is_seen_again(tmp_path: Path) -> None:
    marks = next(annotation["expr"] for annotation in MODELS["innodb-advisor-lru"]["annotations"]["list"])
    series = 'innodb_server_uptime_seconds{job="innodb",instance="db-1:9747"}'
    cases = [
        {
            "name": name,
            "interval": "1m",
            "input_series": [{"series": series, "values": uptime}],
            "promql_expr_test": [
                {
                    "expr": f"count({CHOSEN.query(marks)})",
                    "eval_time": f"{minute}m",
                    "exp_samples": [{"labels": "{}", "value": 1}] if minute in minutes else [],
                }
                for minute in range(1, 20)
            ],
        }
        for name, (uptime, minutes) in RESTARTS.items()
    ]
    file = tmp_path / "restarts.yaml"
    file.write_text(json.dumps({"tests": cases}))
    assert if_available(promtool.run_tests, file, promtool.OLDEST) == ""


@each_dashboard
def test_it_has_variables_for_data_source_and_target_and_links_to_the_others(uid: str) -> None:
    model = MODELS[uid]
    names = [variable["name"] for variable in model["templating"]["list"]]
    assert names == ["datasource", "cluster", "namespace", "job", "instance"]
    assert [variable["name"] for variable in variables(uid)] == names[1:]
    assert all(variable["multi"] for variable in variables(uid))
    # All of a label that no target has must match the series without it.
    assert {variable["name"]: variable["allValue"] for variable in variables(uid)} == {
        "cluster": ".*",
        "namespace": ".*",
        "job": ".+",
        "instance": ".+",
    }
    assert [link["tags"] for link in model["links"]] == [["innodb-advisor"]]
    assert "innodb-advisor" in model["tags"]
    linked = re.findall(r"/d/([a-z-]+)", json.dumps(model))
    assert set(linked) <= set(MODELS)


def test_severities_have_their_colours_wherever_they_are_shown() -> None:
    def colours(panel: Mapping[str, Any], severity: str) -> set[str]:
        """The colours that a panel's overrides give to a severity: a line's own, or a text's in a table."""
        overrides = panel["fieldConfig"]["overrides"]
        own = [override["properties"] for override in overrides if override["matcher"]["options"] == severity]
        texts = [override["properties"] for override in overrides if override["matcher"]["options"] == "Severity"]
        lines = {field["value"]["fixedColor"] for fields in own for field in fields if field["id"] == "color"}
        mapped = [field["value"] for fields in texts for field in fields if field["id"] == "mappings"]
        return lines | {mapping["options"][severity]["color"] for mappings in mapped for mapping in mappings}

    coloured = [
        panel
        for model in MODELS.values()
        for panel in panels(model)
        if any("severity" in target["expr"] for target in panel.get("targets", ()))
        and (panel["type"] == "table" or "{{severity}}" in panel["targets"][0].get("legendFormat", ""))
        and panel["title"] != "Instances"  # counts findings of all severities
    ]
    assert {panel["title"] for panel in coloured} == {"Advice", "Findings by severity"}
    for panel in coloured:
        assert {severity: colours(panel, severity) for severity in Severity} == {
            "critical": {"red"},
            "warning": {"orange"},
            "info": {"blue"},
        }


@each_dashboard
def test_titles_are_unique(uid: str) -> None:
    titles = [panel["title"] for panel in panels(MODELS[uid])]
    assert len(set(titles)) == len(titles)
