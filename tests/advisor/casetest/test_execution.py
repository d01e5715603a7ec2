"""A case sees its altered recording, and takes the time that it needs."""

from __future__ import annotations

from collections.abc import Callable

from advisor.advice import evaluation
from advisor.casetest import execution
from advisor.casetest.cases import Case
from advisor.rules import check
from advisor.rules.check import Rule
from tests.advisor.building import RULES_FOLDER, capture, captured
from tests.advisor.casetest.case_runs import FOUND, OLD_SUBLIST, differences

MakeRule = Callable[..., Rule]


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
    [rule] = [each for each in check.load(RULES_FOLDER) if each.id == "change-did-harm"]
    both_sides = {"recording": capture("mysql-9.7/old-sublist-spoiled")}

    def found(**keys: object) -> list[str]:
        case = Case.model_validate(both_sides | {"name": "a case", **keys})
        _, advice, _ = execution.run(rule, case)
        return [change.apply[0] for each in advice.recommendations for change in each.changes]

    assert found(window_seconds=8) == ["SET GLOBAL innodb_old_blocks_pct = 37"]
    assert found() == []  # with windows of five minutes nothing is certain within half a minute
