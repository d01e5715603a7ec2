"""The contract: stable names, a stable shape, and statements that run unchanged."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from advisor.contract.recommendation import Advice, Recommendation, Severity, fingerprint, tidy
from tests.advisor.building import advised, captured

# design.md, "The recommendation"; effect and cost may say more than the example there.
SHAPE = {
    "rule": str,
    "severity": str,
    "confidence": float,
    "fingerprint": str,
    "summary": str,
    "why": str,
    "subject": dict,
    "evidence": list,
    "changes": list,
    "actions": list,
    "effect": dict,
    "cost": dict,
    "others": dict,
    "alternatives": list,
    "watched_seconds": float,
    "since": float,
    "first_seen": type(None),
    "trend": type(None),
    "judged_at": float,
    "references": list,
}
CHANGE = {"setting", "from", "to", "dynamic", "apply", "rollback", "persist", "config", "via", "note"}


def test_the_fingerprint_depends_on_rule_and_subject_only() -> None:
    of_orders = fingerprint("scan-exceeds-old-sublist", {"schema": "shop", "table": "orders"})
    assert of_orders == "a63178a321b3b23c"
    assert of_orders == fingerprint("scan-exceeds-old-sublist", {"table": "orders", "schema": "shop"})
    assert of_orders != fingerprint("scan-exceeds-old-sublist", {"schema": "shop", "table": "order"})
    assert of_orders != fingerprint("another", {"schema": "shop", "table": "orders"})
    assert fingerprint("a", {}) != fingerprint("b", {})


def test_the_fingerprint_of_a_table_is_the_same_on_every_server() -> None:
    lists = [advised(captured(f"{name}/repeated-scan")).recommendations for name in ("mysql-9.7", "mysql-5.6")]
    assert len({recommendation.fingerprint for [recommendation, *_] in lists}) == 1
    assert len({recommendation.effect.now for [recommendation, *_] in lists if recommendation.effect}) == 2


def test_the_json_has_the_shape_of_the_contract() -> None:
    advice = advised(captured("mysql-9.7/repeated-scan"))
    [recommendation] = json.loads(advice.model_dump_json(by_alias=True))["recommendations"]
    assert {name: type(value) for name, value in recommendation.items()} == SHAPE
    [changed] = recommendation["changes"]
    assert set(changed) == CHANGE
    assert changed["from"] == 37
    assert changed["dynamic"] is True
    assert changed["apply"] == [f"SET GLOBAL innodb_old_blocks_pct = {changed['to']}"]
    assert changed["rollback"] == ["SET GLOBAL innodb_old_blocks_pct = 37"]
    assert changed["persist"] == [f"SET PERSIST innodb_old_blocks_pct = {changed['to']}"]
    assert changed["config"] == f"innodb_old_blocks_pct = {changed['to']}"
    assert {"name", "value", "unit", "source"} == set(recommendation["evidence"][0])
    assert {"quantity", "now", "predicted", "model", "error"} <= set(recommendation["effect"])
    assert {"quantity", "predicted"} <= set(recommendation["cost"])
    assert all(item["source"] for item in recommendation["evidence"])


def test_the_json_is_read_back_as_the_same_advice() -> None:
    advice = advised(captured("mysql-9.7/repeated-scan"))
    assert Advice.model_validate_json(advice.model_dump_json(by_alias=True)) == advice


def test_unknown_keys_are_refused() -> None:
    [recommendation] = advised(captured("mysql-9.7/repeated-scan")).recommendations
    with pytest.raises(ValidationError):
        Recommendation.model_validate(recommendation.model_dump() | {"surprise": 1})
    with pytest.raises(ValidationError):
        Recommendation.model_validate(recommendation.model_dump() | {"confidence": 1.5})


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, 0), (37.0, 37), (5.999_4, 5.999), (0.012_348, 0.01235), (1234.56, 1235), (-1234.5, -1234), (1e15, 10**15)],
)
def test_numbers_are_shown_without_false_precision(value: float, shown: float) -> None:
    assert repr(tidy(value)) == repr(shown)


def test_severities_rise() -> None:
    assert [severity.rank for severity in (Severity.INFO, Severity.WARNING, Severity.CRITICAL)] == [0, 1, 2]
