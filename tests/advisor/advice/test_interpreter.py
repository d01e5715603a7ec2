"""A rule is evaluated on each item: it fires, is silent, is blind, or fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from advisor.advice import evaluation
from advisor.advice.interpreter import evaluate
from advisor.contract.recommendation import Advice, Recommendation
from advisor.observe.window import Window
from advisor.rules.check import Rule
from advisor.rules.expressions import LONGEST_TEXT
from advisor.rules.file import MOST_LET
from exporter.collectors.count_statements import CountStatement
from exporter.collectors.index_sizes import IndexSize, IndexSizes
from exporter.snapshot import Index, ReadOutcome, Table
from tests.advisor.advice.windows import scanning, verdicts
from tests.advisor.building import advised, scanned, server, snapshot, variables

SCAN_RULE = "scan-exceeds-old-sublist"
MakeRule = Callable[..., Rule]
TWO = Window((snapshot(10), snapshot(20)))
OFF_RANGE = "(setting.innodb_old_blocks_pct + 59.0)"
NO_WORD = "server.family"


def test_a_false_condition_silences_a_rule(make_rule: MakeRule) -> None:
    assert verdicts(advised(TWO, make_rule(when=["1.0 > 0.0", "1.0 > 2.0"]))) == ([], [])


def test_a_true_exception_silences_a_rule(make_rule: MakeRule) -> None:
    assert verdicts(advised(TWO, make_rule(unless=["1.0 > 2.0", "window.seconds > 5.0"]))) == ([], [])


@pytest.mark.parametrize("outcome", [ReadOutcome(0.0, 0.0, "privilege", "SELECT denied", "GRANT PROCESS ON *.*"), None])
def test_a_rule_that_lacks_a_section_is_blind_and_says_why(make_rule: MakeRule, outcome: ReadOutcome | None) -> None:
    latest = snapshot(20, outcomes={"pools": outcome} if outcome else {})
    advice = advised(Window((snapshot(10), latest)), make_rule(needs=["pools", "variables"]))
    [blind] = advice.blind
    assert (blind.rule, blind.lacks) == ("plain", "pools")
    assert blind.reason == ("SELECT denied" if outcome else "not collected yet")
    assert blind.cure == ("GRANT PROCESS ON *.*" if outcome else None)
    assert advice.recommendations == ()


@pytest.mark.parametrize("keys", [{"when": ["window.seconds > 50.0"]}, {"unless": ["window.seconds > 5.0"]}])
def test_a_known_condition_settles_a_rule_that_lacks_a_section(make_rule: MakeRule, keys: dict[str, Any]) -> None:
    rule = make_rule(needs=["pools"], **keys)
    assert verdicts(advised(TWO, rule)) == ([], [])
    [evaluation] = evaluate([rule], TWO)
    assert [refusal.key for refusal in evaluation.refusals] == [*keys]
    assert verdicts(advised(Window((snapshot(10),)), rule))[1] == [("plain", "pools"), ("plain", "window")]


def test_a_list_that_cannot_be_read_may_hold_anything(make_rule: MakeRule) -> None:
    def lists(**keys: Any) -> Rule:
        return make_rule(for_each="counted", needs=["pools", "index_sizes", "count_statements"], **keys)

    unread = [("plain", "count_statements"), ("plain", "index_sizes"), ("plain", "pools")]
    assert verdicts(advised(TWO, lists(when=["counted.counts >= 3.0"]))) == ([], unread)
    assert verdicts(advised(TWO, lists(when=["counted.counts >= 3.0", "window.seconds > 50.0"]))) == ([], [])
    assert verdicts(advised(TWO, lists(when=["counted.counts >= 3.0"], unless=["window.seconds > 5.0"]))) == ([], [])


def test_what_is_known_of_items_settles_a_rule_without_their_sizes(make_rule: MakeRule) -> None:
    rule = make_rule(for_each="counted", needs=["index_sizes", "count_statements"], when=["counted.counts >= 3.0"])

    def counted(*executions: int) -> Window:
        return Window(
            tuple(
                snapshot(at, count_statements={Table("shop", "orders"): CountStatement(number, 0, 0, 0)})
                for at, number in zip((10, 20), executions, strict=True)
            )
        )

    assert verdicts(advised(counted(5, 5), rule)) == ([], [])
    assert verdicts(advised(counted(5, 7), rule)) == ([], [])
    assert verdicts(advised(counted(5, 8), rule)) == ([], [("plain", "index_sizes")])


def test_the_items_of_a_list_that_is_read_are_settled_one_by_one(make_rule: MakeRule) -> None:
    def scans(**keys: Any) -> Rule:
        return make_rule(for_each="scans", needs=["pools", "index_sizes", "table_files"], **keys)

    blind = [("plain", "table_files")]
    window = scanning(0, 1, 2, table_files=None)
    assert verdicts(advised(window, scans(when=["scan.passes > 1.0"]))) == ([], blind)
    assert verdicts(advised(window, scans(when=["scan.passes > 3.0"]))) == ([], [])
    assert verdicts(advised(window, scans(when=["scan.pages_read > 1.0"]))) == ([], blind)
    assert verdicts(advised(scanning(1, 1, 1, table_files=None), scans())) == ([], [])


def test_a_single_collection_makes_every_rule_blind() -> None:
    advice = advised(Window((scanned(10, 0, 0),)))
    assert advice.recommendations == ()
    assert {"change-buffering-without-benefit", SCAN_RULE} <= {b.rule for b in advice.blind if b.lacks == "window"}


def test_a_rule_for_other_servers_is_silent(make_rule: MakeRule) -> None:
    window = Window((snapshot(10, of=server("11.8.6-MariaDB")), snapshot(20, of=server("11.8.6-MariaDB"))))
    assert verdicts(advised(window, make_rule(applies={"mysql": {"from": "5.6"}}))) == ([], [])
    assert verdicts(advised(window, make_rule(applies={"mariadb": {"below": "11.0"}}, needs=["pools"]))) == ([], [])
    assert verdicts(advised(window, make_rule(applies={"mariadb": {"from": "11.0"}})))[0] == ["plain"]


def test_a_fact_that_is_not_known_makes_a_rule_blind(make_rule: MakeRule) -> None:
    [blind] = advised(TWO, make_rule(when=["ibuf.merges > 1.0"])).blind
    assert (blind.lacks, blind.reason) == ("ibuf.merges", "ibuf.merges is not known")


def test_a_rule_says_what_the_sources_leave_open(make_rule: MakeRule) -> None:
    reason = "{window.seconds:number} s tell\n  nothing"
    undecided = {"if": "window.seconds > 5.0", "lacks": "reads by statement", "reason": reason}
    [blind] = advised(TWO, make_rule(blind=undecided)).blind
    assert (blind.lacks, blind.reason) == ("reads by statement", "10 s tell nothing")
    assert verdicts(advised(TWO, make_rule(blind=undecided | {"if": "window.seconds > 50.0"}))) == (["plain"], [])
    assert verdicts(advised(TWO, make_rule(blind=undecided, when=["1.0 > 2.0"]))) == ([], [])


def test_a_let_that_is_not_known_names_the_fact_behind_it(make_rule: MakeRule) -> None:
    check = make_rule(let={"twice": "ibuf.merges * 2.0", "more": "twice + 1.0"}, when=["more > 1.0"])
    assert verdicts(advised(TWO, check)) == ([], [("plain", "ibuf.merges")])


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
def test_a_condition_that_says_no_settles_it_even_if_others_are_not_known_or_fail(
    make_rule: MakeRule, keys: dict[str, Any]
) -> None:
    assert verdicts(advised(TWO, make_rule(**keys))) == ([], [])


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
        ({"change": [{"setting": "innodb_change_buffering", "value": NO_WORD}]}, "does not take mysql"),
        ({"effect": {"quantity": "q", "predicted": "0.0 / 0.0"}}, "a value is nan"),
        ({"evidence": [{"name": "n", "value": "1.0 / 0.0", "source": "s"}]}, "a value is inf"),
    ],
)
def test_a_rule_that_fails_is_reported_as_failed(make_rule: MakeRule, keys: dict[str, Any], reason: str) -> None:
    advice = advised(TWO, make_rule(**keys), make_rule(id="other"))
    [failed] = advice.failed
    assert failed.rule == "plain"
    assert reason in failed.reason
    assert advice.blind == ()
    assert [finding.rule for finding in advice.recommendations] == ["other"]


@pytest.mark.parametrize(
    "let",
    [
        {"long": "setting.innodb_change_buffering"},
        {"surrogate": "setting.innodb_change_buffering"},
        {
            f"step_{number}": f"{'step_' + str(number - 1) if number else 'window.seconds'} * 1.5"
            for number in range(MOST_LET)
        },
    ],
    ids=["too-long", "no-text", "too-slow"],
)
def test_a_let_that_fails_or_takes_its_time_leaves_the_others_their_advice(
    make_rule: MakeRule, let: dict[str, str]
) -> None:
    value = {"long": "x" * (LONGEST_TEXT + 1), "surrogate": "\ud800"}.get(next(iter(let)), "all")
    window = Window(tuple(snapshot(at, variables=variables(innodb_change_buffering=value)) for at in (10, 20)))
    last = [*let][-1]
    when = f"{last} == 'none'" if len(let) == 1 else f"{last} > 1.0"
    broken = make_rule(let=let, when=[when], budget_seconds=1e-6)
    advice = advised(window, broken, make_rule(id="other"))
    assert [finding.rule for finding in advice.recommendations] == ["other"]
    assert [*(failed.rule for failed in advice.failed), *(blind.rule for blind in advice.blind)] == ["plain"]


def test_rules_that_took_the_time_of_all_leave_the_others_a_little(make_rule: MakeRule) -> None:
    tables = [Table("s", f"t{n}") for n in range(20)]
    sizes = IndexSizes({Index(t.schema, t.table, "PRIMARY"): IndexSize(100, 90, 1_000) for t in tables}, 0)
    window = Window(
        tuple(scanned(10.0 * k, 0, 0, index_sizes=sizes, table_scans=dict.fromkeys(tables, 2000 * k)) for k in range(3))
    )
    rule = make_rule(for_each="scans", needs=["table_scans"])
    advice = evaluation.advise([rule], window, seconds=0.0)
    assert len(advice.recommendations) == len(tables)


def lasting(condition: str, **keys: float) -> dict[str, Any]:
    return {"for_each": "scans", "needs": ["table_scans"], "lasting": {"condition": condition, **keys}}


BUSY, QUIET = 0.5, 0.2
BUSIER = "scan.passes >= 0.4"


@pytest.mark.parametrize(
    ("parts", "firing"),
    [
        ((BUSY,) * 8, ["plain"]),
        ((BUSY,) * 5 + (QUIET,) * 3, ["plain"]),
        ((QUIET,) * 4 + (BUSY,) * 4, []),
        ((BUSY,) + (QUIET,) * 7, []),
    ],
)
def test_a_finding_needs_its_lasting_condition_in_enough_slices(
    make_rule: MakeRule, parts: tuple[float, ...], firing: list[str]
) -> None:
    window = scanning(*(sum(parts[:n]) for n in range(len(parts) + 1)))
    check = make_rule(**lasting(BUSIER, share=0.6))
    assert verdicts(advised(window, check))[0] == firing


def test_a_finding_clears_later_than_it_came(make_rule: MakeRule) -> None:
    check = make_rule(**lasting(BUSIER, share=0.6, until=0.3))

    def advice(busy: int, *findings: Recommendation) -> Advice:
        parts = [BUSY] * busy + [QUIET] * (8 - busy)
        window = scanning(*(sum(parts[:n]) for n in range(9)))
        return evaluation.advise((check,), window, findings=findings)

    [finding] = advice(5).recommendations
    assert advice(4).recommendations == ()
    assert [len(advice(busy, finding).recommendations) for busy in (4, 3, 2)] == [1, 1, 0]
    assert advice(4, finding.model_copy(update={"fingerprint": "0" * 16})).recommendations == ()


def test_slices_without_a_known_condition_do_not_count(make_rule: MakeRule) -> None:
    """Rare passes: most slices have none, and no pages read per pass."""
    window = scanning(0, 1, 1, 1, 1, 2, 2, 2, 2)
    check = make_rule(**lasting("scan.pages_read_per_pass >= 0.5 * scan.pages", share=1.0))
    assert verdicts(advised(window, check))[0] == ["plain"]


def test_a_rule_that_runs_out_of_time_says_how_many_items_are_left(make_rule: MakeRule) -> None:
    tables = [Table("s", f"t{n}") for n in range(50)]
    sizes = IndexSizes({Index(t.schema, t.table, "PRIMARY"): IndexSize(100, 90, 1_000) for t in tables}, 0)
    window = Window(
        tuple(scanned(10.0 * k, 0, 0, index_sizes=sizes, table_scans=dict.fromkeys(tables, 2000 * k)) for k in range(3))
    )
    hasty = make_rule(for_each="scans", needs=["table_scans"], budget_seconds=1e-6)
    advice = advised(window, hasty, make_rule(id="other"))
    assert [finding.rule for finding in advice.recommendations].count("plain") == 1
    [blind] = advice.blind
    assert (blind.rule, blind.lacks) == ("plain", "time")
    assert blind.reason == "1 of 50 took its 1e-06 s: the others were not looked at"
    assert "other" in verdicts(advice)[0]


def test_the_time_of_a_rule_covers_the_model(make_rule: MakeRule) -> None:
    choosing = make_rule(
        for_each="scans",
        needs=["table_scans"],
        budget_seconds=1e-6,
        choose={"model": "lru", "setting": "innodb_old_blocks_pct"},
    )
    [blind] = advised(scanning(0, 1, 2, 3), choosing).blind
    assert (blind.lacks, blind.reason) == ("time", "the model took longer than the rule's time")


def test_the_time_of_all_rules_bounds_each_rule(make_rule: MakeRule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("advisor.advice.interpreter.LEAST_BUDGET_SECONDS", 0.0)  # in which a fast machine has an answer
    choosing = make_rule(
        for_each="scans", needs=["table_scans"], choose={"model": "lru", "setting": "innodb_old_blocks_pct"}
    )
    advice = evaluation.advise([choosing], scanning(0, 1, 2, 3), seconds=0.0)
    assert [(blind.lacks, blind.reason) for blind in advice.blind] == [
        ("time", "the model took longer than the rule's time")
    ]
