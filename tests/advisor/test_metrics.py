"""Advice as metrics: one series a change, and for every rule whether it could see."""

from __future__ import annotations

import pytest
from prometheus_client.core import Metric

from advisor import metrics, rule
from tests.advisor.building import RULES_FOLDER, advised, captured

RULES = rule.load(RULES_FOLDER)


def samples(name: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    families: list[Metric] = list(metrics.families(advised(captured(name)), RULES))
    return {family.name: [(sample.labels, sample.value) for sample in family.samples] for family in families}


def test_a_recommendation_names_rule_severity_subject_and_setting() -> None:
    found = samples("mysql-9.7/repeated-scan")
    labels = {
        "rule": "scan-exceeds-old-sublist",
        "severity": "warning",
        "subject": "shop.orders",
        "setting": "innodb_old_blocks_pct",
    }
    assert found["innodb_advisor_recommendation"] == [(labels, 1.0)]


def test_the_saving_is_in_bytes_a_second() -> None:
    [(labels, saved)] = samples("mysql-9.7/repeated-scan")["innodb_advisor_predicted_read_bytes_saved_per_second"]
    [found] = advised(captured("mysql-9.7/repeated-scan")).recommendations
    assert labels == {"rule": "scan-exceeds-old-sublist", "subject": "shop.orders"}
    assert saved == found.effect.read_bytes_saved_per_second
    [passes] = [item.value for item in found.evidence if item.name == "passes"]
    assert found.effect.now is not None
    assert saved == pytest.approx(found.effect.now * 16_384 * float(passes) / found.watched_seconds, rel=0.01)


def test_every_rule_says_whether_it_is_blind() -> None:
    blind = {labels["rule"]: value for labels, value in samples("mariadb-11.8/idle")["innodb_advisor_rule_blind"]}
    assert set(blind) == {each.id for each in RULES}
    assert (blind["scan-exceeds-old-sublist"], blind["change-buffering-without-benefit"]) == (1.0, 0.0)


def test_an_idle_server_gets_no_recommendation() -> None:
    assert "innodb_advisor_recommendation" not in samples("mysql-9.7/idle")


def test_without_a_window_nothing_is_said() -> None:
    assert list(metrics.families(None, RULES)) == []
