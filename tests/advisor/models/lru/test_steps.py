"""The bound of a simulation's work."""

from __future__ import annotations

import collections

import pytest

from advisor.models.lru import simulation
from advisor.models.lru.errors import TooManySteps
from advisor.models.lru.scenario import Pool, Scenario
from advisor.models.lru.simulation import LONGEST, simulate
from advisor.models.lru.workload import Background, TableScan, Workload, scenario
from advisor.pool.errors import Unanswerable, answerable


def twelve_tables() -> Scenario:
    scans = tuple(
        TableScan(f"shop.t{n}", pages=500 + 400 * n, period=2.0 + 17.0 * n, seconds=0.1, fetch="normal", kept=0.3)
        for n in range(12)
    )
    return scenario(Workload(scans, 20_000, (Background(5_000, 0.5, 500.0, True),)), Pool(pages=16_382, instances=2))


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


def test_a_crowded_list_has_far_fewer_runs_than_pages() -> None:
    """A step looks at runs: without a bound, they multiply, and a step takes hundreds of times as long."""
    steps = crowded().steps
    simulator = simulation._Simulator(crowded(), 15_000)  # noqa: SLF001 - the list is not part of a result
    with pytest.raises(TooManySteps):
        collections.deque((each for step in steps for each in simulator.do(step)), maxlen=0)
    [group] = simulator.instances
    pages = group.instance.list
    runs = sum(len(layer.runs) for layer in (*pages.young, *pages.old))
    assert runs < pages.pages / 10  # it is 523; without the bound, 5,796


def test_a_simulation_ends_at_the_most_steps_and_says_how_many_it_would_take() -> None:
    steps = simulate(twelve_tables(), LONGEST).steps
    with pytest.raises(TooManySteps, match=r"up to [\d,]+ steps, some \d+ s of a core; 100 steps are allowed"):
        simulate(twelve_tables(), 100)
    assert 100 < simulate(twelve_tables(), 4 * steps).steps == steps


def test_a_question_that_takes_too_long_is_unanswerable_for_lack_of_time() -> None:
    with pytest.raises(Unanswerable, match="steps are allowed") as raised, answerable():
        simulate(twelve_tables(), 100)
    assert raised.value.lacks == "time"
