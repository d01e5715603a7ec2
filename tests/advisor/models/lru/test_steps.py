"""The bound of a simulation's work."""

from __future__ import annotations

import contextlib
import time

import pytest

from advisor.models.lru.errors import TooManySteps
from advisor.models.lru.scenario import Pool, Scenario
from advisor.models.lru.simulation import LONGEST, simulate
from advisor.models.lru.workload import Background, TableScan, Workload, scenario
from advisor.whatif.errors import Unanswerable, answerable


def twelve_tables() -> Scenario:
    scans = tuple(
        TableScan(f"shop.t{n}", pages=500 + 400 * n, period=2.0 + 17.0 * n, seconds=0.1, fetch="normal", kept=0.3)
        for n in range(12)
    )
    return scenario(Workload(scans, 20_000, (Background(5_000, 0.5, 500.0, True),)), Pool(pages=16_382, instances=8))


def crowded() -> Scenario:
    """Three tables that a pool just does not hold, as fitted to a real load: there were more runs than pages."""
    scans = (
        TableScan("shop.invoices", 5_735, 3.17068474444238, 0.06153173586818579, "normal", kept=1.0),
        TableScan(
            "shop.items", 5_735, 8.842745972543606, 0.10232804631194486, "normal", kept=0.0, sharers=2.7889076051235464
        ),
        TableScan("shop.orders", 5_735, 3.17068474444238, 0.1066646165310371, "normal", kept=0.10673084629621132),
    )
    hot = Background(1_622, 0.0, 329.9556297886137, warm=True)
    return scenario(Workload(scans, 16_382, (hot,)), Pool(pages=16_382))


def step_seconds(of: Scenario) -> float:
    """Seconds of a core that a step takes."""
    began, steps = time.thread_time(), LONGEST
    with contextlib.suppress(TooManySteps):
        steps = simulate(of, LONGEST).steps
    return (time.thread_time() - began) / steps


def test_a_step_of_a_crowded_list_takes_about_as_long_as_any_other() -> None:
    usual = min(step_seconds(twelve_tables()) for _ in range(3))
    assert step_seconds(crowded()) < 10 * usual  # measured: 2; it took hundreds of times as long, and minutes in all


def test_a_simulation_ends_at_the_most_steps_and_says_how_many_it_would_take() -> None:
    steps = simulate(twelve_tables(), LONGEST).steps
    with pytest.raises(TooManySteps, match=r"up to [\d,]+ steps, some \d+ s of a core; 100 steps are allowed"):
        simulate(twelve_tables(), 100)
    assert 100 < simulate(twelve_tables(), 4 * steps).steps == steps


def test_a_question_that_takes_too_long_is_unanswerable_for_lack_of_time() -> None:
    with pytest.raises(Unanswerable, match="steps are allowed") as raised, answerable():
        simulate(twelve_tables(), 100)
    assert raised.value.lacks == "time"
