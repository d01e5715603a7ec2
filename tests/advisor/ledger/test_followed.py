"""Advice counts as followed if the finding asked for the value at any time since it stands."""

from __future__ import annotations

import pytest

from advisor.advice import evaluation
from advisor.contract.recommendation import Advice
from advisor.ledger.ledger import MOST_PROMISES, Ledger
from advisor.observe.source import Replay
from advisor.observe.window import Window
from advisor.rules import check
from exporter.snapshot import Snapshot
from tests.advisor.building import RULES_FOLDER, capture

PCT = "innodb_old_blocks_pct"


@pytest.fixture(scope="module")
def history() -> list[Snapshot]:
    """A scan; half-way the midpoint is set to 73 %, as advised."""
    return list(Replay(capture("mysql-9.7/scan-followed-midway")).history)


@pytest.fixture(scope="module")
def before(history: list[Snapshot]) -> list[Snapshot]:
    return [snapshot for snapshot in history if snapshot.setting(PCT) == "37"]


@pytest.fixture(scope="module")
def advice(before: list[Snapshot]) -> Advice:
    rules = [rule for rule in check.load(RULES_FOLDER) if rule.id == "scan-exceeds-old-sublist"]
    return evaluation.advise(rules, Window.of(before, 3600.0))


def with_value(advice: Advice, to: int) -> Advice:
    [finding] = advice.recommendations
    [change] = finding.changes
    other = finding.model_copy(update={"changes": (change.model_copy(update={"to": to}),)})
    return advice.model_copy(update={"recommendations": (other,)})


@pytest.mark.parametrize(("asked", "promised"), [((73,), 73), ((73, 60), 73), ((60, 73), 73), ((60, 61), None)])
def test_an_earlier_value_of_the_same_finding_is_followed_too(
    history: list[Snapshot], before: list[Snapshot], advice: Advice, asked: tuple[int, ...], promised: int | None
) -> None:
    ledger = Ledger(window_seconds=8.0)
    for to in asked:
        ledger, _ = ledger.observe(before, with_value(advice, to))
    for number in range(len(before), len(history)):
        ledger, _ = ledger.observe(history[: number + 1], None)
    [outcome] = ledger.outcomes.values()
    assert (outcome.followed, outcome.promise and outcome.promise.to) == (promised is not None, promised)


def test_values_that_come_and_go_are_told_once_and_only_so_many_are_kept(
    before: list[Snapshot], advice: Advice
) -> None:
    ledger, counts = Ledger(), []
    for to in (73, 72, 73, 72):
        ledger, new = ledger.observe(before, with_value(advice, to))
        counts.append(len(new))
    assert counts == [1, 1, 0, 0]
    for to in range(40, 70):
        ledger, _ = ledger.observe(before, with_value(advice, to))
    [finding] = ledger.findings.values()
    assert len(finding.promises) == MOST_PROMISES
    assert finding.promises[0].to == 69
