"""Thresholds in a real Prometheus' evaluation: each member by itself, and outcomes since the plan alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from advisor.contract.plan import Threshold
from advisor.plan.thresholds import abort_when, done_when
from lab.programs import promtool
from tests.advisor.building import RECORDING, advised, captured
from tests.unavailable import if_available

RULE, TABLE = "scan-exceeds-old-sublist", {"schema": "shop", "table": "orders"}
KEPT = {"rule": RULE, "result": "kept"}
FINDING = {"rule": RULE, "subject": "shop.orders", "setting": "innodb_old_blocks_pct"}


def series(name: str, labels: dict[str, str], instance: str, values: str) -> dict[str, str]:
    written = ",".join(f'{label}="{value}"' for label, value in ({**labels, "instance": instance}).items())
    return {"series": f"{name}{{{written}}}", "values": values}


def thresholds() -> tuple[list[Threshold], tuple[Threshold, ...]]:
    [finding] = advised(captured(RECORDING)).recommendations
    return [*abort_when(finding, captured(RECORDING), restarts=True)], done_when(finding, at=600.0)


def firing(folder: Path, threshold: Threshold, *given: dict[str, str]) -> list[str]:
    """The instances for which a threshold holds at minute 25; the plan is of minute 10."""
    rules, test = folder / "rules.yaml", folder / "test.yaml"
    write(rules, {"groups": [{"name": "plan", "rules": [{"record": "holds", "expr": threshold.promql}]}]})
    instances = ["a", "b", "c"]
    held = []
    for instance in instances:
        expression = f'count(holds{{instance="{instance}"}})'
        samples = [{"labels": "{}", "value": 1}]
        query = {"expr": expression, "eval_time": "25m", "exp_samples": samples}
        suite = {
            "rule_files": [rules.name],
            "evaluation_interval": "1m",
            "tests": [{"interval": "1m", "input_series": [*given], "promql_expr_test": [query]}],
        }
        write(test, suite)
        if not if_available(promtool.run_tests, test):
            held.append(instance)
    return held


def write(path: Path, content: Any) -> None:
    with path.open("w") as file:
        YAML().dump(content, file)


def test_an_outcome_counts_from_the_plan_on(tmp_path: Path) -> None:
    _, (_, kept) = thresholds()
    name = "innodb_advisor_outcomes_total"
    given = (
        series(name, KEPT, "a", "_x15 1x15"),  # the first of this rule
        series(name, KEPT, "b", "2x30"),  # an earlier one
        series(name, KEPT, "c", "2x15 3x15"),
        series(name, {**KEPT, "result": "missed"}, "b", "_x15 1x15"),
    )
    assert firing(tmp_path, kept, *given) == ["a", "c"]


def test_harm_is_of_the_settings_that_the_plan_changes(tmp_path: Path) -> None:
    (away, harm, *_), _ = thresholds()
    labels = {**FINDING, "rule": "change-did-harm", "subject": "innodb_old_blocks_pct"}
    other = {**labels, "setting": "innodb_io_capacity"}
    name = "innodb_advisor_recommendation"
    assert firing(tmp_path, harm, series(name, labels, "a", "1x30"), series(name, other, "b", "1x30")) == ["a"]
    assert firing(
        tmp_path, away, *(series("innodb_up", {}, name, f"{up}x30") for name, up in zip("ab", "01", strict=True))
    ) == ["a"]


def test_a_member_that_reads_beyond_the_interval_is_named(tmp_path: Path) -> None:
    (_, _, scan, others), _ = thresholds()
    of_table, pages = "innodb_table_file_reads_total", "innodb_buffer_pool_pages_read_total"
    few, many = "0+60x30", "0+60000x30"  # 1 and 1,000 a second
    given = (series(of_table, TABLE, "a", few), series(of_table, TABLE, "b", many))
    assert firing(tmp_path, scan, *given) == ["b"]
    in_all = [series(pages, {"pool": pool}, name, many) for name in "ab" for pool in "01"]
    twice = series(of_table, TABLE, "b", "0+120000x30")
    assert firing(tmp_path, others, *in_all, given[0], twice) == ["a"]


def test_a_quantity_without_a_series_has_no_expression_and_no_threshold() -> None:
    [finding] = advised(captured(RECORDING)).recommendations
    aborts, done = thresholds()
    assert finding.cost is not None
    assert not any(finding.cost.quantity in threshold.what for threshold in aborts)
    assert all(threshold.promql for threshold in (*aborts, *done))
    bare = finding.model_copy(update={"effect": None})
    assert len(done_when(bare, at=0.0)) == 1


@pytest.mark.parametrize("suite", promtool.SUITES)
def test_absence_is_of_the_finding_alone(tmp_path: Path, suite: str) -> None:
    _, (gone, _) = thresholds()
    assert gone.promql == f'absent(innodb_advisor_recommendation{{rule="{RULE}",subject="shop.orders"}})'
    path = tmp_path / "rules.yaml"
    write(path, {"groups": [{"name": "plan", "rules": [{"alert": "Gone", "expr": gone.promql}]}]})
    assert if_available(promtool.check_rules, suite, path) == ""
