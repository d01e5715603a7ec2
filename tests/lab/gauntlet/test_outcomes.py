"""Promises that the gauntlet measured, graded by the code of production."""

from __future__ import annotations

import pytest

from advisor.ledger.calibration import calibration
from advisor.ledger.entry import Result
from lab.gauntlet.outcomes import outcome, outcomes
from lab.gauntlet.record import Entry, Measured, Promise
from lab.reports.calibration import section


def entry(after: float, *, noise: float = 0.0, others: float = 200.0, refused: str = "") -> Entry:
    """Two passes a round, of 500 pages each; 100 pages are promised to remain, within a tenth."""
    return Entry(
        rule="scan-exceeds-old-sublist",
        severity="warning",
        confidence=0.9,
        summary="it is read",
        subject={"schema": "shop", "table": "orders"},
        alternative=False,
        applied=("SET GLOBAL innodb_old_blocks_pct = 70",),
        refused=refused,
        promise=Promise(
            quantity="pages read per pass",
            unit="pages",
            per_round=2.0,
            now=500,
            predicted=100,
            error=0.1,
            measured=Measured(before=1000, after=after, noise=noise),
        ),
        read=Measured(before=1200, after=after + others, noise=3),
        written=Measured(before=0, after=0, noise=0),
        busy=Measured(before=0.4, after=0.1, noise=0),
        tables={
            "shop/orders": Measured(before=1000, after=after, noise=0),
            "shop/items": Measured(before=200, after=others, noise=3),
        },
    )


@pytest.mark.parametrize(
    ("after", "noise", "result", "off"),
    [
        (200, 0, Result.KEPT, 0.0),
        (299, 0, Result.KEPT, 0.099),
        (320, 0, Result.MISSED, 0.12),
        (320, 130, Result.KEPT, 0.12),
    ],
)
def test_a_round_is_compared_in_the_unit_of_the_finding(after: float, noise: float, result: Result, off: float) -> None:
    found = outcome(entry(after, noise=noise), 2.0)
    assert found is not None
    assert found.measured is not None
    assert (found.measured.before, found.measured.after, found.measured.noise) == (500, after / 2, noise / 2)
    assert (found.result, found.harm) == (result, ())
    assert found.error == pytest.approx(off)


def test_what_the_gauntlet_calls_harm_is_harm() -> None:
    found = outcome(entry(200, others=900), 2.0)
    assert found is not None
    assert [(each.quantity, each.before, each.after) for each in found.harm] == [("pages read per second", 600, 550)]


def test_what_the_server_refused_or_rounds_do_not_show_is_left_out() -> None:
    assert outcome(entry(1000, refused="it is read only"), 2.0) is None
    assert outcome(entry(1000).model_copy(update={"promise": None}), 2.0) is None


def test_the_section_has_a_line_for_each_rule_of_the_records() -> None:
    found = calibration(outcomes())
    assert {each.rule for each in found.predictions} == {each.rule for each in found.rules}
    lines = [line for line in section(found).splitlines() if line.startswith("| `")]
    assert len(lines) == len(found.rules) > 1
    assert section(calibration([])) == ""
