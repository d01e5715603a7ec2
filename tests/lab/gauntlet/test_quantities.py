"""The measured side of what rules promise, and the statistics of rounds."""

from __future__ import annotations

import pytest

from advisor.contract.recommendation import Effect, Evidence, Recommendation, Severity
from lab.gauntlet.counters import Counters, noise
from lab.gauntlet.quantities import MEASURED, NOT_RATES, PASSES, quantity
from lab.observation import rules

ROUND = Counters(read=120, written=7, merges=30, tables={"shop/orders": 100})


def found(name: str) -> tuple[Recommendation, Effect]:
    effect = Effect(quantity=name, now=1, predicted=0)
    return Recommendation(
        rule="a-rule",
        severity=Severity.WARNING,
        confidence=1,
        fingerprint="0",
        summary="it is read",
        subject={"schema": "shop", "table": "orders"},
        evidence=(Evidence(name="passes", value=12, source="a table"),),
        effect=effect,
        watched_seconds=12,
        references=(),
    ), effect


def test_the_quantity_of_every_rule_is_measured_or_known_to_be_no_rate() -> None:
    effects = {rule.id: rule.file.effect.quantity for rule in rules() if rule.file.effect is not None}
    del effects["change-did-harm"]  # it speaks of the ledger's quantities, and the gauntlet keeps no ledger
    promised = {*effects.values()}
    assert promised <= MEASURED | NOT_RATES
    assert not MEASURED & NOT_RATES


@pytest.mark.parametrize(
    ("name", "value", "per_round"),
    [
        ("pages read per pass", 100, 2),
        ("pages read per second", 120, 2),
        ("secondary-index pages read per second by inserts and updates", 120, 2),
        ("pages read by the same work", 120, 1 / 6),
        ("change buffer merges per second", 30, 2),
    ],
)
def test_a_quantity_is_measured_in_rounds(name: str, value: float, per_round: float) -> None:
    how = quantity(*found(name), rounds=6)
    assert how is not None
    assert (how.measured(ROUND), how.per_round) == (value, per_round)


def test_a_promise_per_pass_comes_with_the_number_of_passes() -> None:
    per_pass = [
        rule.file for rule in rules() if rule.file.effect and rule.file.effect.quantity == "pages read per pass"
    ]
    assert per_pass
    assert all(set(PASSES) & {item.name for item in file.evidence} for file in per_pass)


@pytest.mark.parametrize("name", sorted(MEASURED))
def test_every_measured_quantity_has_its_measurement(name: str) -> None:
    assert quantity(*found(name), rounds=6) is not None


@pytest.mark.parametrize("name", sorted(NOT_RATES))
def test_what_is_no_rate_is_not_measured(name: str) -> None:
    assert quantity(*found(name), rounds=6) is None


def test_an_unknown_quantity_is_an_error() -> None:
    with pytest.raises(KeyError, match="say in"):
        quantity(*found("bananas per second"), rounds=6)


def test_noise_is_two_standard_errors_of_the_difference() -> None:
    assert noise([10, 12, 14, 12]) == pytest.approx(2 * (8 / 3 / 4) ** 0.5)
    assert noise([10, 12, 14, 12], [1, 3]) == pytest.approx(2 * (8 / 3 / 4 + 2 / 2) ** 0.5)
    assert noise([10]) == 0


def test_a_cycle_is_the_mean_of_its_rounds() -> None:
    assert Counters.averaged([ROUND, Counters(read=20)]) == Counters(70, 3.5, 15, tables={"shop/orders": 50})


def test_growth_counts_a_new_table_from_zero() -> None:
    assert ROUND.since(Counters(read=100)) == Counters(20, 7, 30, tables={"shop/orders": 100})
