"""The record of the miss curves is by one model, and the pictures show its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from advisor.fleet.capacity import ERRORS, MODEL, WARM_UPS
from lab.curves import judge, measure, report
from lab.curves.workloads import WORKLOADS
from lab.harness import records
from lab.reports import pictures


@pytest.fixture(scope="module")
def parts() -> Mapping[str, Any]:
    """The entries of the record."""
    record = records.load(measure.GROUP)
    assert record is not None
    return dict(record["parts"])


def test_its_predictions_are_by_one_model(parts: Mapping[str, Any]) -> None:
    assert len({entry["data"]["model"] for entry in parts.values()}) == 1


@pytest.mark.parametrize("name", [load.name for load in report.DRAWN])
def test_a_picture_shows_its_numbers(parts: Mapping[str, Any], name: str) -> None:
    drawn = pictures.shown(report.PICTURES / f"{name}.svg")
    assert drawn == report.plot({"parts": parts}, name), "run: .venv/bin/python -m tools.docs"


def test_there_is_no_other_picture() -> None:
    assert {path.stem for path in report.PICTURES.iterdir()} == {load.name for load in report.DRAWN}


def test_the_error_that_the_fleet_states_of_the_model_is_that_of_the_record(parts: Mapping[str, Any]) -> None:
    curves = [entry["data"] for name, entry in parts.items() if measure.workload_name(name) != measure.ONCE]
    errors = sorted(case.error for data in curves for case in judge.cases(data) if case.times == 0.5)
    assert errors[int(0.9 * len(errors))] == pytest.approx(ERRORS[MODEL], abs=0.01)


def test_the_error_that_the_fleet_states_of_warm_ups_is_no_looser_than_the_record_needs(
    parts: Mapping[str, Any],
) -> None:
    pools = judge.recorded_pools(parts)
    too_fast = {("mysql-9.7", "ycsb-c-uniform")}  # the pool is full at the fourth collection
    assert {(pool.server, pool.load) for pool in pools} | too_fast == {
        (server, workload.name) for server in measure.SERVERS for workload in WORKLOADS
    }
    assert ERRORS[WARM_UPS] < 1.1 * judge.tenth([pool for pool in pools if not pool.scanned])
