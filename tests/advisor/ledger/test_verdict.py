"""A promise is kept if its stated error, or chance, explains what it is off."""

from __future__ import annotations

import pytest

from advisor.ledger.entry import Compared, Promise, Result
from advisor.ledger.grading import verdict


@pytest.mark.parametrize(
    ("stated", "noise", "after", "result", "error"),
    [
        (0.05, 0.0, 550.0, Result.KEPT, 0.05),
        (0.05, 0.0, 450.0, Result.KEPT, -0.05),
        (0.05, 0.0, 551.0, Result.MISSED, 0.051),
        (0.05, 60.0, 551.0, Result.KEPT, 0.051),
        (0.0, 0.0, 501.0, Result.MISSED, 0.001),
        (None, 0.0, 700.0, Result.KEPT, 0.2),
        (None, 0.0, 299.0, Result.MISSED, -0.201),
    ],
)
def test_a_promise_is_kept_within_its_error_or_by_chance(
    stated: float | None, noise: float, after: float, result: Result, error: float
) -> None:
    promise = Promise(setting="a", to=1, quantity="pages read", now=1000, predicted=500, error=stated)
    measured = Compared(quantity="pages read", before=990, after=after, noise=noise)
    graded = verdict(promise, measured)
    assert graded is not None
    assert graded[0] is result
    assert graded[1] == pytest.approx(error)


def test_of_nothing_no_share_can_be_off() -> None:
    promise = Promise(setting="a", to=1, quantity="pages read", now=0, predicted=0)
    assert verdict(promise, Compared(quantity="pages read", before=0, after=5, noise=0)) is None
