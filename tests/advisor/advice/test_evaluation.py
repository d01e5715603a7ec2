"""The same window gives the same advice, in the same order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from advisor.advice import evaluation
from advisor.casetest.execution import BUDGET_SECONDS
from advisor.observe.window import Window
from advisor.rules.check import Rule
from exporter.collectors.data_files import FileReads
from exporter.collectors.index_sizes import IndexSize, IndexSizes
from exporter.snapshot import Index, Table
from tests.advisor.advice.windows import scanning, verdicts
from tests.advisor.building import advised, built_in_rule, captured, pool, scanned, snapshot, variables

SCAN_RULE = "scan-exceeds-old-sublist"
MakeRule = Callable[..., Rule]
TWO = Window((snapshot(10), snapshot(20)))


def test_findings_go_by_severity_then_confidence_then_name(make_rule: MakeRule) -> None:
    rules = [
        make_rule(id=name, severity=severity, confidence=confidence)
        for name, severity, confidence in (
            ("z", "info", 0.9),
            ("b", "critical", 0.2),
            ("y", "warning", 0.5),
            ("c", "warning", 0.8),
            ("a", "warning", 0.5),
        )
    ]
    expected = ["b", "c", "a", "y", "z"]
    assert verdicts(advised(TWO, *rules))[0] == expected
    assert verdicts(advised(TWO, *reversed(rules)))[0] == expected


@pytest.mark.parametrize("name", ["mysql-8.0/idle", "mysql-8.0/warm-pool", "mysql-5.6/idle", "mysql-5.6/warm-pool"])
def test_no_advice_rests_on_a_default_alone(name: str) -> None:
    """These read through the page cache, as MySQL does by default before 8.4, and their pools hold all they need."""
    assert advised(captured(name)).recommendations == ()


def test_the_same_window_gives_the_same_bytes() -> None:
    texts = {advised(captured("mysql-9.7/repeated-scan")).model_dump_json(by_alias=True) for _ in range(3)}
    assert len(texts) == 1


def test_findings_of_one_rule_are_ordered_by_subject(make_rule: MakeRule) -> None:
    tables = [Table("s", name) for name in ("b", "a", "c")]
    sizes = IndexSizes({Index(t.schema, t.table, "PRIMARY"): IndexSize(100, 90, 1_000) for t in tables}, 0)
    window = Window(
        tuple(scanned(10.0 * k, 0, 0, index_sizes=sizes, table_scans=dict.fromkeys(tables, 2000 * k)) for k in range(3))
    )
    findings = advised(window, make_rule(for_each="scans", needs=["table_scans"])).recommendations
    assert [finding.subject["table"] for finding in findings] == ["a", "b", "c"]
    assert len({finding.fingerprint for finding in findings}) == 3


def test_the_scan_rule_fires_on_a_full_pool_and_asks_for_what_holds_the_table() -> None:
    [finding] = [finding for finding in advised(scanning(0, 1, 2, 3)).recommendations if finding.rule == SCAN_RULE]
    assert finding.effect is not None
    assert (finding.rule, finding.subject) == ("scan-exceeds-old-sublist", {"schema": "shop", "table": "orders"})
    assert (finding.effect.now, finding.effect.predicted) == (11_400, 0)
    assert finding.changes[0].to == 74
    assert (finding.cost and finding.cost.now, finding.cost and finding.cost.predicted) == (10_315, 4_982)
    assert finding.effect.read_bytes_saved_per_second == pytest.approx(11_400 * 16_384 / 10, rel=0.001)


@pytest.mark.parametrize(
    "sections",
    [
        {"pools": (pool(size_pages=16_382, database_pages=4_000, old_pages=1_000, free_pages=12_000),)},
        {"variables": variables(innodb_old_blocks_pct="80")},
        {"table_files": {Table("shop", "orders"): FileReads(1, 16_384, 0.0)}},
        {"index_sizes": IndexSizes({Index("shop", "orders", "PRIMARY"): IndexSize(5_000, 4_900, 91_200)}, 0)},
    ],
    ids=["free pages hold it", "already followed", "nothing is read", "the old sublist holds it"],
)
def test_the_scan_rule_is_silent_where_its_advice_would_not_help(sections: dict[str, Any]) -> None:
    assert SCAN_RULE not in verdicts(advised(scanning(0, 1, 2, 3, **sections)))[0]


def test_the_scan_rule_waits_for_two_passes() -> None:
    assert SCAN_RULE not in verdicts(advised(scanning(0, 0.5, 1.4)))[0]


def test_of_fourteen_scanned_tables_the_model_takes_twelve() -> None:
    tables = [Table("s", f"t{n}") for n in range(14)]
    sizes = IndexSizes({Index(t.schema, t.table, "PRIMARY"): IndexSize(10_000, 9_900, 80_000) for t in tables}, 0)
    window = Window(
        tuple(
            scanned(
                10.0 * k,
                0,
                k * 60,
                index_sizes=sizes,
                table_scans=dict.fromkeys(tables, k * 24_000),
                table_files={t: FileReads(k * 3_000, k * 3_000 * 16_384, 0.0) for t in tables},
            )
            for k in range(61)
        )
    )
    advice = advised(window, built_in_rule(SCAN_RULE).with_budget(BUDGET_SECONDS))
    assert advice.recommendations == ()  # they are eight times the pool
    [blind] = advice.blind  # once, not for each of the two others
    assert blind.reason == "the model takes only the 12 tables with the most scanned pages"


def test_no_rules_give_empty_advice() -> None:
    assert verdicts(evaluation.advise((), TWO)) == ([], [])
