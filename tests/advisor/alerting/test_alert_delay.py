"""`for: 10m` of the shipped alert, in Prometheus' own evaluation, on a finding whose rule misses single samples."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path

from prometheus_client import Metric

from advisor.advice import metrics
from advisor.advice.judgement import Judgement, assess, judge
from advisor.observe.window import Window
from advisor.rules.check import Rule
from advisor.rules.rulebook import Rulebook, RuleSet
from lab.packages.cache import REPOSITORY, UnavailableHere
from lab.programs import promtool
from tests.advisor.building import RULES_FOLDER, scanned
from tests.unavailable import give_up

ALERTS = REPOSITORY / "charts" / "innodb-advisor" / "alerts" / "innodb-advisor.rules.yaml"
STEP = 30
METRIC = "innodb_advisor_recommendation"


def exposed(rule: Rule, *, stands: bool) -> Iterator[list[Metric]]:
    """The families at each scrape of half an hour, with a pass every 30 s. One in five reads nothing."""
    rules = Rulebook(RULES_FOLDER)
    reads = accumulate((11_400 if k % 5 else 0 for k in range(61)), initial=0)
    history = [scanned(STEP * k, k, pages) for k, pages in enumerate(reads)]
    before: dict[str, Judgement] = {}
    for number in range(2, len(history) + 1):
        window = Window.of(history[:number], 3600)
        judged = {judgement.rule: judgement for judgement in judge([rule], window, before=before)}
        before = judged if stands else {}
        yield list(metrics.families(assess(judged, window, RuleSet((rule,), {}, (), 0.0)).advice, rules))


def series(instance: str, scrapes: Iterator[list[Metric]]) -> dict[str, str]:
    """promtool's input: the metric at each scrape; Prometheus marks what is missing as stale."""
    labels, values = "", []
    for families in scrapes:
        samples = [sample for family in families for sample in family.samples if sample.name == METRIC]
        values.append("1" if samples else "stale")
        for sample in samples:
            of_it = {**sample.labels, "job": "innodb", "instance": instance}
            labels = ",".join(f"{label}={json.dumps(value)}" for label, value in of_it.items())
    return {"series": f"{METRIC}{{{labels}}}", "values": " ".join(values)}


def test_samples_that_a_rule_misses_do_not_reset_its_alert(make_rule: Callable[..., Rule], tmp_path: Path) -> None:
    rule = make_rule(
        for_each="scans", needs=["table_scans"], when=["scan.pages_read_last_pass >= 0.5 * scan.pages"], lasting=None
    )
    inputs = [series(name, exposed(rule, stands=name == "stands")) for name in ("stands", "forgotten")]
    assert all(
        "1 stale 1" in series_input["values"] for series_input in inputs if "forgotten" in series_input["series"]
    )
    expected = {
        'group by (instance) (count_over_time(ALERTS{alertstate="firing"}[30m]))': 1,
        'max by (instance) (changes(ALERTS_FOR_STATE{instance="stands"}[30m]))': 0,
    }
    case = {
        "interval": f"{STEP}s",
        "input_series": inputs,
        "promql_expr_test": [
            {"expr": asked, "eval_time": "29m", "exp_samples": [{"labels": '{instance="stands"}', "value": value}]}
            for asked, value in expected.items()
        ],
    }
    file = tmp_path / "delay.yaml"
    suite = {"rule_files": [str(ALERTS)], "evaluation_interval": f"{STEP}s", "tests": [case]}
    file.write_text(json.dumps(suite), encoding="utf-8")
    try:
        assert [promtool.run_tests(file, suite) for suite in (promtool.OLDEST, promtool.NEWEST)] == ["", ""]
    except UnavailableHere as error:
        give_up(f"promtool is unavailable here: {error}")
