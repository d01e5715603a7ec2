"""The engine gives the same advice for the same window, and says what a rule could not see instead of guessing."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from advisor.advice import evaluation
from advisor.advice.slices import slices
from advisor.contract.recommendation import Advice
from advisor.observe.window import Window
from advisor.rules import check
from advisor.rules.check import Rule
from exporter.collectors.data_files import FileReads
from exporter.collectors.index_sizes import IndexSize, IndexSizes
from exporter.collectors.table_scans import TABLE_SCANS
from exporter.snapshot import Index, Outcome, Table
from tests.advisor.building import RULES_FOLDER, advised, captured, pool, scanned, server, snapshot, variables

SCAN_RULE = "scan-exceeds-old-sublist"
MakeRule = Callable[..., Rule]
TWO = Window((snapshot(10), snapshot(20)))
OFF_RANGE = "(setting.innodb_old_blocks_pct + 59.0)"
NO_WORD = "setting.innodb_change_buffering + '-some'"


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


def test_the_first_condition_that_does_not_hold_silences_a_rule(make_rule: MakeRule) -> None:
    assert of(advised(TWO, make_rule(when=["1.0 > 0.0", "1.0 > 2.0"]))) == ([], [])


def test_an_exception_that_holds_silences_a_rule(make_rule: MakeRule) -> None:
    assert of(advised(TWO, make_rule(unless=["1.0 > 2.0", "window.seconds > 5.0"]))) == ([], [])


def test_the_worst_and_the_surest_come_first_and_ties_go_by_name(make_rule: MakeRule) -> None:
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
    assert of(advised(TWO, *rules))[0] == expected
    assert of(advised(TWO, *reversed(rules)))[0] == expected


def test_the_same_window_gives_the_same_bytes() -> None:
    texts = {advised(captured("mysql-9.7/repeated-scan")).model_dump_json(by_alias=True) for _ in range(3)}
    assert len(texts) == 1


def test_findings_of_one_rule_go_by_subject(make_rule: MakeRule) -> None:
    tables = [Table("s", name) for name in ("b", "a", "c")]
    sizes = IndexSizes({Index(t.schema, t.table, "PRIMARY"): IndexSize(100, 90, 1_000) for t in tables}, 0)
    window = Window(
        tuple(scanned(10.0 * k, 0, 0, index_sizes=sizes, table_scans=dict.fromkeys(tables, 2000 * k)) for k in range(3))
    )
    found = advised(window, make_rule(for_each="scans", needs=["table_scans"])).recommendations
    assert [each.subject["table"] for each in found] == ["a", "b", "c"]
    assert len({each.fingerprint for each in found}) == 3


@pytest.mark.parametrize("outcome", [Outcome(0.0, 0.0, "privilege", "SELECT denied", "GRANT PROCESS ON *.*"), None])
def test_a_rule_that_lacks_a_section_is_blind_and_says_why(make_rule: MakeRule, outcome: Outcome | None) -> None:
    latest = snapshot(20, outcomes={"pools": outcome} if outcome else {})
    advice = advised(Window((snapshot(10), latest)), make_rule(needs=["pools", "variables"]))
    [blind] = advice.blind
    assert (blind.rule, blind.lacks) == ("plain", "pools")
    assert blind.reason == ("SELECT denied" if outcome else "not collected yet")
    assert blind.cure == ("GRANT PROCESS ON *.*" if outcome else None)
    assert advice.recommendations == ()


def test_a_single_collection_makes_every_rule_blind() -> None:
    advice = advised(Window((scanned(10, 0, 0),)))
    assert advice.recommendations == ()
    assert {"change-buffering-without-benefit", SCAN_RULE} <= {b.rule for b in advice.blind if b.lacks == "window"}


def test_a_rule_for_other_servers_says_nothing(make_rule: MakeRule) -> None:
    window = Window((snapshot(10, of=server("11.8.6-MariaDB")), snapshot(20, of=server("11.8.6-MariaDB"))))
    assert of(advised(window, make_rule(applies={"mysql": {"from": "5.6"}}))) == ([], [])
    assert of(advised(window, make_rule(applies={"mariadb": {"below": "11.0"}}, needs=["pools"]))) == ([], [])
    assert of(advised(window, make_rule(applies={"mariadb": {"from": "11.0"}})))[0] == ["plain"]


def test_a_fact_that_is_not_known_makes_a_rule_blind(make_rule: MakeRule) -> None:
    [blind] = advised(TWO, make_rule(when=["ibuf.merges > 1.0"])).blind
    assert (blind.lacks, blind.reason) == ("ibuf.merges", "ibuf.merges is not known")


def test_a_let_that_is_not_known_names_the_fact_behind_it(make_rule: MakeRule) -> None:
    check = make_rule(let={"twice": "ibuf.merges * 2.0", "more": "twice + 1.0"}, when=["more > 1.0"])
    assert of(advised(TWO, check)) == ([], [("plain", "ibuf.merges")])


def test_a_fact_of_a_table_that_is_not_known_names_the_table(make_rule: MakeRule) -> None:
    check = make_rule(for_each="scans", needs=["table_scans"], when=["scan.pages_read > 1.0"])
    [blind] = advised(scanning(0, 1, 2, table_files=None), check).blind
    assert blind.reason == "scan.pages_read is not known for shop.orders"


@pytest.mark.parametrize(
    "keys",
    [
        {"when": ["1.0 > 2.0", "ibuf.merges > 1.0"]},
        {"when": ["ibuf.merges > 1.0", "1.0 > 2.0"]},
        {"unless": ["ibuf.merges > 1.0", "1.0 > 0.0"]},
        {"when": ["ibuf.merges > 1.0"], "unless": ["1.0 > 0.0"]},
        {"when": ["1.0 > 2.0"], "let": {"broken": "double('x')"}},
        {"when": ["double('x') > 1.0", "1.0 > 2.0"]},
    ],
)
def test_what_settles_it_does_so_whatever_else_is_not_known_or_fails(make_rule: MakeRule, keys: dict[str, Any]) -> None:
    assert of(advised(TWO, make_rule(**keys))) == ([], [])


@pytest.mark.parametrize(
    ("keys", "reason"),
    [
        ({"when": ["double('x') > 1.0"]}, "cannot convert string to double"),
        ({"let": {"broken": "double('x')"}, "when": ["broken > 1.0"]}, "cannot convert string to double"),
        ({"unless": ["double('x') > 1.0"]}, "cannot convert string to double"),
        (
            {"change": [{"setting": "innodb_old_blocks_pct", "value": OFF_RANGE}]},
            "innodb_old_blocks_pct does not take 96",
        ),
        ({"change": [{"setting": "innodb_old_blocks_pct", "value": f"{OFF_RANGE} / 0.0"}]}, "does not take inf"),
        ({"change": [{"setting": "innodb_change_buffering", "value": NO_WORD}]}, "does not take all-some"),
        ({"effect": {"quantity": "q", "predicted": "0.0 / 0.0"}}, "a value is nan"),
        ({"evidence": [{"name": "n", "value": "1.0 / 0.0", "source": "s"}]}, "a value is inf"),
    ],
)
def test_a_rule_that_fails_is_a_finding_about_the_rule(make_rule: MakeRule, keys: dict[str, Any], reason: str) -> None:
    advice = advised(TWO, make_rule(**keys), make_rule(id="other"))
    [failed] = advice.failed
    assert failed.rule == "plain"
    assert reason in failed.reason
    assert advice.blind == ()
    assert [found.rule for found in advice.recommendations] == ["other"]


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


def test_the_scan_rule_fires_on_a_full_pool_and_asks_for_what_holds_the_table() -> None:
    [found] = [each for each in advised(scanning(0, 1, 2, 3)).recommendations if each.rule == SCAN_RULE]
    assert found.effect is not None
    assert (found.rule, found.subject) == ("scan-exceeds-old-sublist", {"schema": "shop", "table": "orders"})
    assert (found.effect.now, found.effect.predicted) == (11_400, 0)
    assert found.changes[0].to == 74
    assert (found.cost and found.cost.now, found.cost and found.cost.predicted) == (10_315, 4_982)
    assert found.effect.read_bytes_saved_per_second == pytest.approx(11_400 * 16_384 / 10, rel=0.001)


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
    assert SCAN_RULE not in of(advised(scanning(0, 1, 2, 3, **sections)))[0]


def test_the_scan_rule_waits_for_two_passes() -> None:
    assert SCAN_RULE not in of(advised(scanning(0, 0.5, 1.9)))[0]


def test_an_hour_of_a_hundred_scanned_tables_is_judged_in_a_moment() -> None:
    tables = [Table("s", f"t{n}") for n in range(100)]
    sizes = IndexSizes({Index(t.schema, t.table, "PRIMARY"): IndexSize(10_000, 9_900, 80_000) for t in tables}, 0)
    window = Window(
        tuple(
            scanned(
                10.0 * k,
                0,
                0,
                index_sizes=sizes,
                table_scans=dict.fromkeys(tables, k * 4000),
                table_files={t: FileReads(k * 500, k * 500 * 16_384, 0.0) for t in tables},
            )
            for k in range(361)
        )
    )
    began = time.process_time()
    advice = advised(window, *(each for each in check.load(RULES_FOLDER) if each.id == "scan-exceeds-old-sublist"))
    assert time.process_time() - began < 5.0
    assert advice.recommendations == ()  # they are sixty times the pool
    [blind] = advice.blind  # once, not for each of the others
    assert blind.reason == "the model takes the 12 tables of which the most pages are scanned"


def test_no_rules_give_empty_advice() -> None:
    assert of(evaluation.advise((), TWO)) == ([], [])


def lasting(condition: str, **keys: float) -> dict[str, Any]:
    return {"for_each": "scans", "needs": ["table_scans"], "lasting": {"condition": condition, **keys}}


BUSY, QUIET = 0.5, 0.2
"""Passes between two collections: a share of a table is looked at, or less of it."""
BUSIER = "scan.passes >= 0.4"


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ((BUSY,) * 8, ["plain"]),
        ((BUSY,) * 5 + (QUIET,) * 3, ["plain"]),
        ((QUIET,) * 4 + (BUSY,) * 4, []),
        ((BUSY,) + (QUIET,) * 7, []),
    ],
)
def test_a_finding_needs_its_condition_over_the_stated_part_of_the_window(
    make_rule: MakeRule, parts: tuple[float, ...], found: list[str]
) -> None:
    window = scanning(*(sum(parts[:n]) for n in range(len(parts) + 1)))
    check = make_rule(**lasting(BUSIER, share=0.6))
    assert of(advised(window, check))[0] == found


def test_a_finding_that_stands_goes_later_than_it_came(make_rule: MakeRule) -> None:
    check = make_rule(**lasting(BUSIER, share=0.6, until=0.3))

    def advice(busy: int, findings: frozenset[str]) -> Advice:
        parts = [BUSY] * busy + [QUIET] * (8 - busy)
        window = scanning(*(sum(parts[:n]) for n in range(9)))
        return evaluation.advise((check,), window, findings=findings)

    [found] = advice(5, frozenset()).recommendations
    findings = frozenset({found.fingerprint})
    assert advice(4, frozenset()).recommendations == ()
    assert [len(advice(busy, findings).recommendations) for busy in (4, 3, 2)] == [1, 1, 0]
    assert advice(4, frozenset({"0" * 16})).recommendations == ()


def test_parts_of_the_window_that_do_not_know_the_condition_do_not_count(make_rule: MakeRule) -> None:
    """A pass now and then: most parts have none, and no pages read a pass."""
    window = scanning(0, 1, 1, 1, 1, 2, 2, 2, 2)
    check = make_rule(**lasting("scan.pages_read_per_pass >= 0.5 * scan.pages", share=1.0))
    assert of(advised(window, check))[0] == ["plain"]


@pytest.mark.parametrize("refusals", [1, 2, 7, 8, 9, 360])
def test_the_slices_of_a_window_leave_nothing_out(refusals: int) -> None:
    window = Window(tuple(snapshot(10 * n) for n in range(refusals + 1)))
    parts = list(slices(window))
    assert len(parts) == min(8, refusals)
    assert (parts[0].snapshots[0], parts[-1].latest) == (window.snapshots[0], window.latest)
    assert all(before.latest is after.snapshots[0] for before, after in pairwise(parts))
    lengths = [len(part.snapshots) for part in parts]
    assert max(lengths) - min(lengths) <= 1


def test_a_rule_that_runs_out_of_time_says_what_it_left_out(make_rule: MakeRule) -> None:
    tables = [Table("s", f"t{n}") for n in range(50)]
    sizes = IndexSizes({Index(t.schema, t.table, "PRIMARY"): IndexSize(100, 90, 1_000) for t in tables}, 0)
    window = Window(
        tuple(scanned(10.0 * k, 0, 0, index_sizes=sizes, table_scans=dict.fromkeys(tables, 2000 * k)) for k in range(3))
    )
    hasty = make_rule(for_each="scans", needs=["table_scans"], budget_seconds=1e-6)
    advice = advised(window, hasty, make_rule(id="other"))
    assert [found.rule for found in advice.recommendations].count("plain") == 1
    [blind] = advice.blind
    assert (blind.rule, blind.lacks) == ("plain", "time")
    assert blind.reason == "1 of 50 took its 1e-06 s: the others were not looked at"
    assert "other" in of(advice)[0]


def test_the_time_of_a_rule_covers_the_model(make_rule: MakeRule) -> None:
    choosing = make_rule(
        for_each="scans",
        needs=["table_scans"],
        budget_seconds=1e-6,
        choose={"model": "lru", "setting": "innodb_old_blocks_pct"},
    )
    [blind] = advised(scanning(0, 1, 2, 3), choosing).blind
    assert (blind.lacks, blind.reason) == ("time", "the model took longer than the rule's time")


def test_what_all_rules_may_take_bounds_each_of_them(make_rule: MakeRule) -> None:
    choosing = make_rule(
        for_each="scans", needs=["table_scans"], choose={"model": "lru", "setting": "innodb_old_blocks_pct"}
    )
    advice = evaluation.advise([choosing], scanning(0, 1, 2, 3), seconds=0.0)
    assert [(each.lacks, each.reason) for each in advice.blind] == [
        ("time", "the model took longer than the rule's time")
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
