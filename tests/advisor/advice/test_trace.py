"""The trace says why a rule was silent: with the condition, and with the values that it saw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from advisor.advice import evaluation
from advisor.advice.interpreter import evaluate
from advisor.advice.trace import states
from advisor.observe.window import Window
from advisor.rules import check
from advisor.rules.check import Rule
from advisor.rules.configuration import Suppression
from tests.advisor.building import RULES_FOLDER, captured, scanned, server

MakeRule = Callable[..., Rule]
OLD_SUBLIST = check.load_file(RULES_FOLDER / "scan-exceeds-old-sublist.yaml")


def window(**sections: object) -> Window:
    return Window.of([scanned(100, 1, 11_400, **sections), scanned(110, 3, 33_000, **sections)], 3600)


def explained(of: Rule, seen: Window) -> list[str]:
    return [reason for evaluation in evaluate([of], seen, every_reason=True) for reason in evaluation.reasons]


def test_every_condition_that_says_no_is_named_with_its_values(make_rule: MakeRule) -> None:
    rule = make_rule(
        let={"share": "pool.free_pages / pool.pages", "half": "share * 0.5"},
        when=["pool.pages > 0.0", "half > 0.25", "setting.innodb_change_buffering == 'none'"],
        unless=["pool.old_pages > 1.0", "pool.pages < 0.0"],
    )
    assert explained(rule, window()) == [
        "when `half > 0.25` is false  (half = 0, share = 0, pool.free_pages = 0, pool.pages = 16,382)",
        "when `setting.innodb_change_buffering == 'none'` is false  (setting.innodb_change_buffering = 'all')",
        "unless `pool.old_pages > 1.0` is true  (pool.old_pages = 6,036)",
    ]


def test_a_name_in_a_string_is_not_a_name(make_rule: MakeRule) -> None:
    rule = make_rule(when=["'pool.pages' == \"pool.pages or not\""])
    assert explained(rule, window()) == ["when `'pool.pages' == \"pool.pages or not\"` is false"]


def test_a_condition_that_is_not_known_is_not_a_reason(make_rule: MakeRule) -> None:
    rule = make_rule(when=["ibuf.merges > 0.0", "ibuf.merges > 0.0 && pool.pages < 0.0"])
    assert explained(rule, window()) == [
        "when `ibuf.merges > 0.0 && pool.pages < 0.0` is false  (ibuf.merges = not known, pool.pages = 16,382)"
    ]


def test_a_rule_that_fires_or_is_blind_has_no_reason_to_be_silent(make_rule: MakeRule) -> None:
    assert explained(make_rule(), window()) == []
    assert explained(make_rule(when=["ibuf.merges > 0.0"]), window()) == []
    assert explained(OLD_SUBLIST, captured("mysql-9.7/repeated-scan")) == []


def test_every_item_is_explained_by_its_name(make_rule: MakeRule) -> None:
    rule = make_rule(for_each="scans", when=["scan.passes > 3.0"])
    assert explained(rule, window()) == ["shop.orders: when `scan.passes > 3.0` is false  (scan.passes = 2)"]


def test_an_empty_list_is_a_reason(make_rule: MakeRule) -> None:
    rule = make_rule(for_each="scans")
    assert explained(rule, captured("mysql-9.7/idle")) == ["there is nothing in scans"]


def test_a_rule_for_other_servers_says_so(make_rule: MakeRule) -> None:
    rule = make_rule(applies={"mariadb": {"from": "10.5"}})
    assert explained(rule, window(of=server("8.4.3"))) == ["the rule does not apply to mysql 8.4.3"]


def test_a_condition_that_did_not_last_is_a_reason(make_rule: MakeRule) -> None:
    rule = make_rule(lasting={"condition": "pool.pages_read > 100000.0"})
    [reason] = explained(rule, window())
    assert reason == (
        "lasting `pool.pages_read > 100000.0` held in 0 of 1 slices of the window, of which 60% are needed"
    )


def test_the_choice_of_the_model_is_among_the_values(make_rule: MakeRule) -> None:
    chosen = {"model": "lru", "setting": "innodb_old_blocks_pct"}
    rule = make_rule(for_each="scans", choose=chosen, unless=["choice.value == 64.0"])
    assert explained(rule, captured("mysql-9.7/repeated-scan")) == [
        "shop.orders: unless `choice.value == 64.0` is true  (choice.value = 64)"
    ]


def test_advice_that_the_server_cannot_follow_is_a_reason(make_rule: MakeRule) -> None:
    rule = make_rule(change=[{"setting": "innodb_change_buffering", "value": "'none'"}])
    aurora = replace(server("8.0.32"), flavour="aurora", managed="aurora")
    assert explained(rule, window(of=server("8.0.32"))) == []
    assert explained(rule, window(of=aurora)) == [
        "it would fire, but nothing of what it advises can be done on this server"
    ]


def test_one_reason_is_enough_unless_every_reason_is_asked_for(make_rule: MakeRule) -> None:
    rule = make_rule(when=["pool.pages > 0.0", "pool.pages < 0.0", "pool.pages < 1.0"])
    [evaluation] = evaluate([rule], window())
    assert [refusal.key for refusal in evaluation.refusals] == ["when"]
    assert "pool.pages < 0.0" in str(evaluation.refusals[0])
    assert evaluation.verdict is None


def test_the_state_of_a_rule_is_the_first_that_is_true_of_any_item(make_rule: MakeRule) -> None:
    rules = [
        make_rule(id="firing", for_each="scans", when=["scan.table == 'orders'"]),
        make_rule(id="unwanted"),
        make_rule(id="failed", when=["1.0 < double('x')"]),
        make_rule(id="blind", when=["ibuf.merges > 0.0"]),
        make_rule(id="silent", when=["pool.pages < 0.0"]),
        make_rule(id="elsewhere", applies={"mariadb": {"from": "10.5"}}),
    ]
    trace = tuple(evaluate(rules, window()))
    advice = evaluation.advice(trace, window(), [Suppression(rule="unwanted", fingerprint=None)])
    assert {rule: (state.state, state.lacks) for rule, state in states(trace, advice).items()} == {
        "firing": ("firing", ()),
        "unwanted": ("set aside", ()),
        "failed": ("failed", ()),
        "blind": ("blind", ("ibuf.merges",)),
        "silent": ("silent", ()),
        "elsewhere": (None, ()),
    }
