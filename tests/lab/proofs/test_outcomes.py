"""Effects that the proofs measured, graded by the code of production."""

from __future__ import annotations

import pytest

from advisor.ledger.entry import Result
from lab.proofs.outcomes import outcome, outcomes
from lab.proofs.record import MeasuredEffect


@pytest.mark.parametrize(
    ("stated", "after", "result"),
    [(0.05, 104, Result.KEPT), (0.05, 106, Result.MISSED), (None, 119, Result.KEPT), (None, 121, Result.MISSED)],
)
def test_an_effect_is_judged_by_its_stated_error(stated: float | None, after: float, result: Result) -> None:
    effect = MeasuredEffect(
        quantity="pages read", unit="pages", now=100, predicted=100, before=200, after=after, stated=stated
    )
    found = outcome("plain", effect)
    assert found is not None
    assert found.result is result
    assert found.error == pytest.approx(after / 100 - 1)


def test_every_rule_with_a_measured_effect_is_there_with_its_servers() -> None:
    found = list(outcomes())
    assert {where for where, each in found if each.rule == "scan-exceeds-old-sublist"} >= {
        "the proof on mysql-9.7",
        "the proof on mariadb-11.8",
    }
