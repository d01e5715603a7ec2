"""Cases: read whole or refused with their place, and every difference from what they expect is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from advisor.advice import evaluation
from advisor.casetest import cases, execution
from advisor.casetest.cases import Case
from advisor.files.yaml_file import FileError
from advisor.rules import check
from advisor.rules.check import Rule
from tests.advisor.building import RULES_FOLDER, capture, captured

SCAN = capture("mysql-9.7/repeated-scan")
IDLE = capture("mysql-9.7/idle")
OLD_SUBLIST = check.load_file(RULES_FOLDER / "scan-exceeds-old-sublist.yaml")
MakeRule = Callable[..., Rule]


def write(of: Rule, text: str) -> Path:
    path = cases.path_of(of)
    path.write_text(text.format(scan=SCAN, idle=IDLE))
    return path


def differences(of: Rule, **keys: object) -> list[str]:
    case = Case.model_validate({"name": "a case", "recording": SCAN, **keys})
    return [str(each) for each in execution.run(of, case)]


FOUND = {"subject": {"schema": "shop", "table": "orders"}, "changes": {"innodb_old_blocks_pct": 60}}


def test_a_finding_as_expected_is_no_difference() -> None:
    assert differences(OLD_SUBLIST, expect=[FOUND]) == []
    whole = {**FOUND, "severity": "warning", "effect": {"predicted": 0}, "actions": 0}
    assert differences(OLD_SUBLIST, expect=[whole]) == []


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        ({"subject": {}}, "subject: expected none, found schema = shop, table = orders"),
        ({"changes": {}}, "changes: expected none, found innodb_old_blocks_pct = 60"),
        (
            {"changes": {"innodb_old_blocks_pct": 80}},
            "changes: expected innodb_old_blocks_pct = 80, found innodb_old_blocks_pct = 60",
        ),
        ({"severity": "info"}, "severity: expected info, found warning"),
        ({"effect": {"predicted": 100, "within": 0.2}}, "effect: expected 100 within 20%, found 0"),
        ({"actions": 1}, "actions: expected any, found none"),
    ],
)
def test_what_a_finding_says_otherwise_is_a_difference(expected: dict[str, object], said: str) -> None:
    assert differences(OLD_SUBLIST, expect=[FOUND | expected]) == [said]


@pytest.mark.parametrize(
    ("predicted", "within", "equal"),
    [(100, 0.2, True), (100, 0.19, False), (120, 0, True), (119, 0, False), (0, 120, True), (0, 119, False)],
)
def test_a_prediction_may_be_off_by_a_share_of_it(
    make_rule: MakeRule, predicted: float, within: float, *, equal: bool
) -> None:
    found = make_rule(effect={"quantity": "pages", "predicted": 120.0})
    expected = {"changes": {"innodb_old_blocks_pct": 80}, "effect": {"predicted": predicted, "within": within}}
    assert (differences(found, expect=[expected]) == []) is equal


@pytest.mark.parametrize(
    ("expected", "said"),
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
def test_actions_are_compared_by_number_or_by_what_they_say(
    make_rule: MakeRule, expected: object, said: str | None
) -> None:
    found = make_rule(change=[], action=[{"do": "do first"}, {"do": "do second", "apply": ["SELECT 2"]}])
    assert differences(found, expect=[{"actions": expected}]) == ([said] if said else [])


def test_silence_and_findings_are_told_apart() -> None:
    [said] = differences(OLD_SUBLIST)
    assert said.startswith("findings: expected silence, found 1 finding: shop.orders (145 MiB) was scanned 5 times")
    assert differences(OLD_SUBLIST, recording=IDLE, expect=[FOUND, FOUND]) == [
        "findings: expected 2 findings, found silence"
    ]


def test_blindness_is_compared() -> None:
    unprivileged = capture("mysql-9.7/unprivileged")
    lacks = ["count_statements", "index_sizes", "pools", "table_files", "table_scans"]
    assert differences(OLD_SUBLIST, recording=unprivileged, blind=lacks) == []
    assert differences(OLD_SUBLIST, recording=unprivileged) == [f"blind: expected none, found {', '.join(lacks)}"]
    assert differences(OLD_SUBLIST, recording=IDLE, blind=["pools"]) == ["blind: expected pools, found none"]


def test_a_rule_that_breaks_is_a_difference(make_rule: MakeRule) -> None:
    broken = make_rule(change=[{"setting": "innodb_old_blocks_pct", "value": "window.seconds / 0.0"}])
    [said] = [each for each in differences(broken, expect=[]) if each.startswith("the rule")]
    assert said.startswith("the rule: expected works, found the rule failed: ")


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


def test_the_recording_stands_relative_to_the_cases(make_rule: MakeRule) -> None:
    found = make_rule()
    beside = found.path.with_name("beside.jsonl.gz")
    beside.write_bytes(IDLE.read_bytes())
    write(found, "- {{name: one, recording: beside.jsonl.gz}}\n- {{name: two, recording: '{scan}'}}\n")
    assert [case.recording for case in cases.load(found)] == [beside, SCAN]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "1:1: cases are a list of mappings with name, recording, expect, …"),
        ("name: one\n", "1:1: cases are a list"),
        ("[]\n", "1:1: there is no case here"),
        ("- {{recording: '{idle}'}}\n", "1:3: 0.name: this key is missing"),
        ("- name: one\n  recording: '{idle}'\n  expected: []\n", "3:3: 0.expected: there is no such key"),
        ("- name: one\n  recording: absent.gz\n", "2:14: 0.recording: there is no file "),
        ("- name: one\n  recording: '{idle}'\n- name: one\n  recording: '{idle}'\n", "3:9: 1.name: another case"),
        ("- name: one\n  recording: '{idle}'\n  expect:\n    - {{change: 1}}\n", "4:8: 0.expect.0.change: there is no"),
        ("- name: one\n  recording: '{idle}'\n  expect: [{{severity: bad}}]\n", "3:23: 0.expect.0.severity: "),
        ("- name: one\n  recording: '{idle}'\n  with: {{version: x}}\n", "3:19: 0.with.version: not a server version"),
        (
            "- name: one\n  recording: '{idle}'\n  with:\n    status:\n      up: 1\n",
            "5:11: 0.with.status.up: no such name in the recording",
        ),
        (
            "- name: one\n  recording: '{idle}'\n  with: {{machine: {{coers: 1}}}}\n",
            "3:20: 0.with.machine.coers: there is",
        ),
        ("- name: [\n", "2:1: "),
    ],
)
def test_what_is_wrong_in_cases_is_said_with_its_place(make_rule: MakeRule, text: str, said: str) -> None:
    found = make_rule()
    path = write(found, text)
    with pytest.raises(FileError) as caught:
        cases.load(found)
    assert str(caught.value).startswith(f"{path}:{said}")


def test_a_rule_without_cases_is_refused(make_rule: MakeRule) -> None:
    found = make_rule()
    with pytest.raises(FileError, match=r"plain.cases.yaml: cannot read it: No such file or directory"):
        cases.load(found)


def test_a_damaged_recording_is_refused(make_rule: MakeRule) -> None:
    found = make_rule()
    found.path.with_name("cut.jsonl").write_text('{"recording": 1}\n')
    write(found, "- {{name: one, recording: cut.jsonl}}\n")
    [case] = cases.load(found)
    with pytest.raises(FileError, match=r"cut.jsonl: truncated"):
        execution.run(found, case)
