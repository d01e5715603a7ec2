"""Every rule has its cases, and says in each what the case expects."""

from pathlib import Path

import pytest

from advisor import cases, rule
from advisor.cases import Case
from advisor.rule import Rule

RULES = rule.load(Path(__file__).parents[2] / "rules")
CASES = [pytest.param(each, case, id=f"{each.id}: {case.name}") for each in RULES for case in cases.load(each)]


@pytest.mark.parametrize(("each", "case"), CASES)
def test_the_rule_says_what_its_case_expects(each: Rule, case: Case) -> None:
    assert [str(difference) for difference in cases.run(each, case)] == []


@pytest.mark.parametrize("each", RULES, ids=lambda each: each.id)
def test_the_cases_show_it_firing_silent_and_blind(each: Rule) -> None:
    known = cases.load(each)
    assert any(case.expect for case in known)
    assert any(not case.expect and not case.blind for case in known)
    assert any("after its own advice" in case.name for case in known)
    assert any("folklore" in case.name for case in known)
