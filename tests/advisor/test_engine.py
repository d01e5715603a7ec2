"""The engine gives the same advice for the same window, and says what a rule could not see instead of guessing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from advisor import engine, rule
from advisor.recommendation import Advice
from advisor.rule import Rule
from advisor.window import Window
from exporter.snapshot import FileReads, Index, IndexSize, IndexSizes, Outcome, Table
from tests.advisor.building import RULES_FOLDER, advised, captured, pool, scanned, server, snapshot, variables

MakeRule = Callable[..., Rule]
TWO = Window((snapshot(10), snapshot(20)))


def scanning(*passes: float, **sections: Any) -> Window:
    """A table of 11,400 pages that is read from disk at each of these passes, ten seconds apart."""
    return Window(tuple(scanned(10.0 * k, n, round(n * 11_400), **sections) for k, n in enumerate(passes)))


def of(advice: Advice) -> tuple[list[str], list[tuple[str, str]]]:
    return [found.rule for found in advice.recommendations], [(each.rule, each.lacks) for each in advice.blind]


def test_a_rule_that_holds_gives_a_recommendation(make_rule: MakeRule) -> None:
    rule = make_rule(
        when=["setting.innodb_old_blocks_pct == 37.0"],
        summary="watched {window.seconds:number} s",
        cost={"quantity": "young pages", "now": "100.0", "predicted": "100.0 / 3.0"},
    )
    advice = advised(TWO, rule)
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
    assert of(advised(Window((scanned(10, 0, 0),)))) == (
        [],
        [("change-buffering-without-benefit", "window"), ("scan-exceeds-old-sublist", "window")],
    )


def test_a_rule_for_other_servers_says_nothing(make_rule: MakeRule) -> None:
    window = Window((snapshot(10, of=server("11.8.6-MariaDB")), snapshot(20, of=server("11.8.6-MariaDB"))))
    assert of(advised(window, make_rule(applies={"mysql": {"from": "5.6"}}))) == ([], [])
    assert of(advised(window, make_rule(applies={"mariadb": {"below": "11.0"}}, needs=["pools"]))) == ([], [])
    assert of(advised(window, make_rule(applies={"mariadb": {"from": "11.0"}})))[0] == ["plain"]


def test_a_fact_that_is_not_known_makes_a_rule_blind(make_rule: MakeRule) -> None:
    [blind] = advised(TWO, make_rule(when=["ibuf.merges > 1.0"])).blind
    assert (blind.lacks, blind.reason) == ("ibuf.merges", "ibuf.merges is not known")


def test_a_let_that_is_not_known_names_the_fact_behind_it(make_rule: MakeRule) -> None:
    rule = make_rule(let={"twice": "ibuf.merges * 2.0", "more": "twice + 1.0"}, when=["more > 1.0"])
    assert of(advised(TWO, rule)) == ([], [("plain", "ibuf.merges")])


def test_a_fact_of_a_table_that_is_not_known_names_the_table(make_rule: MakeRule) -> None:
    rule = make_rule(for_each="scans", needs=["table_scans"], when=["scan.pages_read > 1.0"])
    [blind] = advised(scanning(0, 1, 2, table_files=None), rule).blind
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
        ({"change": [{"setting": "innodb_old_blocks_pct", "value": "96.0"}]}, "innodb_old_blocks_pct does not take 96"),
        ({"change": [{"setting": "innodb_old_blocks_pct", "value": "1.0 / 0.0"}]}, "does not take inf"),
        ({"change": [{"setting": "innodb_change_buffering", "value": "'some'"}]}, "does not take some"),
        ({"effect": {"quantity": "q", "predicted": "0.0 / 0.0"}}, "a value is nan"),
        ({"evidence": [{"name": "n", "value": "1.0 / 0.0", "source": "s"}]}, "a value is inf"),
    ],
)
def test_a_rule_that_fails_is_blind_and_others_go_on(make_rule: MakeRule, keys: dict[str, Any], reason: str) -> None:
    advice = advised(TWO, make_rule(**keys), make_rule(id="other"))
    [blind] = advice.blind
    assert (blind.rule, blind.lacks) == ("plain", "evaluation")
    assert reason in blind.reason
    assert [found.rule for found in advice.recommendations] == ["other"]


def test_a_setting_that_the_server_lacks_cannot_be_advised(make_rule: MakeRule) -> None:
    rule = make_rule(change=[{"setting": "innodb_parallel_read_threads", "value": 4}])
    assert of(advised(TWO, rule)) == ([], [("plain", "setting.innodb_parallel_read_threads")])


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
    [found] = advised(scanning(0, 1, 2, 3)).recommendations
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
    assert of(advised(scanning(0, 1, 2, 3, **sections)))[0] == []


def test_the_scan_rule_waits_for_two_passes() -> None:
    assert of(advised(scanning(0, 0.5, 1.9)))[0] == []


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
    began = time.monotonic()
    advice = advised(window, *(each for each in rule.load(RULES_FOLDER) if each.id == "scan-exceeds-old-sublist"))
    assert time.monotonic() - began < 5.0
    assert advice.recommendations == ()  # they are sixty times the pool
    [blind] = advice.blind  # once, not for each of the others
    assert blind.reason == "the model takes the 12 tables of which the most pages are scanned"


def test_no_rules_give_empty_advice() -> None:
    assert of(engine.advise((), TWO)) == ([], [])
