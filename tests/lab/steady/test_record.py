"""How steady findings are, and what breaks, from answers that are made up."""

from __future__ import annotations

import pytest

from lab.steady.record import Alerts, Poll, SteadyRecord, broken, steadiness

NAME = "a-rule shop.orders"


def record(shown: str, alerts: Alerts | None = None, step: float = 2.0) -> SteadyRecord:
    """A run with an answer for each letter: x with the finding, o without."""
    polls = [Poll(step * k, {NAME: 1.0 * k} if letter == "x" else {}) for k, letter in enumerate(shown)]
    return SteadyRecord(
        date="2026-11-22",
        machine={},
        version="9.7.4",
        seconds=polls[-1].at,
        polls=len(polls),
        unanswered=0,
        findings=steadiness(polls, {NAME: alerts} if alerts else {}),
    )


@pytest.mark.parametrize(
    ("shown", "came", "missing"),
    [("ooxxxx", 1, 0), ("xxxxxx", 1, 0), ("xxoxxo", 2, 2), ("oxxxoo", 1, 2), ("xoxoxo", 3, 3)],
)
def test_it_counts_how_often_a_finding_came_and_was_missing(shown: str, came: int, missing: int) -> None:
    found = record(shown).findings[NAME]
    assert (found.came, found.missing, found.polls) == (came, missing, shown.count("x"))
    assert (found.first, found.oldest) == (2.0 * shown.index("x"), 1.0 * shown.rindex("x"))


def test_a_finding_that_stays_and_whose_alert_fires_is_steady() -> None:
    assert list(broken(record("oxxxxx", Alerts(1, 600.0), step=200))) == []


def test_a_short_run_needs_no_alert_that_fires() -> None:
    assert list(broken(record("oxxxxx", Alerts(1, None)))) == []


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (record("oooo"), "no finding came"),
        (record("xxox"), f"{NAME} came 2 times"),
        (record("xxoo"), f"{NAME} went, and was missing in 2 answers"),
        (record("xxxx", Alerts(2, None)), f"the alert of {NAME} began 2 times"),
        (record("xxxx", Alerts(1, None), step=300), f"the alert of {NAME} never fired"),
    ],
)
def test_what_is_not_steady_is_named(run: SteadyRecord, why: str) -> None:
    assert list(broken(run)) == [why]
