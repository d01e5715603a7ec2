"""Rivals explain the same reads and pages made young as the truth, and one of them is near to it after a change."""

from __future__ import annotations

import pytest

from advisor.models.lru import simulation
from advisor.models.lru.scenario import Pool, Settings
from advisor.models.lru.workload import Background, Rates, TableScan, Workload, rates, scenario
from advisor.whatif.fit import Fit, Measured
from advisor.whatif.rivals import rivals

POOL = Pool(pages=4_095)
SCAN = TableScan("shop.orders", 2_700, 2.0, 0.05, "normal")
ACCESSES = 3_000.0
TABLE = 1_800
"""Pages of the table that is looked up."""


def played(workload: Workload, pct: int | None = None) -> Rates:
    then = None if pct is None else (Settings(old_blocks_pct=pct), workload)
    return rates(workload, simulation.simulate(scenario(workload, POOL, then=then)).passes)


def of(hot: Background) -> Workload:
    return Workload((SCAN,), POOL.pages, (hot,))


def found(truth: Workload, table: int = TABLE) -> tuple[Workload, ...]:
    """The rivals of a fit that explains the reads by a set none of which is young."""
    today = played(truth)
    measured = Measured(today.per_pass, today.other, today.made_young, (ACCESSES, ACCESSES), table, table)
    cold = of(Background(round(2.0 * today.other), 0.0, ACCESSES, spread=0.25))
    return rivals(Fit(cold, played(cold), 0.0, 0.0), POOL, measured, lambda: None)


@pytest.mark.parametrize("warm", [0.3, 0.6, 0.8])
def test_a_set_of_which_a_part_is_young_is_among_the_rivals(warm: float) -> None:
    truth = of(Background(TABLE, 0.0, ACCESSES, warm, spread=0.25))
    assert played(truth).made_young == 0
    largest = max(found(truth), key=lambda each: each.backgrounds[0].pages * (each.backgrounds[0].skew == 0))
    assert largest.backgrounds[0].pages == TABLE
    assert largest.backgrounds[0].warm == pytest.approx(warm, abs=0.05)
    for pct in (60, 79, 95):
        assert played(largest, pct).read == pytest.approx(played(truth, pct).read, rel=0.05), pct


def test_no_set_is_larger_than_reads_and_young_sublist_leave_room_for() -> None:
    truth = of(Background(TABLE, 0.0, ACCESSES, 0.6, spread=0.25))
    largest = max(each.backgrounds[0].pages for each in found(truth, 40_000) if not each.backgrounds[0].skew)
    young, asked = 0.63 * POOL.pages, 0.8  # share of so many pages that 6,000 accesses ask for
    assert TABLE < largest <= young + 2.0 * played(truth).other / asked


@pytest.mark.parametrize("hot", [Background(3_000, 0.0, ACCESSES), Background(4_000, 0.8, ACCESSES)])
def test_where_pages_become_young_no_part_of_the_set_stays_there_by_itself(hot: Background) -> None:
    """Accesses over the whole round, longer than innodb_old_blocks_time."""
    truth = of(hot)
    assert played(truth).made_young > 0.02 * played(truth).other
    assert all(each.backgrounds[0].warm == 0 for each in found(truth, hot.pages))
