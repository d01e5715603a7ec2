"""How the reads that a warm-up predicts are judged, from a warm-up that is made up."""

from __future__ import annotations

from typing import Any

import pytest

from lab.curves import judge
from lab.curves.judge import SmallerPool
from lab.curves.loads import PAGES
from lab.curves.warm_ups import EVERY, SHARES, mebibytes, scraped_pools
from lab.reports import criterion

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


def pools(data: dict[str, Any]) -> list[SmallerPool]:
    return scraped_pools({PART: {"server": "mysql-9.7", "data": data}})


def of_all_points(measured: float = 1.0) -> list[SmallerPool]:
    return [pool for pool in pools(data(measured)) if pool.every == 1]


def test_reads_of_a_pool_are_compared_with_predicted_ones() -> None:
    smaller = of_all_points()
    assert [pool.share for pool in smaller] == list(SHARES)
    assert all(abs(pool.error) < 0.06 for pool in smaller[:4])
    assert all(pool.held for pool in smaller)


def test_fewer_points_are_judged_too() -> None:
    assert {pool.every for pool in pools(data())} == set(EVERY)


def test_no_case_for_pools_that_the_warm_up_did_not_come_to() -> None:
    assert {pool.share for pool in pools({**data(), "filling": {"own": filling()[:40]}})} == {0.2}


def test_reads_far_from_predicted_ones_break_the_bounds() -> None:
    assert list(criterion.broken(judge.of_warm_ups(of_all_points()))) == []
    assert len(list(criterion.broken(judge.of_warm_ups(of_all_points(2.0))))) == 2


def test_errors_are_judged_without_their_signs() -> None:
    smaller = [SmallerPool("s", "l", "own", 1, 0.5, 1.0, expected, 1.5) for expected in (0.9, 1.0, 1.2)]
    assert judge.tenth(smaller) == pytest.approx(0.2)
