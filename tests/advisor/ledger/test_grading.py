from __future__ import annotations

from typing import Any

import pytest

from advisor.ledger.entry import Changed, Compared, Outcome, Promise, Result
from advisor.ledger.grading import OTHERS, grade, verdict
from advisor.ledger.reading import (
    LATENCY,
    READ,
    READ_UNIT,
    SLICES,
    WAITED,
    WAITED_UNIT,
    WINDOW_SECONDS,
    Measure,
    Reading,
    Work,
)

WINDOWS = 3
COUNT = WINDOWS * SLICES
SECONDS = WINDOW_SECONDS / SLICES
HOT, SCANNED = ({"schema": "shop", "table": name} for name in ("hot", "scanned"))
PER_PASS = "pages read per pass"
_UNEVEN = (0.9, 1.05, 1.0, 1.1, 0.95)


def _reading(*, hot: float = 10.0, scanned: float = 500.0, waited: float = 100.0, **more: Any) -> Reading:
    """So many pages a second are read of each table, for a row a second; milliseconds a second are waited in one."""

    def measure(quantity: str, unit: str, subject: dict[str, str], rate: float, bases: float = SECONDS) -> Measure:
        amounts = tuple(rate * bases * _UNEVEN[number % SLICES] for number in range(COUNT))
        return Measure(
            quantity=quantity,
            unit=unit,
            subject=subject,
            amounts=amounts,
            bases=(bases,) * COUNT,
            per_second=quantity in (READ, WAITED),
        )

    measures = (
        measure(READ, READ_UNIT, HOT, hot),
        measure(READ, READ_UNIT, SCANNED, scanned),
        measure(READ, READ_UNIT, {}, 1.0),  # beside tables
        measure(WAITED, WAITED_UNIT, HOT, waited),
        measure(LATENCY, "ms", {}, more.pop("latency", 0.1), bases=100.0),
        measure(PER_PASS, "pages", SCANNED, scanned * 2.0, bases=1.0),
    )
    work = tuple(
        Work(subject=subject, way="lookups", rows=(SECONDS,) * COUNT, seconds=(1.0,) * COUNT)
        for subject in (HOT, SCANNED)
    )
    return Reading(
        began=0.0, at=WINDOWS * WINDOW_SECONDS, seconds=(SECONDS,) * COUNT, work=work, measures=measures, **more
    )


def _outcome(promise: Promise | None = None, **values: Any) -> Outcome:
    changes = (Changed(setting="innodb_old_blocks_pct", before=37, after=76),)
    advised = {"rule": "scan-exceeds-old-sublist", "subject": SCANNED, "followed": True} if promise else {}
    return Outcome(id="a", at=100.0, changes=changes, promise=promise, **(advised | values))


def _promise(quantity: str = PER_PASS, **values: Any) -> Promise:
    known = {"setting": "innodb_old_blocks_pct", "to": 76, "unit": "pages", "now": 1_000, "predicted": 0, "error": 0.05}
    return Promise(quantity=quantity, **(known | values))


def test_a_kept_promise_has_its_measurement_and_its_error() -> None:
    outcome = grade(_outcome(_promise()), _reading(), _reading(scanned=12.0), spared=[SCANNED])
    assert (outcome.result, outcome.error, outcome.closed_at) == (Result.KEPT, 0.024, 900.0)
    assert outcome.measured is not None
    assert (outcome.measured.before, outcome.measured.after) == (1_000, 24)
    assert outcome.why == "predicted 0 after 1,000, measured 24 after 1,000"


def test_a_promise_beyond_its_error_is_missed() -> None:
    outcome = grade(_outcome(_promise()), _reading(), _reading(scanned=250.0), spared=[SCANNED])
    assert (outcome.result, outcome.error) == (Result.MISSED, 0.5)


