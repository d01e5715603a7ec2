"""The bound of a simulation's work."""

from __future__ import annotations

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


def test_a_simulation_ends_at_the_most_steps_and_says_how_many_it_would_take() -> None:
    steps = simulate(twelve_tables(), LONGEST).steps
    with pytest.raises(TooManySteps, match=r"up to [\d,]+ steps, some \d+ s of a core; 100 steps are allowed"):
        simulate(twelve_tables(), 100)
    assert 100 < simulate(twelve_tables(), 4 * steps).steps == steps


def test_a_question_that_takes_too_long_is_unanswerable_for_lack_of_time() -> None:
    with pytest.raises(Unanswerable, match="steps are allowed") as raised, answerable():
        simulate(twelve_tables(), 100)
    assert raised.value.lacks == "time"
