"""How foretold cold starts are judged, from a pool that fills as it is made up."""

from __future__ import annotations

import math
from typing import Any

import pytest

from lab.curves.cold_starts import FilledPool, criteria, fillings
from lab.reports import criterion

ASKED, READS = 1_000.0, 100.0


def points(faster: float = 1.0, until: int = 100) -> list[list[float]]:
    """Half as many pages are missing every ten seconds of a pool as fast as foretold: seconds, visits, pages read."""
    rows, read = [], 0.0
    for second in range(until):
        rows.append([second / faster, ASKED * second, round(read)])
        read += READS + (ASKED - READS) * 0.5 ** (second / 10)
    return rows


def pools(counted: list[list[float]]) -> list[FilledPool]:
    start = {
        "dump": "nothing",
        "pages": 20_000,
        "pages_low": 16_000,
        "pages_high": 24_000,
        "minutes_to_90": 0.55,
        "minutes_to_90_low": 0.4,
        "minutes_to_90_high": 0.7,
        "reads": [[60.0, 300.0]],
        "limited_by": "the load's own pace",
    }
    data: dict[str, Any] = {
        "done": ASKED,
        "asked": ASKED,
        "reads": READS,
        "smoothed": 5.0,
        "starts": {"nothing": start},
        "likely": {"nothing": points()},
        "fillings": {"nothing": counted},
    }
    return fillings({"mysql-9.7, zipf": {"server": "mysql-9.7", "data": data}})


def test_a_pool_that_fills_as_foretold_breaks_no_bound() -> None:
    [pool] = pools(points())
    assert pool.minutes(0.9) == pytest.approx(0.55, abs=0.05)
    assert (pool.pages_off, pool.inside, pool.timely) == (0.0, True, True)
    assert not list(criterion.broken(criteria([pool])))


def test_a_faster_machine_reads_as_many_pages_for_as_many_visits() -> None:
    [pool] = pools(points(faster=4.0))
    assert pool.pages_off == pytest.approx(0.0, abs=0.01)
    assert pool.visits(pool.filling) == pytest.approx(pool.visits(pool.likely), rel=0.4)
    assert [broken for broken in criterion.broken(criteria([pool])) if "minutes" in broken]


def test_more_pages_than_foretold_break_a_bound() -> None:
    [pool] = pools([[at, asked, 2 * read] for at, asked, read in points()])
    assert pool.pages_off == pytest.approx(-0.5)
    assert [broken for broken in criterion.broken(criteria([pool])) if "pages" in broken]


def test_a_pool_that_was_not_seen_to_become_warm_is_off() -> None:
    [pool] = pools(points(until=20))
    assert (pool.minutes(0.9), pool.minutes_off) == (None, math.inf)
    assert not pool.timely


def test_a_recording_that_has_no_answer_is_no_case() -> None:
    entry = {"server": "mysql-9.7", "data": {"unanswerable": "why", "fillings": {}}}
    assert fillings({"mysql-9.7, zipf": entry}) == []
