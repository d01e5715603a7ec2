"""How predictions are judged, from cases that are made up."""

from __future__ import annotations

from typing import Any

import pytest

from lab.curves import judge
from lab.curves.judge import Case, Verdict


def case(measured: float, expected: float | None, low: float = 0.0, high: float = 0.0) -> Case:
    return Case("mysql-9.7", "uniform", 0.3, 2.0, measured, expected, low, high)


@pytest.mark.parametrize(
    ("given", "inside", "wide"),
    [
        (case(0.5, 0.5, 0.4, 0.6), True, False),
        (case(0.39, 0.5, 0.4, 0.6), False, False),
        (case(0.5, 0.5, 0.2, 0.6), True, False),
        (case(0.5, 0.5, 0.19, 0.6), True, True),
        (case(0.0, 0.0, 0.0, 0.06), True, False),
        (case(0.0, 0.0, 0.0, 0.07), True, True),
        (case(0.5, None), False, False),
    ],
)
def test_a_case_holds_inside_an_interval_that_is_not_wider_than_a_factor_of_three(
    given: Case, *, inside: bool, wide: bool
) -> None:
    assert (given.inside, given.wide, given.holds) == (inside, wide, inside and not wide)


def test_an_error_is_a_share_of_todays_reads_and_no_answer_is_off_by_all() -> None:
    assert case(0.5, 0.4).error == pytest.approx(0.1)
    assert case(0.5, None).error == 1.0


def test_a_verdict_counts_what_holds_and_has_the_median_error() -> None:
    good, bad = case(0.5, 0.52, 0.4, 0.6), case(0.9, 0.5, 0.4, 0.6)
    found = judge.verdict([good, good, bad])
    assert (found.cases, found.held) == (3, 2)
    assert (found.median, found.tenth) == pytest.approx((0.02, 0.4))


@pytest.mark.parametrize(
    ("found", "holds"),
    [
        (Verdict(100, 90, 0.1, 0.5), True),
        (Verdict(100, 89, 0.0, 0.5), False),
        (Verdict(100, 100, 0.101, 0.2), False),
        (Verdict(4, 3, 0.05, 0.3), True),
        (Verdict(4, 2, 0.05, 0.3), False),
    ],
)
def test_nine_tenths_must_hold_and_of_few_cases_all_but_one(found: Verdict, *, holds: bool) -> None:
    assert found.holds == holds


def data(**said: Any) -> dict[str, Any]:
    """A workload, watched at 60 % of the data."""
    reads = {"0.3": 400, "0.6": 200, "0.9": 50, "1.2": 0}
    return {
        "unit": "lookup",
        "watched": [0.6],
        "measured": {share: {"read": each, "done": 1000} for share, each in reads.items()},
        "predicted": {"0.6": said},
    }


SIZES = {"0.5": [1.9, 1.8, 2.1], "1": [1, 1, 1], "1.5": [0.3, 0.2, 0.4], "2": [0.1, 0.05, 0.12], "4": [0, 0, 0.01]}


def test_reads_are_shares_of_todays_and_a_pool_that_holds_all_stands_for_larger_ones() -> None:
    found = list(judge.cases("mysql-9.7", "uniform", data(sizes=SIZES)))
    assert [(each.times, each.measured, each.expected) for each in found] == [
        (0.5, 2.0, 1.9),
        (1.5, 0.25, 0.3),
        (2.0, 0.0, 0.1),
        (4.0, 0.0, 0),
    ]
    assert [each.holds for each in found] == [True, True, False, True]


def test_a_curve_without_an_answer_misses_every_size() -> None:
    found = list(judge.cases("mysql-9.7", "uniform", data(unanswerable="too short a window")))
    assert [each.holds for each in found] == [False] * 4


def test_broken_bounds_are_named() -> None:
    job = {"grown": 0, "blind": 0, "judged": 9}
    kept = {("mysql-9.7", "uniform"): data(sizes=SIZES)}
    assert list(judge.broken(kept, {"mysql-9.7": job})) == []
    [text] = judge.broken({("mysql-9.7", "uniform"): data(unanswerable="why")}, {})
    assert text.startswith("0 of 4 predictions hold (0%, not 90%)")
    [text] = judge.broken(kept, {"mysql-9.7": job | {"grown": 2}})
    assert text == "mysql-9.7: a larger pool was advised 2 times for a job that reads everything once"
    [text] = judge.broken(kept, {"mysql-9.7": job | {"judged": 0}})
    assert text == "mysql-9.7: the rule was blind 0 times, and judged 0 times"
