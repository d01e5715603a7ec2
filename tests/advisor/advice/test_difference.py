"""Whether advice says something else: numbers and words count, dates do not."""

from __future__ import annotations

from typing import Any

import pytest

from advisor.advice.difference import says_the_same
from advisor.contract.recommendation import Advice, SetAside
from tests.advisor.building import RECORDING, advised, captured

ADVICE = advised(captured(RECORDING)).model_copy(update={"computed_at": 1.0})
[FOUND] = ADVICE.recommendations


def other(**values: Any) -> Advice:
    return ADVICE.model_copy(update={"computed_at": 2.0, **values})


def found(**values: Any) -> tuple[Any, ...]:
    return (FOUND.model_copy(update=values),)


@pytest.mark.parametrize(
    "same",
    [
        other(at=9.0, watched_seconds=60.0, age_seconds=3.0, next_at=70.0),
        other(recommendations=found(judged_at=9.0, watched_seconds=60.0)),
    ],
)
def test_another_date_is_no_other_advice(same: Advice) -> None:
    assert says_the_same(ADVICE, same)


@pytest.mark.parametrize(
    "another",
    [
        other(recommendations=()),
        other(recommendations=found(summary="it got worse")),
        other(recommendations=found(trend="worse")),
        other(blind=()),
        other(recommendations=(), suppressed=(SetAside(recommendation=FOUND, reason="on purpose"),)),
    ],
)
def test_another_word_or_number_is(another: Advice) -> None:
    assert not says_the_same(ADVICE, another)


def test_a_finding_that_is_set_aside_may_be_judged_again() -> None:
    aside = other(suppressed=(SetAside(recommendation=FOUND, reason="on purpose"),))
    later = FOUND.model_copy(update={"judged_at": 9.0})
    again = other(computed_at=3.0, suppressed=(SetAside(recommendation=later, reason="on purpose"),))
    assert says_the_same(aside, again)
