"""The bounds of memory plans, and their section of docs/plan.md."""

from __future__ import annotations

from typing import Any

import pytest

from lab.plans.record import LimitedPlan, MemoryRecord, MovedMemory
from lab.plans.report import section

MIB = 2**20


def _moved(planned: float, measured: float) -> MovedMemory:
    return MovedMemory(
        setting="innodb_buffer_pool_size", before=128 * MIB, after=512 * MIB, planned=planned, measured=measured
    )


def _plan(**values: Any) -> LimitedPlan:
    attributes: dict[str, Any] = {
        "used": 200 * MIB,
        "limit": 240 * MIB,
        "limit_then": 700 * MIB,
        "most": (0.83, 0.88, 0.9),
        "steps": (),
        "back": (),
        "kills": 0,
        "refused": True,
        "killed": True,
    }
    return LimitedPlan(**attributes | values)


def _record(**values: Any) -> MemoryRecord:
    return MemoryRecord(moved=(_moved(400.0, 390.0),), plan=_plan(**values))


def test_a_plan_that_keeps_its_bounds_holds() -> None:
    assert list(_record().broken()) == []
    assert list(MemoryRecord(moved=(_moved(-400.0, -390.0),)).broken()) == []


@pytest.mark.parametrize(
    ("record", "broken"),
    [
        (MemoryRecord(moved=(_moved(400.0, 440.0),)), "measured of planned bytes"),
        (MemoryRecord(moved=(_moved(400.0, 200.0),)), "measured of planned bytes"),
        (_record(kills=1), "1 kills in the planned order"),
        (_record(killed=False), "the control shows nothing"),
        (_record(refused=False), "the control shows nothing"),
        (_record(most=(0.8, 0.97, 0.8)), "most in use"),
        (_record(most=(0.8, 0.5, 0.8)), "most in use"),
    ],
)
def test_a_broken_bound_is_named(record: MemoryRecord, broken: str) -> None:
    [said] = record.broken()
    assert broken in said


def test_the_section_is_of_the_record() -> None:
    assert "most in use" in section()
