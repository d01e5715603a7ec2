from __future__ import annotations

import pytest

from advisor.ledger.reading import READ, READ_UNIT, Measure, Reading, Work
from advisor.ledger.work import changed_work

SLICES = 6
HOT, REPORT, BATCH = ({"schema": "shop", "table": name} for name in ("hot", "report", "batch"))


def _work(subject: dict[str, str], rows: float, seconds: float | None, way: str = "lookups") -> Work:
    spent = () if seconds is None else (seconds,) * SLICES
    return Work(subject=subject, way=way, rows=(rows,) * SLICES, seconds=spent)


def _reading(*work: Work, reads: dict[str, float] | None = None) -> Reading:
    measures = tuple(
        Measure(
            quantity=READ,
            unit=READ_UNIT,
            subject={"schema": "shop", "table": table},
            amounts=(pages,) * SLICES,
            bases=(1.0,) * SLICES,
            per_second=True,
        )
        for table, pages in (reads or {}).items()
    )
    return Reading(began=0.0, at=60.0 * SLICES, seconds=(1.0,) * SLICES, work=work, measures=measures)


USUAL = _reading(_work(HOT, 1_000, 0.2), _work(REPORT, 5_000, 0.3, "scans"))


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (USUAL, ""),
        (_reading(_work(HOT, 1_400, 0.28), _work(REPORT, 4_000, 0.24, "scans")), ""),  # the rates swing
        (_reading(_work(HOT, 200, 0.25), _work(REPORT, 5_000, 0.3, "scans")), ""),  # clients wait for slower answers
        (_reading(_work(HOT, 9_000, 0.2), _work(REPORT, 5_000, 0.3, "scans")), ""),  # or for faster ones
        (_reading(_work(HOT, 5_000, 0.4), _work(REPORT, 25_000, 0.1, "scans")), ""),  # one after the other, faster
        (_reading(_work(HOT, 200, 0.04), _work(REPORT, 5_000, 0.3, "scans")), "lookups of shop.hot"),  # fewer clients
        (_reading(_work(HOT, 3_000, 0.6), _work(REPORT, 5_000, 0.3, "scans")), "lookups of shop.hot"),  # more clients
        (_reading(_work(HOT, 1_000, 0.2)), "scans of shop.report"),
        (_reading(*USUAL.work, _work(BATCH, 100, 0.5)), "lookups of shop.batch went from 0 to 100"),
        (_reading(*USUAL.work, _work(BATCH, 100, 0.01)), ""),  # too little to matter
        (_reading(*USUAL.work, _work(BATCH, 100, 0.01), reads={"batch": 90, "hot": 100}), "lookups of shop.batch"),
        (_reading(), "lookups of shop.hot went from 1,000 to 0"),
    ],
)
def test_work_is_comparable_unless_other_clients_ask_for_other_rows(after: Reading, expected: str) -> None:
    reason = changed_work(USUAL, after)
    assert expected in reason
    assert bool(expected) == bool(reason)


def test_lookups_beside_slow_inserts_of_the_same_clients_keep_step() -> None:
    """MySQL 9.7.4, innodb_change_buffering = none: a row read eleven times as many pages."""
    before = _reading(_work(HOT, 4_116, 0.501, "writes"), _work(HOT, 20.6, 0.0073), reads={"hot": 1_024})
    after = _reading(_work(HOT, 1_314, 0.832, "writes"), _work(HOT, 6.59, 0.0020), reads={"hot": 3_700})
    assert changed_work(before, after) == ""


def test_without_times_rates_decide_alone() -> None:
    of = [_reading(_work({}, rows, None, "statements")) for rows in (1_000, 1_300, 2_000)]
    assert changed_work(of[0], of[1]) == ""
    assert "statements went from 1,000 to 2,000" in changed_work(of[0], of[2])


def test_work_that_is_not_known_is_not_comparable() -> None:
    assert changed_work(_reading(), _reading()) == "what work was done is not known"
