"""A case sees its altered recording, and every difference between the rule's advice and the case is named."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from advisor.advice import evaluation
from advisor.casetest import execution
from advisor.casetest.cases import Case
from advisor.rules import check
from advisor.rules.check import Rule
from tests.advisor.building import RULES_FOLDER, capture, captured

MakeRule = Callable[..., Rule]

SCAN = capture("mysql-9.7/repeated-scan")
IDLE = capture("mysql-9.7/idle")
OLD_SUBLIST = check.load_file(RULES_FOLDER / "scan-exceeds-old-sublist.yaml")
FOUND = {"subject": {"schema": "shop", "table": "orders"}, "changes": {"innodb_old_blocks_pct": 64}}


def differences(of: Rule, **keys: object) -> list[str]:
    """The differences of a case with these keys."""
    case = Case.model_validate({"name": "a case", "recording": SCAN, **keys})
    unmet, _, _ = execution.run(of, case)
    return list(map(str, unmet))


def test_a_case_does_not_depend_on_how_fast_the_machine_is(make_rule: MakeRule) -> None:
    chosen = {"model": "lru", "setting": "innodb_old_blocks_pct"}
    hasty = make_rule(for_each="scans", choose=chosen, budget_seconds=1e-9)
    [blind] = evaluation.advise([hasty], captured("mysql-9.7/repeated-scan")).blind
    assert blind.lacks == "time"
    expected = {"subject": FOUND["subject"], "changes": {"innodb_old_blocks_pct": 80}}
    assert differences(hasty, expect=[expected]) == []


def test_an_altered_recording_is_what_the_rule_sees() -> None:
    wide = {"settings": {"innodb_old_blocks_pct": 60}}
    assert differences(OLD_SUBLIST, expect=[FOUND], **{"with": wide}) != []
    assert differences(OLD_SUBLIST, **{"with": {"settings": {"aurora_version": "3"}}}) == []


def test_changes_in_a_recording_are_measured_by_the_windows_of_its_case() -> None:
    [rule] = [rule for rule in check.load(RULES_FOLDER) if rule.id == "change-did-harm"]
    both_sides = {"recording": capture("mysql-9.7/old-sublist-spoiled")}

    def rollbacks(**keys: object) -> list[str]:
        case = Case.model_validate(both_sides | {"name": "a case", **keys})
        _, advice, _ = execution.run(rule, case)
        return [change.apply[0] for recommendation in advice.recommendations for change in recommendation.changes]

    assert rollbacks(window_seconds=8) == ["SET GLOBAL innodb_old_blocks_pct = 37"]
    assert rollbacks() == []  # with windows of five minutes nothing is certain within half a minute


def test_a_finding_as_expected_is_no_difference() -> None:
    assert differences(OLD_SUBLIST, expect=[FOUND]) == []
    whole = {**FOUND, "severity": "warning", "effect": {"predicted": 0}, "actions": 0}
    assert differences(OLD_SUBLIST, expect=[whole]) == []


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        ({"subject": {}}, "subject: expected none, found schema = shop, table = orders"),
        ({"changes": {}}, "changes: expected none, found innodb_old_blocks_pct = 64"),
        (
            {"changes": {"innodb_old_blocks_pct": 80}},
            "changes: expected innodb_old_blocks_pct = 80, found innodb_old_blocks_pct = 64",
        ),
        ({"severity": "info"}, "severity: expected info, found warning"),
        ({"effect": {"predicted": 100, "within": 0.2}}, "effect: expected 100 within 20%, found 0"),
        ({"actions": 1}, "actions: expected any, found none"),
    ],
)
def test_a_finding_with_other_values_is_a_difference(expected: dict[str, object], text: str) -> None:
    assert differences(OLD_SUBLIST, expect=[FOUND | expected]) == [text]


@pytest.mark.parametrize(
    ("predicted", "within", "equal"),
    [(100, 0.2, True), (100, 0.19, False), (120, 0, True), (119, 0, False), (0, 120, True), (0, 119, False)],
)
def test_a_prediction_may_be_off_by_a_share_of_it(
    make_rule: MakeRule, predicted: float, within: float, *, equal: bool
) -> None:
    rule = make_rule(effect={"quantity": "pages", "predicted": 120.0})
    expected = {"changes": {"innodb_old_blocks_pct": 80}, "effect": {"predicted": predicted, "within": within}}
    assert (differences(rule, expect=[expected]) == []) is equal


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        (None, None),
        (2, None),
        (["first", "SELECT 2"], None),
        (["first", "third"], "actions: expected first, third, found do first, do second"),
        (["first"], "actions: expected first, found do first, do second"),
        (1, "actions: expected any, found do first, do second"),
        (0, "actions: expected none, found do first, do second"),
    ],
)
def test_actions_are_compared_by_number_or_by_text(make_rule: MakeRule, expected: object, text: str | None) -> None:
    rule = make_rule(change=[], action=[{"do": "do first"}, {"do": "do second", "apply": ["SELECT 2"]}])
    assert differences(rule, expect=[{"actions": expected}]) == ([text] if text else [])


def test_silence_and_findings_differ() -> None:
    [text] = differences(OLD_SUBLIST)
    assert text.startswith("findings: expected silence, found 1 finding: shop.orders (145 MiB) was scanned 5 times")
    assert differences(OLD_SUBLIST, recording=IDLE, expect=[FOUND, FOUND]) == [
        "findings: expected 2 findings, found silence"
    ]


def test_blindness_is_compared() -> None:
    unprivileged = capture("mysql-9.7/unprivileged")
    lacks = ["count_statements", "index_sizes", "pools", "table_files", "table_scans"]
    assert differences(OLD_SUBLIST, recording=unprivileged, blind=lacks) == []
    assert differences(OLD_SUBLIST, recording=unprivileged) == [f"blind: expected none, found {', '.join(lacks)}"]
    assert differences(OLD_SUBLIST, recording=IDLE, blind=["pools"]) == ["blind: expected pools, found none"]


def test_a_failing_rule_is_a_difference(make_rule: MakeRule) -> None:
    broken = make_rule(change=[{"setting": "innodb_old_blocks_pct", "value": "window.seconds / 0.0"}])
    [difference] = [text for text in differences(broken, expect=[]) if text.startswith("the rule")]
    assert difference.startswith("the rule: expected works, found the rule failed: ")
