"""What became of followed advice, in words."""

from __future__ import annotations

from advisor.ledger.entry import Promise, Result
from advisor.ledger.words import followed, rise
from tests.advisor.ledger.outcomes import outcome, worse


def test_a_promise_is_measured_outcome_with_what_was_measured() -> None:
    assert followed(outcome(0, 12)) == "followed: predicted 0, measured 12 pages read per pass"
    assert followed(outcome(1234.5, 2345.6)) == "followed: predicted 1,234, measured 2,346 pages read per pass"


def test_a_promise_in_another_unit_than_its_quantity_has_both() -> None:
    waits = Promise(setting="x", to=1, quantity="waits", unit="seconds per row", now=1, predicted=0.5)
    measured = outcome(0, 12).measured
    assert measured is not None
    measured_outcome = outcome(0, 12, promise=waits, measured=measured.model_copy(update={"after": 0.25}))
    assert followed(measured_outcome) == "followed: predicted 0.5, measured 0.25 seconds per row (waits)"
    memory = Promise(setting="x", to=1, quantity="memory for the pool", unit="bytes", now=2**31, predicted=2**30)
    measured_outcome = outcome(0, 12, promise=memory, measured=measured.model_copy(update={"after": 2**30}))
    assert followed(measured_outcome) == "followed: predicted 1 GiB, measured 1 GiB (memory for the pool)"


def test_what_could_not_be_measured_says_why() -> None:
    still = outcome(0, 12, result=Result.OPEN, measured=None, error=None, why="the pool settles")
    assert followed(still) == "followed: predicted 0 pages read per pass, not measured yet: the pool settles"
    other = outcome(0, 12, result=Result.NOT_COMPARABLE, why="twice the lookups")
    assert followed(other) == "followed: predicted 0 pages read per pass, not comparable: twice the lookups"
    assert followed(outcome(0, 12, promise=None, result=Result.UNPROMISED)) == "followed"


def test_what_got_worse_meanwhile_is_measured_outcome_too() -> None:
    assert followed(outcome(0, 12, others=(worse(),))) == (
        "followed: predicted 0, measured 12 pages read per pass; pages read per second of shop.items rose from 5 to 95"
    )
    assert rise(worse().model_copy(update={"subject": {}})) == "pages read per second rose from 5 to 95"
