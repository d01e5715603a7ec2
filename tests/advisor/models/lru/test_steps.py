"""The bound of a simulation's work."""

from __future__ import annotations

import pytest

from advisor.models.lru import simulation
from advisor.models.lru.instance import TooManySteps
from advisor.models.lru.popularity import Pages
from advisor.models.lru.scenario import Pool
from advisor.models.lru.simulation import LONGEST, Simulation
from advisor.models.lru.workload import LOOKED_UP, TableScan, Workload, scenario
from advisor.pool.errors import Unanswerable, answerable


def twelve_tables(most_steps: float) -> Simulation:
    scans = tuple(
        TableScan(f"shop.t{n}", pages=500 + 400 * n, period=2.0 + 17.0 * n, seconds=0.1, fetch="normal", kept=0.3)
        for n in range(12)
    )
    workload = Workload(scans, 20_000, (Pages(500, 0.4), Pages(4_500, 1 / 15)))
    made = scenario(workload, Pool(pages=16_382, instances=2))
    return simulation.simulate(made, most_steps, {LOOKED_UP: workload.lookups})


def crowded() -> Workload:
    """Three tables that a pool just does not hold, as fitted to a real load: there were more runs than pages."""
    scans = (
        TableScan("shop.invoices", 5_735, 3.17068474444238, 0.06153173586818579, "normal", kept=1.0),
        TableScan(
            "shop.items", 5_735, 8.842745972543606, 0.10232804631194486, "normal", kept=0.0, sharers=2.7889076051235464
        ),
        TableScan("shop.orders", 5_735, 3.17068474444238, 0.1066646165310371, "normal", kept=0.10673084629621132),
    )
    return Workload(scans, 16_382, lookups=(Pages(1_622, 329.9556297886137 / 1_622),))


def test_a_crowded_list_has_far_fewer_runs_than_pages() -> None:
    """A step looks at runs: without a bound, they multiply, and a step takes hundreds of times as long."""
    made = scenario(crowded(), Pool(pages=16_382))
    popularity = {LOOKED_UP: crowded().lookups}
    crowded_simulation = Simulation(made, 15_000, popularity)
    with pytest.raises(TooManySteps):
        crowded_simulation.run()
    [instance] = crowded_simulation.instances
    runs = sum(len(layer.runs) for layer in (*instance.list.young, *instance.list.old))
    assert runs < instance.list.pages / 10  # it is 523; without the bound, 5,796


def test_a_simulation_ends_at_the_most_steps_and_says_how_many_it_would_take() -> None:
    steps = twelve_tables(LONGEST).steps
    with pytest.raises(TooManySteps, match=r"up to [\d,]+ steps, some \d+ s of a core; 100 steps are allowed"):
        twelve_tables(100)
    assert 100 < twelve_tables(4 * steps).steps == steps


def test_a_question_that_takes_too_long_is_unanswerable_for_lack_of_time() -> None:
    with pytest.raises(Unanswerable, match="steps are allowed") as raised, answerable():
        twelve_tables(100)
    assert raised.value.lacks == "time"
