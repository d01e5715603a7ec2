"""Advice that falls away with an upgrade, judged by version ranges and settings alone."""

from __future__ import annotations

from advisor.advice.judgement import judge
from advisor.contract.recommendation import Recommendation
from advisor.contract.upgrade import SettledAdvice
from advisor.observe.window import Window
from advisor.rules import check
from advisor.upgrade.forecast import forecast
from tests.advisor.building import RULES_FOLDER, captured

RULES = check.load(RULES_FOLDER)


def findings(window: Window, rule: str) -> list[Recommendation]:
    judged = [finding for judged in judge(RULES, window) for finding in judged.findings.values()]
    return [finding for finding in judged if finding.rule == rule]


def settled(window: Window, rule: str, to: str) -> tuple[SettledAdvice, ...]:
    made = findings(window, rule)
    assert made, rule
    return forecast(window, to, findings=made, rules=RULES).settled


UNSAFE = "change-buffering-unsafe"
"""MariaDB's change buffer is gone in 11.0."""
BUFFERED = "mariadb-10.11/change-buffer-merges"


def test_a_finding_falls_away_where_the_new_version_has_not_the_behaviour() -> None:
    window = captured(BUFFERED)
    [advice], [finding] = settled(window, UNSAFE, "11.8"), findings(window, UNSAFE)
    assert (advice.rule, advice.fingerprint, advice.summary) == (UNSAFE, finding.fingerprint, finding.summary)
    assert advice.reason.startswith("no longer true of mariadb 11.8: ")
    assert settled(window, UNSAFE, "10.11.99") == ()


def test_a_finding_falls_away_where_its_setting_moves_by_itself() -> None:
    [advice] = settled(captured("mysql-5.6/write-pressure"), "io-capacity-not-for-ssd", "8.4")
    assert advice.reason == "innodb_io_capacity becomes 10,000 by itself"
    assert settled(captured("mysql-5.6/write-pressure"), "io-capacity-not-for-ssd", "8.0") == ()


def test_a_setting_that_is_set_stays_and_so_does_its_finding() -> None:
    assert settled(captured("mysql-8.0/change-buffer-off"), "change-buffering-would-help", "9.7") == ()


def test_a_finding_whose_rule_is_not_given_is_not_judged() -> None:
    window = captured(BUFFERED)
    assert forecast(window, "11.8", findings=findings(window, UNSAFE), rules=()).settled == ()
