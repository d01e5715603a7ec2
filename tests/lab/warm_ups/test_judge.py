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
from lab.warm_ups import campaign, judge, recorded, report
from lab.warm_ups.judge import Case
from lab.warm_ups.measure import SHARES, mebibytes


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


def of_all_points(measured: float = 1.0) -> list[Case]:
    return [each for each in judge.cases("mysql-9.7", "uniform", data(measured)) if each.every == 1]


def test_a_case_compares_reads_of_a_pool_with_those_foretold() -> None:
    found = of_all_points()
    assert [each.share for each in found] == list(SHARES)
    assert all(abs(each.error) < 0.06 for each in found[:4])
    assert all(each.held for each in found)


def test_fewer_points_are_judged_too() -> None:
    assert {each.every for each in judge.cases("mysql-9.7", "uniform", data())} == set(judge.EVERY)


def test_no_case_for_pools_that_the_warm_up_did_not_come_to() -> None:
    early = {**data(), "filling": {"own": filling()[:40]}}
    assert {each.share for each in judge.cases("mysql-9.7", "uniform", early)} == {0.2}


def test_reads_far_from_those_foretold_break_the_bounds() -> None:
    assert list(judge.broken(of_all_points())) == []
    assert len(list(judge.broken(of_all_points(2.0)))) == 2


def test_a_verdict_has_the_errors_at_both_ends() -> None:
    found = judge.verdict([Case("s", "l", "own", 1, 0.5, 1.0, expected, 1.5) for expected in (0.9, 1.0, 1.2)])
    assert (found.cases, found.held) == (3, 3)
    assert (found.least, found.median, found.worst) == pytest.approx((-0.1, 0.1, 0.2))


def test_the_published_errors_keep_to_what_the_advice_says() -> None:
    record = records.load(recorded.GROUP)
    assert record is not None
    every = list(recorded.cases(record))
    too_fast = {("mysql-9.7", "ycsb-c-uniform")}  # the pool is full at the fourth collection
    assert {(case.server, case.load) for case in every} | too_fast == {
        (server, each.name) for server in curves.SERVERS for each in WORKLOADS
    }
    assert list(recorded.broken(every)) == []
    alone = [case for case in every if not report.scanned(case)]
    assert ERRORS[WARM_UPS] < 1.1 * judge.verdict(alone).tenth  # no looser than it must be


def test_what_a_prometheus_recorded_keeps_to_it_too() -> None:
    record = records.load(campaign.GROUP)
    assert record is not None
    assert set(record["parts"]) == {part.name for part in campaign.parts()}
    every = [
        case
        for name, part in record["parts"].items()
        for case in judge.cases(part["server"], campaign.load(name), part["data"])
    ]
    assert {case.source for case in every} == {"own", "peer"}
    assert list(judge.broken(every)) == []


def test_the_error_that_is_told_of_the_model_is_that_of_its_record() -> None:
    record = records.load(curves.GROUP)
    assert record is not None
    errors = sorted(
        case.error
        for name, part in record["parts"].items()
        if curves.workload(name) != once.NAME
        for case in curve_judge.cases(part["server"], curves.workload(name), part["data"])
        if case.times == 0.5
    )
    assert errors[int(0.9 * len(errors))] == pytest.approx(ERRORS[MODEL], abs=0.01)
