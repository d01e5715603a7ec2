"""How predictions are judged, from cases that are made up."""

from __future__ import annotations

from typing import Any

import pytest

from lab.curves import judge
from lab.curves.judge import AdvisedSize, SizeCase
from lab.reports import criterion

SIZES = {"0.5": [1.9, 1.8, 2.1], "1.5": [0.3, 0.2, 0.4], "2": [0.1, 0.05, 0.12], "3": [0, 0, 0.01]}


def case(measured: float, expected: float | None, low: float = 0.0, high: float = 0.0, times: float = 2.0) -> SizeCase:
    return SizeCase(times, measured, 0.01, expected, low, high)


def data(**predicted: Any) -> dict[str, Any]:
    """A workload: twice as many were done in the smallest pool, which changes nothing a lookup."""
    reads = {"0.5": (80_000, 2_000), "1": (20_000, 1_000), "1.5": (5_000, 1_000), "2": (2_000, 1_000), "3": (0, 1_000)}
    return {
        "measured": {times: {"read": read, "done": done} for times, (read, done) in reads.items()},
        "predicted": predicted,
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
    given: SizeCase, *, below_high: bool, inside: bool
) -> None:
    assert (given.below_high, given.inside) == (below_high, inside)


def test_a_high_end_may_be_a_quarter_of_todays_reads_above() -> None:
    cases = (case(0.5, 0.5, 0.4, 0.75), case(0.5, 0.5, 0.4, 0.76), case(0.5, None))
    assert [size.narrow for size in cases] == [True, False, False]


def test_reads_are_compared_for_what_was_done_as_shares_of_todays() -> None:
    cases = list(judge.cases(data(sizes=SIZES)))
    assert [(size.times, size.measured, size.expected) for size in cases] == [
        (0.5, 2.0, 1.9),
        (1.5, 0.25, 0.3),
        (2.0, 0.1, 0.1),
        (3.0, 0.0, 0),
    ]
    assert cases[0].chance == pytest.approx(2 * 2.0 * (1 / 80_000 + 1 / 20_000) ** 0.5)


def test_bounds_hold_for_good_predictions_and_break_without_an_answer() -> None:
    assert [bound.holds for bound in judge.criteria([data(sizes=SIZES)])] == [True] * 8
    assert [bound.holds for bound in judge.criteria([data(unanswerable="why")])] == [False] * 6 + [True] * 2


def test_the_error_at_half_the_size_has_a_bound_of_its_own() -> None:
    near, half = judge.criteria([data(sizes=SIZES)])[4:6]
    assert (near.most, near.cases, half.most, half.cases) == (0.1, 3, 0.25, 1)
    assert [near.value, half.value] == pytest.approx([0.0, 0.1])


@pytest.mark.parametrize(
    ("times", "promised", "measured", "enough", "as_promised", "tight"),
    [
        (1.75, 0.16, 0.175, 1.7, True, True),
        (1.75, 0.15, 0.175, 1.7, False, True),
        (4.0, 0.0, 0.0, 2.8, True, False),
    ],
)
def test_an_advised_size_is_judged_between_measured_ones(
    times: float, promised: float, measured: float, enough: float, *, as_promised: bool, tight: bool
) -> None:
    workload = data(sizes=SIZES, advice={"times": times, "promised": promised - 0.01, "error": 0.01})
    size = judge.advised(workload)
    assert size is not None
    assert size.measured == pytest.approx(measured)
    assert size.enough == pytest.approx(enough, abs=0.011)
    assert (size.as_promised, size.tight) == (as_promised, tight)


def test_without_advice_no_size_is_judged() -> None:
    assert judge.advised(data(sizes=SIZES)) is None


def test_broken_bounds_are_named() -> None:
    [first, *_] = criterion.broken(judge.criteria([data(unanswerable="why")]))
    assert first == "there is an answer: 0, not at least 1, of 4"
    job = {"grown": 0, "blind": 0, "judged": 9}
    assert list(criterion.broken(judge.of_jobs({"mysql-9.7": job}))) == []
    for name, value in (("grown", 2), ("blind", 1), ("judged", 0)):
        [text] = criterion.broken(judge.of_jobs({"mysql-9.7": job | {name: value}}))
        assert text.startswith("mysql-9.7: ")


def test_an_advice_that_is_much_larger_than_needed_is_not_tight() -> None:
    assert AdvisedSize(2.0, 0.2, 0.1, 1.6).tight
    assert not AdvisedSize(2.0, 0.2, 0.1, 1.59).tight
