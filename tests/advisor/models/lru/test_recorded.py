"""The LRU model against what real servers did once: plays that `python -m lab.lru_scenarios --save` recorded.

They depend on when a thread or the page cleaner runs, so that no two plays are the same, and a test cannot play them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from advisor.models.lru import simulation
from advisor.models.lru.scenario import Pass, Scenario
from lab.lru_scenarios import PlayedScenario, saved
from tests.advisor.models.lru import reference

Model = Callable[[Scenario], list[Pass]]
MODELS: dict[str, Model] = {
    "page-exact": reference.simulate,
    "served": lambda scenario: list(simulation.simulate(scenario).passes),
}
each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())


def misses_beside(played: PlayedScenario, predicted: Sequence[Pass]) -> float:
    """The model's error in pages read, pass by pass, as a share of the pages really read."""
    off = sum(abs(said.pages_read - was.pages_read) for said, was in zip(predicted, played.passes, strict=True))
    return off / sum(was.pages_read for was in played.passes)


def old_beside(played: PlayedScenario, predicted: Sequence[Pass]) -> float:
    """The largest error of the old sublists' lengths after a pass, as a share of the pool."""
    pairs = zip(predicted, played.passes, strict=True)
    return max(abs(said.old_pages - was.old_pages) for said, was in pairs) / played.scenario.pool.pages


def recorded(*names: str) -> pytest.MarkDecorator:
    """A test's argument ``played``, of files in lab/scenarios."""
    return pytest.mark.parametrize("played", [saved(name) for name in names], ids=names)


@each_model
@recorded("parallel", "instances")
def test_scans_read_as_many_pages_as_the_model(played: PlayedScenario, model: Model) -> None:
    """Within 2 %: threads share a table, and tables the instances, differently each time."""
    predicted = model(played.scenario)[1:]
    assert misses_beside(played, predicted) < 0.02
    assert old_beside(played, predicted) < 0.02


@each_model
@recorded("seed-002-steps", "seed-002-pct-95")
def test_a_free_list_carries_a_table_into_the_pool_step_by_step(played: PlayedScenario, model: Model) -> None:
    predicted = model(played.scenario)[1:]
    pages = played.scenario.sizes()["big"]
    for said, was in zip(predicted, played.passes, strict=True):
        assert said.pages_read == pytest.approx(was.pages_read, abs=0.05 * pages)
    cached, says_cached = (
        [scan.object == "big" and scan.pages_read < 0.01 * pages for scan in passes].index(True)
        for passes in (played.passes, predicted)
    )
    assert abs(says_cached - cached) <= 1


@dataclass(frozen=True)
class Round:
    """A scan and the lookups after it: whether the scan finds its table in the pool, and the pages that both read."""

    cached: bool
    pages_read: float


def rounds(scenario: Scenario, passes: Sequence[Pass]) -> list[Round]:
    """The rounds of a scan of ``a`` and lookups of ``h``, except the first, whose scan finds free pages."""
    pages = scenario.sizes()["a"]
    scans = [step.pages_read for step in passes if step.object == "a"][1:]
    lookups = [step.pages_read for step in passes if step.object == "h"][1:]
    return [Round(scan < 0.5 * pages, scan + other) for scan, other in zip(scans, lookups, strict=True)]


def regimes(of: Sequence[Round]) -> list[bool]:
    """Whether the table is cached, from regime to regime."""
    return [cached for cached, _ in itertools.groupby(of, lambda turn: turn.cached)]


@each_model
@recorded("hot-set-flips")
def test_lookups_between_scans_change_regimes_as_in_the_model(played: PlayedScenario, model: Model) -> None:
    was = rounds(played.scenario, played.passes)
    said = rounds(played.scenario, model(played.scenario)[1:])
    assert regimes(said) == regimes(was)
    pairs = zip(said, was, strict=True)
    for (cached_by_model, cached), group in itertools.groupby(pairs, lambda pair: (pair[0].cached, pair[1].cached)):
        predicted, measured = zip(*group, strict=True)
        if cached_by_model == cached:
            pages = sum(turn.pages_read for turn in measured)
            assert sum(turn.pages_read for turn in predicted) == pytest.approx(pages, rel=0.05)
        else:  # the table may enter or leave the pool one round earlier or later
            assert len(measured) == 1
