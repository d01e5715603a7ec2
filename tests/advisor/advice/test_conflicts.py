"""A finding is recommended, suppressed or overruled; each is shown somewhere."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from advisor.advice import evaluation
from advisor.contract.recommendation import Advice
from advisor.observe.window import Window
from advisor.rules.check import Rule
from advisor.rules.configuration import Suppression
from tests.advisor.building import BOOTED, snapshot

MakeRule = Callable[..., Rule]
TWO = Window((snapshot(10), snapshot(20)))
TODAY = datetime.fromtimestamp(BOOTED + 20, UTC).date()


def ids(advice: Advice) -> tuple[list[str], list[str], list[str]]:
    return (
        [finding.rule for finding in advice.recommendations],
        [aside.recommendation.rule for aside in advice.suppressed],
        [aside.recommendation.rule for aside in advice.overruled],
    )


def setting(value: Any, name: str = "innodb_old_blocks_pct") -> list[dict[str, Any]]:
    return [{"setting": name, "value": value}]


def test_an_unwanted_rule_is_suppressed_with_the_reason(make_rule: MakeRule) -> None:
    unwanted = Suppression(rule="plain", reason="we know")
    advice = evaluation.advise((make_rule(), make_rule(id="other")), TWO, suppressions=(unwanted,))
    assert ids(advice) == (["other"], ["plain"], [])
    assert advice.suppressed[0].reason == "the rule plain is suppressed: we know"


def test_one_finding_is_suppressed_by_its_fingerprint(make_rule: MakeRule) -> None:
    rules = (make_rule(), make_rule(id="other"))
    fingerprint = evaluation.advise(rules, TWO).recommendations[0].fingerprint
    advice = evaluation.advise(rules, TWO, suppressions=(Suppression(fingerprint=fingerprint),))
    assert ids(advice) == (["plain"], ["other"], [])
    assert advice.suppressed[0].reason == f"the fingerprint {fingerprint} is suppressed"


@pytest.mark.parametrize(("days", "suppressed"), [(1, ["plain"]), (0, ["plain"]), (-1, [])])
def test_a_suppression_ends_after_its_last_day(make_rule: MakeRule, days: int, suppressed: list[str]) -> None:
    until = Suppression(rule="plain", until=TODAY + timedelta(days=days))
    assert ids(evaluation.advise((make_rule(),), TWO, suppressions=(until,)))[1] == suppressed


@pytest.mark.parametrize("keys", [{}, {"rule": "a", "fingerprint": "0" * 16}, {"rule": ""}, {"fingerprint": "x"}])
def test_a_suppression_names_a_rule_or_a_fingerprint(keys: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        Suppression.model_validate(keys)


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        (setting(80), setting(20), "this one the other way, 20"),
        (setting(80), setting(60), "this one to another value, 60"),
        (
            setting("'none'", "innodb_change_buffering"),
            setting("'inserts'", "innodb_change_buffering"),
            "this one the other way, inserts",
        ),
    ],
)
def test_of_two_contradicting_findings_the_first_is_recommended(
    make_rule: MakeRule, first: list[dict[str, Any]], second: list[dict[str, Any]], reason: str
) -> None:
    rules = (make_rule(id="weak", change=second, confidence=0.2), make_rule(id="sure", change=first, confidence=0.9))
    advice = evaluation.advise(rules, TWO)
    assert ids(advice) == (["sure"], [], ["weak"])
    assert advice.overruled[0].reason.startswith(f"sure ({advice.recommendations[0].fingerprint}) sets innodb_")
    assert reason in advice.overruled[0].reason


def test_the_same_change_twice_does_not_contradict(make_rule: MakeRule) -> None:
    assert ids(evaluation.advise((make_rule(), make_rule(id="other")), TWO)) == (["other", "plain"], [], [])


def test_a_suppressed_finding_overrules_nothing(make_rule: MakeRule) -> None:
    rules = (make_rule(id="weak", change=setting(20), confidence=0.2), make_rule(id="sure", confidence=0.9))
    advice = evaluation.advise(rules, TWO, suppressions=(Suppression(rule="sure"),))
    assert ids(advice) == (["weak"], ["sure"], [])


def test_an_overruled_finding_overrules_nothing(make_rule: MakeRule) -> None:
    two = [*setting(20), *setting(500, "innodb_old_blocks_time")]
    rules = (
        make_rule(id="first", confidence=0.9),
        make_rule(id="second", change=two, confidence=0.8),
        make_rule(id="third", change=setting(2000, "innodb_old_blocks_time"), confidence=0.7),
    )
    assert ids(evaluation.advise(rules, TWO)) == (["first", "third"], [], ["second"])


def test_today_is_the_day_of_the_newest_snapshot() -> None:
    assert date(2023, 11, 14) == TODAY
