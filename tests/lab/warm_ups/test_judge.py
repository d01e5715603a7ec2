"""How foretold reads are judged, from a warm-up that is made up, and the record that is published."""

from __future__ import annotations

from typing import Any

import pytest

from advisor.fleet.capacity import ERRORS, MODEL, WARM_UPS
from lab.curves import campaign as curves
from lab.curves import judge as curve_judge
from lab.curves import once
from lab.curves.distributions import PAGES
from lab.curves.workloads import WORKLOADS
from lab.harness import records
from lab.reports import criterion
from lab.warm_ups import judge, measure
from lab.warm_ups.judge import SmallerPool
from lab.warm_ups.measure import SHARES, mebibytes

PART = "mysql-9.7, uniform"


def filling(step: float = 1.0) -> list[list[float]]:
    """A pool that misses in proportion to the pages that it lacks: 100 accesses a second, two gets where one misses."""
    rows, pages, gets = [], 0.0, 0.0
    for second in range(400):
        rows.append([second * step, round(pages), round(pages), round(gets + pages)])
        gets += 100
        pages += 100 * (1 - pages / PAGES)
    return rows


def data(measured: float = 1.0) -> dict[str, Any]:
    reads = {str(share): measured * (1 - mebibytes(share) * 64 / PAGES) for share in SHARES}
    return {"pages": PAGES, "filling": {"own": filling()}, "accesses": 1.0, "measured": reads}


def of_all_points(measured: float = 1.0) -> list[SmallerPool]:
    return [pool for pool in judge.through_prometheus("mysql-9.7", PART, data(measured)) if pool.every == 1]


def test_reads_of_a_pool_are_compared_with_predicted_ones() -> None:
    pools = of_all_points()
    assert [pool.share for pool in pools] == list(SHARES)
    assert all(abs(pool.error) < 0.06 for pool in pools[:4])
    assert all(pool.held for pool in pools)


def test_fewer_points_are_judged_too() -> None:
    assert {pool.every for pool in judge.through_prometheus("mysql-9.7", PART, data())} == set(judge.EVERY)


def test_no_case_for_pools_that_the_warm_up_did_not_come_to() -> None:
    early = {**data(), "filling": {"own": filling()[:40]}}
    assert {pool.share for pool in judge.through_prometheus("mysql-9.7", PART, early)} == {0.2}


def test_reads_far_from_predicted_ones_break_the_bounds() -> None:
    assert list(criterion.broken(judge.criteria(of_all_points()))) == []
    assert len(list(criterion.broken(judge.criteria(of_all_points(2.0))))) == 2


def test_errors_are_judged_without_their_signs() -> None:
    pools = [SmallerPool("s", "l", "own", 1, 0.5, 1.0, expected, 1.5) for expected in (0.9, 1.0, 1.2)]
    assert (judge.median(pools), judge.tenth(pools)) == pytest.approx((0.1, 0.2))


def test_the_published_errors_keep_to_what_the_advice_says() -> None:
    record = records.load(judge.RECORDED)
    assert record is not None
    pools = judge.recorded(record)
    too_fast = {("mysql-9.7", "ycsb-c-uniform")}  # the pool is full at the fourth collection
    assert {(pool.server, pool.load) for pool in pools} | too_fast == {
        (server, workload.name) for server in curves.SERVERS for workload in WORKLOADS
    }
    assert list(criterion.broken(judge.criteria(pools))) == []
    alone = [pool for pool in pools if not pool.scanned]
    assert ERRORS[WARM_UPS] < 1.1 * judge.tenth(alone)  # no looser than it must be


def test_what_a_prometheus_recorded_keeps_to_it_too() -> None:
    record = records.load(measure.GROUP)
    assert record is not None
    assert set(record["parts"]) == {part.name for part in measure.parts()}
    pools = judge.scraped(record)
    assert {pool.source for pool in pools} == {"own", "peer"}
    assert list(criterion.broken(judge.criteria(pools))) == []


def test_the_error_that_is_told_of_the_model_is_that_of_its_record() -> None:
    record = records.load(curves.GROUP)
    assert record is not None
    errors = sorted(
        case.error
        for name, part in record["parts"].items()
        if curves.workload(name) != once.NAME
        for case in curve_judge.cases(part["data"])
        if case.times == 0.5
    )
    assert errors[int(0.9 * len(errors))] == pytest.approx(ERRORS[MODEL], abs=0.01)