def test_a_rate_is_judged_at_the_pace_of_its_prediction() -> None:
    promise = _promise(READ, now=1_022, predicted=30)  # twice as much work in a second, in the finding's window
    outcome = grade(_outcome(promise, subject={}), _reading(), _reading(scanned=4.0))
    assert outcome.result is Result.KEPT
    assert outcome.error == pytest.approx(0.0, abs=0.001)
    assert outcome.measured is not None
    assert (outcome.measured.before, outcome.measured.after) == (511, 15)


def test_reads_by_writes_are_told_by_how_much_all_reads_fell() -> None:
    promise = _promise("secondary-index pages read per second by inserts and updates", now=400, predicted=40)
    outcome = grade(_outcome(promise, subject={}), _reading(), _reading(scanned=140.0))
    assert (outcome.result, outcome.error) == (Result.KEPT, 0.0)


@pytest.mark.parametrize(("after", "result", "error"), [(0.0, Result.KEPT, 0.0), (89.0, Result.MISSED, 0.25)])
def test_a_bound_is_kept_by_whatever_is_below_it(after: float, result: Result, error: float) -> None:
    promise = _promise("pages read per second in the worst hour, at most", now=0, predicted=80)
    outcome = grade(_outcome(promise, subject={}), _reading(scanned=0.0), _reading(scanned=after))
    assert (outcome.result, outcome.error) == (result, error)


def test_what_was_not_there_before_the_change_cannot_be_graded() -> None:
    outcome = grade(_outcome(_promise()), _reading(scanned=100.0), _reading(scanned=0.0))
    assert outcome.result is Result.NOT_COMPARABLE
    assert outcome.why == "before the change it was 200 pages, but 1,000 when it was predicted"


def test_what_production_does_not_measure_is_unpromised() -> None:
    outcome = grade(_outcome(_promise("bytes of temporary files")), _reading(), _reading())
    assert (outcome.result, outcome.why) == (Result.UNPROMISED, "bytes of temporary files: not measured in production")


def test_reads_of_the_subject_are_no_harm_but_those_of_others_are() -> None:
    outcome = grade(_outcome(_promise()), _reading(), _reading(hot=200.0, scanned=900.0), spared=[SCANNED])
    assert [rise.subject for rise in outcome.harm] == [OTHERS, HOT]


def test_nobody_is_spared_by_a_change_that_nobody_advised() -> None:
    outcome = grade(_outcome(), _reading(), _reading(scanned=900.0))
    assert [rise.subject for rise in outcome.harm] == [{}, SCANNED]
    assert (outcome.harm[0].before, outcome.harm[0].after) == (511, 911)


@pytest.mark.parametrize(
    "after",
    [
        {"scanned": 590.0},  # less than a fifth
        {"hot": 19.0},  # fewer than ten pages a second
        {"waited": 140.0},  # less than half
        {"latency": 10.0},  # reads that are rare are slow ones: no harm by itself
    ],
)
def test_a_rise_that_does_not_matter_is_no_harm(after: dict[str, float]) -> None:
    assert grade(_outcome(), _reading(), _reading(**after)).harm == ()


def test_a_rise_that_an_earlier_window_had_as_well_is_no_harm() -> None:
    before = _reading()
    measures = [
        measure.model_copy(
            update={"amounts": (*(3.0 * of for of in measure.amounts[:SLICES]), *measure.amounts[SLICES:])}
        )
        for measure in before.measures
    ]
    before = before.model_copy(update={"measures": tuple(measures)})
    assert grade(_outcome(), before, _reading(hot=29.0, scanned=1_400.0)).harm == ()


def test_time_that_is_waited_is_harm_without_any_reads() -> None:
    outcome = grade(_outcome(), _reading(), _reading(waited=300.0))
    assert {rise.quantity for rise in outcome.harm} == {WAITED}


def test_another_server_is_not_comparable() -> None:
    outcome = grade(_outcome(), _reading(server="MySQL 9.7.4"), _reading(server="MySQL 9.8.0"))
    assert (outcome.result, outcome.others) == (Result.NOT_COMPARABLE, ())


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
