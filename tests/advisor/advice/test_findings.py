"""A recommendation has the changes and actions that the server accepts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from advisor.contract.recommendation import Advice
from advisor.observe.window import Window
from advisor.rules.check import Rule
from exporter.collectors.index_sizes import IndexSize, IndexSizes
from exporter.collectors.table_scans import TABLE_SCANS
from exporter.snapshot import Index, Table
from tests.advisor.building import advised, scanned, server, snapshot

MakeRule = Callable[..., Rule]
TWO = Window((snapshot(10), snapshot(20)))


def scanning(*passes: float, **sections: Any) -> Window:
    """A table of 11,400 pages that is read from disk at each of these passes, ten seconds apart."""
    return Window(tuple(scanned(10.0 * k, n, round(n * 11_400), **sections) for k, n in enumerate(passes)))


def of(advice: Advice) -> tuple[list[str], list[tuple[str, str]]]:
    return [found.rule for found in advice.recommendations], [(each.rule, each.lacks) for each in advice.blind]


def test_a_rule_that_holds_gives_a_recommendation(make_rule: MakeRule) -> None:
    check = make_rule(
        when=["setting.innodb_old_blocks_pct == 37.0"],
        summary="watched {window.seconds:number} s",
        cost={"quantity": "young pages", "now": "100.0", "predicted": "100.0 / 3.0"},
    )
    advice = advised(TWO, check)
    [found] = advice.recommendations
    assert (found.rule, found.summary, found.subject) == ("plain", "watched 10 s", {})
    assert (found.evidence[0].value, found.watched_seconds, found.confidence) == (10, 10.0, 0.5)
    assert found.cost is not None
    assert (found.cost.now, found.cost.predicted) == (100, 33.33)
    assert found.changes[0].apply == ("SET GLOBAL innodb_old_blocks_pct = 80",)
    assert found.changes[0].from_ == 37
    assert advice.server == "mysql 9.7.4"


def test_a_setting_that_the_server_lacks_cannot_be_advised(make_rule: MakeRule) -> None:
    check = make_rule(change=[{"setting": "innodb_ddl_threads", "value": 4}])
    assert of(advised(TWO, check)) == ([], [("plain", "setting.innodb_ddl_threads")])


def test_set_persist_is_advised_to_mysql_8_and_later_only(make_rule: MakeRule) -> None:
    def persist(version: str) -> int:
        of_version = server(version)
        [found] = advised(
            Window((snapshot(10, of=of_version), snapshot(20, of=of_version))), make_rule()
        ).recommendations
        return len(found.changes[0].persist)

    assert [persist(version) for version in ("5.6.24", "5.7.44", "8.0.11", "9.7.4", "10.11.6-MariaDB")] == [
        0,
        0,
        1,
        1,
        0,
    ]


def test_items_whose_own_condition_fails_or_is_not_known_are_left_out(make_rule: MakeRule) -> None:
    check = make_rule(
        change=[
            {"setting": "innodb_old_blocks_pct", "value": 80, "if": "1.0 > 2.0"},
            {"setting": "innodb_old_blocks_time", "value": 500, "if": "ibuf.merges > 1.0"},
        ],
        action=[
            {"do": "wait {window.seconds:number} s", "apply": ["DO SLEEP({window.seconds:number})"]},
            {"do": "nothing", "if": "ibuf.merges > 1.0"},
        ],
    )
    [found] = advised(TWO, check).recommendations
    assert found.changes == ()
    assert [(each.do, each.apply) for each in found.actions] == [("wait 10 s", ("DO SLEEP(10)",))]


def test_a_finding_with_nothing_left_to_do_is_none(make_rule: MakeRule) -> None:
    check = make_rule(change=[{"setting": "innodb_old_blocks_pct", "value": 80, "if": "1.0 > 2.0"}])
    assert of(advised(TWO, check)) == ([], [])


def test_a_setting_that_has_the_value_already_is_not_advised(make_rule: MakeRule) -> None:
    there = {"setting": "innodb_old_blocks_pct", "value": 37}
    assert of(advised(TWO, make_rule(change=[there]))) == ([], [])
    [found] = advised(TWO, make_rule(change=[there, {"setting": "innodb_old_blocks_time", "value": 0}])).recommendations
    assert [each.setting for each in found.changes] == ["innodb_old_blocks_time"]


def test_an_action_is_made_for_the_service_that_it_is_advised_to(make_rule: MakeRule) -> None:
    acting = make_rule(action=[{"do": "stop", "apply": ["SET GLOBAL innodb_fast_shutdown = 0"]}])
    rds = replace(server(), managed="rds")
    [found] = advised(Window((snapshot(10, of=rds), snapshot(20, of=rds))), acting).recommendations
    assert found.actions[0].apply == ()
    assert "DB parameter group" in found.actions[0].do


def test_a_name_is_quoted_as_sql_quotes_it(make_rule: MakeRule) -> None:
    check = make_rule(
        for_each="scans",
        needs=["table_scans"],
        action=[{"do": "look", "apply": ["SELECT 1 FROM {scan.schema:identifier}.{scan.table:identifier}"]}],
    )
    table = Table("sh`op", "or ders")
    sizes = IndexSizes({Index(table.schema, table.table, "PRIMARY"): IndexSize(100, 90, 1_000)}, 0)
    window = scanning(0, 1, 2, index_sizes=sizes)
    window = Window(
        tuple(each.with_section(TABLE_SCANS, {table: 2_000 * n}) for n, each in enumerate(window.snapshots))
    )
    [found] = advised(window, check).recommendations
    assert found.actions[0].apply == ("SELECT 1 FROM `sh``op`.`or ders`",)
