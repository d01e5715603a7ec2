"""How predictions are judged, from cases that are made up."""

from __future__ import annotations

from typing import Any

import pytest

from lab.curves import judge
from lab.curves.judge import Advised, Case

SIZES = {"0.5": [1.9, 1.8, 2.1], "1.5": [0.3, 0.2, 0.4], "2": [0.1, 0.05, 0.12], "3": [0, 0, 0.01]}


def case(measured: float, expected: float | None, low: float = 0.0, high: float = 0.0, times: float = 2.0) -> Case:
    return Case("mysql-9.7", "uniform", times, measured, 0.01, expected, low, high)


def data(**said: Any) -> dict[str, Any]:
    """A workload: twice as many were done in the smallest pool, which changes nothing a lookup."""
    reads = {"0.5": (80_000, 2_000), "1": (20_000, 1_000), "1.5": (5_000, 1_000), "2": (2_000, 1_000), "3": (0, 1_000)}
    return {
        "measured": {times: {"read": read, "done": done} for times, (read, done) in reads.items()},
        "predicted": said,
    }


@pytest.mark.parametrize(
    ("given", "below_high", "inside"),
    [
        (case(0.5, 0.5, 0.4, 0.6), True, True),
        (case(0.61, 0.5, 0.4, 0.6), True, True),
        (case(0.62, 0.5, 0.4, 0.6), False, False),
        (case(0.39, 0.5, 0.4, 0.6), True, True),
        (case(0.38, 0.5, 0.4, 0.6), True, False),
        (case(0.0, None), False, False),
    ],
)
def test_chance_is_allowed_for_at_both_ends_and_no_answer_misses(
    given: Case, *, below_high: bool, inside: bool
) -> None:
    assert (given.below_high, given.inside) == (below_high, inside)


def test_a_high_end_may_be_a_quarter_of_todays_reads_above() -> None:
    assert [each.narrow for each in (case(0.5, 0.5, 0.4, 0.75), case(0.5, 0.5, 0.4, 0.76), case(0.5, None))] == [
        True,
        False,
        False,
    ]


def test_reads_are_compared_for_what_was_done_as_shares_of_todays() -> None:
    found = list(judge.cases("mysql-9.7", "uniform", data(sizes=SIZES)))
    assert [(each.times, each.measured, each.expected) for each in found] == [
        (0.5, 2.0, 1.9),
        (1.5, 0.25, 0.3),
        (2.0, 0.1, 0.1),
        (3.0, 0.0, 0),
    ]
    assert found[0].chance == pytest.approx(2 * 2.0 * (1 / 80_000 + 1 / 20_000) ** 0.5)


def test_bounds_that_are_kept_and_bounds_that_are_not() -> None:
    kept = judge.bounds(list(judge.cases("mysql-9.7", "uniform", data(sizes=SIZES))))
    assert [bound.holds for bound in kept] == [True] * 8
    blind = judge.bounds(list(judge.cases("mysql-9.7", "uniform", data(unanswerable="why"))))
    assert [bound.holds for bound in blind] == [False] * 6 + [True] * 2
    wide = judge.bounds([case(0.1, 0.3, 0.0, 0.9)])
    assert [bound.found for bound in wide] == pytest.approx([1.0, 1.0, 1.0, 0.0, 0.2, None, None, None])


def test_the_error_at_half_the_size_has_a_bound_of_its_own() -> None:
    found = judge.bounds([case(2.0, 2.2, 1.0, 3.0, times=0.5), case(1.4, 1.45, 1.0, 2.0, times=0.75)])
    assert [(round(bound.found or 0, 3), bound.wanted) for bound in found[4:6]] == [(0.05, 0.1), (0.2, 0.25)]


@pytest.mark.parametrize(
    ("times", "promised", "measured", "enough", "kept", "tight"),
    [
        (1.75, 0.16, 0.175, 1.7, True, True),
        (1.75, 0.15, 0.175, 1.7, False, True),
        (4.0, 0.0, 0.0, 2.8, True, False),
    ],
)
def test_an_advised_size_is_judged_between_measured_ones(
    times: float, promised: float, measured: float, enough: float, *, kept: bool, tight: bool
) -> None:
    said = data(sizes=SIZES, advice={"times": times, "promised": promised - 0.01, "error": 0.01})
    [found] = judge.advised("mysql-9.7", "uniform", said)
    assert found.measured == pytest.approx(measured)
    assert found.enough == pytest.approx(enough, abs=0.011)
    assert (found.kept, found.tight) == (kept, tight)


def test_without_advice_none_is_judged() -> None:
    assert list(judge.advised("mysql-9.7", "uniform", data(sizes=SIZES))) == []


def test_broken_bounds_are_named() -> None:
    job = {"grown": 0, "blind": 0, "judged": 9}
    kept = {("mysql-9.7", "uniform"): data(sizes=SIZES)}
    assert list(judge.broken(kept, {"mysql-9.7": job})) == []
    [first, *_] = judge.broken({("mysql-9.7", "uniform"): data(unanswerable="why")}, {})
    assert first == "there is an answer: 0.0%, not 100%, of 4"
    [text] = judge.broken(kept, {"mysql-9.7": job | {"grown": 2}})
    assert text == "mysql-9.7: a larger pool was advised 2 times for a job that reads everything once"
    [text] = judge.broken(kept, {"mysql-9.7": job | {"judged": 0}})
    assert text == "mysql-9.7: the rule was blind 0 times, and judged 0 times"


def test_an_advice_that_is_much_larger_than_needed_is_not_tight() -> None:
    assert Advised("mysql-9.7", "uniform", 2.0, 0.2, 0.1, 1.6).tight
    assert not Advised("mysql-9.7", "uniform", 2.0, 0.2, 0.1, 1.59).tight
