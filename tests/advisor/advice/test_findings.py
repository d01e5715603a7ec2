"""A recommendation has the changes and actions that the server accepts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from advisor.observe.window import Window
from advisor.rules.check import Rule
from exporter.collectors.index_sizes import IndexSize, IndexSizes
from exporter.collectors.table_scans import TABLE_SCANS
from exporter.snapshot import Index, Table
from tests.advisor.advice.windows import scanning, verdicts
from tests.advisor.building import advised, server, snapshot

MakeRule = Callable[..., Rule]
TWO = Window((snapshot(10), snapshot(20)))


def test_a_rule_that_holds_gives_a_recommendation(make_rule: MakeRule) -> None:
    check = make_rule(
        when=["setting.innodb_old_blocks_pct == 37.0"],
        summary="watched {window.seconds:number} s",
        cost={"quantity": "young pages", "now": "100.0", "predicted": "100.0 / 3.0"},
    )
    advice = advised(TWO, check)
    [finding] = advice.recommendations
    assert (finding.rule, finding.summary, finding.subject) == ("plain", "watched 10 s", {})
    assert (finding.evidence[0].value, finding.watched_seconds, finding.confidence) == (10, 10.0, 0.5)
    assert finding.cost is not None
    assert (finding.cost.now, finding.cost.predicted) == (100, 33.33)
    assert finding.changes[0].apply == ("SET GLOBAL innodb_old_blocks_pct = 80",)
    assert finding.changes[0].from_ == 37
    assert advice.server == "mysql 9.7.4"


def test_an_item_of_evidence_that_is_not_known_is_left_out(make_rule: MakeRule) -> None:
    merges, seconds = (
        {"name": name, "value": value, "source": "the server"}
        for name, value in (("merges", "ibuf.merges"), ("seconds", "window.seconds"))
    )
    check = make_rule(evidence=[merges, seconds])
    [finding] = advised(TWO, check).recommendations
    assert [fact.name for fact in finding.evidence] == ["seconds"]
    effect = {"quantity": "merges", "predicted": "ibuf.merges"}  # what it promises is no evidence
    assert verdicts(advised(TWO, make_rule(effect=effect))) == ([], [("plain", "ibuf.merges")])


def test_a_setting_that_the_server_lacks_cannot_be_advised(make_rule: MakeRule) -> None:
    check = make_rule(change=[{"setting": "innodb_ddl_threads", "value": 4}])
    assert verdicts(advised(TWO, check)) == ([], [("plain", "setting.innodb_ddl_threads")])


def test_set_persist_is_advised_to_mysql_8_and_later_only(make_rule: MakeRule) -> None:
    def persist(version: str) -> int:
        of_version = server(version)
        [finding] = advised(
            Window((snapshot(10, of=of_version), snapshot(20, of=of_version))), make_rule()
        ).recommendations
        return len(finding.changes[0].persist)

    assert [persist(version) for version in ("5.6.24", "5.7.44", "8.0.11", "9.7.4", "10.11.6-MariaDB")] == [
        0,
        0,
        1,
        1,
        0,
    ]


def test_changes_and_actions_whose_condition_is_false_or_not_known_are_left_out(make_rule: MakeRule) -> None:
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
    [finding] = advised(TWO, check).recommendations
    assert finding.changes == ()
    assert [(action.do, action.apply) for action in finding.actions] == [("wait 10 s", ("DO SLEEP(10)",))]


def test_a_finding_without_a_change_or_action_is_dropped(make_rule: MakeRule) -> None:
    check = make_rule(change=[{"setting": "innodb_old_blocks_pct", "value": 80, "if": "1.0 > 2.0"}])
    assert verdicts(advised(TWO, check)) == ([], [])


def test_a_change_to_the_present_value_is_not_advised(make_rule: MakeRule) -> None:
    there = {"setting": "innodb_old_blocks_pct", "value": 37}
    assert verdicts(advised(TWO, make_rule(change=[there]))) == ([], [])
    [finding] = advised(
        TWO, make_rule(change=[there, {"setting": "innodb_old_blocks_time", "value": 0}])
    ).recommendations
    assert [change.setting for change in finding.changes] == ["innodb_old_blocks_time"]


def test_an_action_fits_the_cloud_service(make_rule: MakeRule) -> None:
    acting = make_rule(action=[{"do": "stop", "apply": ["SET GLOBAL innodb_fast_shutdown = 0"]}])
    rds = replace(server(), managed="rds")
    [finding] = advised(Window((snapshot(10, of=rds), snapshot(20, of=rds))), acting).recommendations
    assert finding.actions[0].apply == ()
    assert "DB parameter group" in finding.actions[0].do


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
        tuple(snapshot.with_section(TABLE_SCANS, {table: 2_000 * n}) for n, snapshot in enumerate(window.snapshots))
    )
    [finding] = advised(window, check).recommendations
    assert finding.actions[0].apply == ("SELECT 1 FROM `sh``op`.`or ders`",)
