"""The scenario of a workload has its accesses at its rates."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.models.lru import simulation
from advisor.models.lru.popularity import Pages
from advisor.models.lru.scenario import Points, Pool, Repeat, Scan, Scenario, Set, Settings
from advisor.models.lru.workload import (
    LOOKED_UP,
    MOST_PASSES,
    OTHER,
    ROUNDS,
    Rates,
    TableScan,
    Workload,
    passes_of,
    rates,
    run,
    scenario,
)

POOL = Pool(pages=4_000)

tables = st.lists(
    st.builds(
        TableScan,
        name=st.sampled_from(["s.a", "s.b", "s.c"]),
        pages=st.integers(1, 5_000),
        period=st.floats(0.5, 4_000),
        seconds=st.floats(0, 100),
        fetch=st.sampled_from(["normal", "scan"]),
    ),
    min_size=1,
    max_size=6,
).map(tuple)
lookups = st.lists(
    st.builds(lambda pages, asked: Pages(pages, asked / pages), st.floats(0.5, 9_000), st.floats(0.01, 9_000)),
    max_size=3,
).map(tuple)


def the_round(made: Scenario) -> list[Scan | Points]:
    [repeat] = [step for step in made.steps if isinstance(step, Repeat)]
    assert repeat.repeat == ROUNDS
    return [step for step in repeat.steps if isinstance(step, Scan | Points)]


@given(scans=tables, asked=lookups)
def test_a_round_lasts_the_longest_period_and_has_each_pass_in_it(
    scans: tuple[TableScan, ...], asked: tuple[Pages, ...]
) -> None:
    workload = Workload(scans, 4_000, asked)
    steps = the_round(scenario(workload, POOL))
    seconds = sum(step.seconds + (step.gap_seconds if isinstance(step, Scan) else 0.0) for step in steps)
    assert seconds == pytest.approx(workload.round_seconds, rel=1e-6)
    expected: Counter[str] = Counter()
    for scan in scans:
        expected[scan.name] += min(max(1, round(workload.round_seconds / scan.period)), MOST_PASSES)
    assert Counter(step.scan for step in steps if isinstance(step, Scan)) == expected


@given(scans=tables, asked=lookups)
def test_a_round_has_the_accesses_of_its_time(scans: tuple[TableScan, ...], asked: tuple[Pages, ...]) -> None:
    workload = Workload(scans, 4_000, asked)
    lookups_of_round = [step for step in the_round(scenario(workload, POOL)) if isinstance(step, Points)]
    per_second = sum(pages * rate for pages, rate in asked)
    assert sum(step.accesses for step in lookups_of_round) == pytest.approx(per_second * workload.round_seconds, abs=1)
    pages = math.ceil(math.fsum(group.pages for group in asked))
    assert {(step.points, step.pages) for step in lookups_of_round} <= {(LOOKED_UP, pages)}


def test_passes_of_a_table_are_evenly_placed() -> None:
    workload = Workload((TableScan("s.a", 10, 100.0, 1.0, "normal"), TableScan("s.b", 10, 25.0, 1.0, "normal")), 0)
    begins, now = [], 0.0
    for step in the_round(scenario(workload, POOL)):
        assert isinstance(step, Scan)
        if step.scan == "s.b":
            begins.append(now)
        now += step.seconds + step.gap_seconds
    assert [after - before for before, after in pairwise(begins)] == pytest.approx([25.0] * 3)


def test_passes_begin_when_they_are_known_to() -> None:
    scans = TableScan("s.a", 10, 5.0, 1.0, "normal"), TableScan("s.b", 10, 10.0, 1.0, "normal")
    known = ((2.0, "s.a"), (4.0, "s.a"), (11.0, "s.a"), (12.0, "s.a"))
    workload = Workload(scans, 0, begins=known, least_seconds=20.0)
    steps = [step for step in the_round(scenario(workload, POOL)) if isinstance(step, Scan)]
    assert workload.round_seconds == 20.0
    assert [step.scan for step in steps] == ["s.a", "s.a", "s.b", "s.a", "s.a", "s.b"]
    assert [step.seconds + step.gap_seconds for step in steps] == pytest.approx([2.0, 1.0, 6.0, 1.0, 3.0, 7.0])


def test_lookups_are_spread_over_the_time_between_two_scans() -> None:
    workload = Workload((TableScan("s.a", 10, 10.0, 2.0, "normal"),), 0, (Pages(9, 0.5),))
    points, scan = the_round(scenario(workload, POOL))
    assert isinstance(scan, Scan)
    assert (points.seconds, scan.seconds, scan.gap_seconds) == (8.0, 2.0, 0.0)


def test_without_scans_a_round_is_accesses_alone() -> None:
    [points] = the_round(scenario(Workload((), 4_000, (Pages(9, 0.5), Pages(1, 0.5))), POOL))
    assert isinstance(points, Points)
    assert points.accesses / points.seconds == 5.0


@settings(max_examples=10)
@given(kept=st.floats(0, 1), warm=st.booleans(), pct=st.integers(5, 95))
def test_the_pool_is_full_before_the_first_round_and_at_todays_settings(kept: float, *, warm: bool, pct: int) -> None:
    scans = (TableScan("s.a", 1_000, 10.0, 0.1, "normal", kept),)
    pool = Pool(pages=4_000, old_blocks_pct=pct)
    asked = (Pages(100, 0.08), Pages(400, 0.005)) if warm else ()
    made = scenario(Workload(scans, 4_000, asked), pool)
    before = [step for step in made.steps if not isinstance(step, Repeat)]
    filled = simulation.simulate(Scenario(pool=pool, steps=tuple(before)), popularity={LOOKED_UP: asked})
    assert filled.passes[-1].free_pages == pytest.approx(0, abs=1)
    sets = [step.set.old_blocks_pct for step in before if isinstance(step, Set)]
    assert sets[-1:] in ([], [pct])


@pytest.mark.parametrize("kept", [0.0, 0.3, 1.0])
def test_the_first_round_finds_the_kept_part_of_a_table(kept: float) -> None:
    simulated = run(Workload((TableScan("s.a", 2_000, 10.0, 0.1, "normal", kept),), 4_000), POOL)
    [first, *_] = [pass_ for pass_ in simulated.passes if pass_.object == "s.a"][-ROUNDS:]
    assert first.pages_read == pytest.approx(2_000 * (1 - kept), abs=60)


def test_a_pool_that_was_never_full_keeps_its_free_pages() -> None:
    simulated = run(Workload((TableScan("s.a", 1_000, 10.0, 0.1, "normal"),), 2_000), POOL)
    assert simulated.passes[-1].free_pages == pytest.approx(1_000, abs=70)


def test_as_many_rounds_follow_a_change_as_come_before_it() -> None:
    workload = Workload((TableScan("s.a", 2_000, 10.0, 0.1, "normal"),), 4_000)
    now = run(workload, POOL).passes
    then = run(workload, POOL, then=(Settings(old_blocks_pct=80), workload)).passes
    assert then[: len(now)] == now
    assert len(then) == len(now) + ROUNDS
    assert passes_of(workload) == ROUNDS
    assert rates(workload, now).per_pass["s.a"] > 1_900
    assert rates(workload, then).per_pass["s.a"] == pytest.approx(0, abs=1)


def test_rates_are_means_of_the_last_rounds_at_the_pace_of_each_table() -> None:
    often = TableScan("s.a", 3_900, 10.0, 0.1, "normal")
    seldom = TableScan("s.b", 3_900, 100.0, 0.1, "scan")
    workload = Workload((often, seldom), 4_000, (Pages(100_000, 7e-5),))
    means = rates(workload, run(workload, POOL).passes)
    assert means.per_pass["s.b"] > 3_000
    assert means.scans == pytest.approx(means.per_pass["s.a"] / 10 + means.per_pass["s.b"] / 100)
    assert means.other == pytest.approx(7.0, rel=0.1)
    assert means.read == means.scans + means.other


def test_a_table_with_both_kinds_of_fetch_has_the_passes_of_both() -> None:
    scans = (TableScan("s.a", 10, 10.0, 0.1, "normal"), TableScan("s.a", 10, 5.0, 0.1, "scan"))
    assert Workload(scans, 0).scans_per_second == {"s.a": pytest.approx(0.3)}


def test_an_empty_workload_reads_nothing() -> None:
    workload = Workload((), 4_000)
    assert rates(workload, run(workload, POOL).passes) == Rates({}, 0.0, 0.0, 0.0)


def test_no_table_can_be_named_like_the_other_objects() -> None:
    assert not [name for name in (LOOKED_UP, OTHER) if "." in name]
