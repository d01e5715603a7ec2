"""The scenarios of the LRU model and their measurements are readable and belong together."""

from __future__ import annotations

import pytest

from advisor.models.lru.scenario import Points, Set
from lab.lru_scenarios import FOLDER, START, load, saved
from lab.workloads import Draws

NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
MEASURED = sorted(path.name.partition(".")[0] for path in FOLDER.glob("*.measured.json"))


@pytest.mark.parametrize("name", NAMES)
def test_a_scenario_can_be_read(name: str) -> None:
    assert load(name).sizes()


@pytest.mark.parametrize("name", MEASURED)
def test_measurements_belong_to_their_scenario(name: str) -> None:
    played, scenario = saved(name), load(name)
    sizes = played.scenario.sizes()
    assert sizes.pop(START) > 0
    assert sizes == pytest.approx(scenario.sizes(), rel=0.001)
    assert played.scenario.pool.old_blocks_pct == scenario.pool.old_blocks_pct
    steps = [step for step in played.scenario.flat() if not isinstance(step, Set)]
    assert len(played.passes) == len(steps) - 1


def test_draws_are_deterministic_and_a_repeated_step_continues_its_sequence() -> None:
    points = Points(points="h", pages=100, accesses=50, skew=1.0, seed=3)
    one, other = Draws(), Draws()
    first, second = one.of(points), one.of(points)
    assert (other.of(points), other.of(points)) == (first, second)
    assert first != second
    assert set(first) <= set(range(100))
