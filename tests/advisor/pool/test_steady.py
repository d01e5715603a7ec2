import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.models.lru.popularity import Pages
from advisor.models.lru.scenario import Points, Pool, Scenario
from advisor.pool.steady import SteadyState, Sublists, settle
from exporter.midpoint import TOLERANCE, old_target
from tests.advisor.models.lru import reference

PAGES, PER_SECOND, TIME_MS, ROUND = 3000, 10_000, 5.0, 2.0


def zipf(pages: float, skew: float, per_second: float) -> list[Pages]:
    """Accesses by Zipf's law: a group for each of the first ranks, and then for a twentieth more ranks each."""
    groups, begin = [], 0
    while begin < pages:
        end = min(pages, max(begin + 1, math.floor(begin * 1.05)))
        ranks = [begin + (end - begin) * (number + 0.5) / 9 + 0.5 for number in range(9)] if end > begin + 1 else [end]
        groups.append((end - begin, math.fsum(rank**-skew for rank in ranks) / len(ranks)))
        begin = math.ceil(end)
    whole = math.fsum(number * weight for number, weight in groups)
    return [Pages(number, per_second * weight / whole) for number, weight in groups]


def settled(pages: list[Pages], held: Sublists) -> SteadyState:
    state = settle(pages, held)
    assert state is not None
    return state


@pytest.mark.parametrize(("skew", "pool"), [(0.0, 1000), (0.6, 1800), (1.2, 800)])
def test_it_is_the_page_exact_list_on_average(skew: float, pool: int) -> None:
    accesses = round(PER_SECOND * ROUND)
    steps = tuple(
        Points(points="items", pages=PAGES, accesses=accesses, seconds=ROUND, skew=skew, seed=seed)
        for seed in range(1, 31)
    )
    size = Pool(pages=pool, instances=1, old_blocks_pct=37, old_blocks_time_ms=TIME_MS, free_low=0, free_high=0)
    exact = reference.simulate(Scenario(pool=size, steps=steps))
    last = exact[len(exact) // 2 :]
    old = old_target(pool, 37) - TOLERANCE
    state = settled(zipf(PAGES, skew, PER_SECOND), Sublists(pool - old, old, TIME_MS / 1000))
    assert state.read == pytest.approx(sum(row.pages_read for row in last) / len(last) / ROUND, rel=0.02)
    assert state.made_young == pytest.approx(sum(row.made_young for row in last) / len(last) / ROUND, rel=0.03)


@given(pages=st.floats(100, 1e9), share=st.floats(0.05, 0.9), pct=st.floats(0.05, 0.9))
def test_pages_that_are_all_alike_are_in_the_pool_by_its_share(pages: float, share: float, pct: float) -> None:
    size = pages * share
    state = settled([Pages(pages, 1.0)], Sublists(size * (1 - pct), size * pct, 0.0))
    assert state.read == pytest.approx(pages - size, rel=1e-3)
    assert sum(state.reads) == pytest.approx(state.read)


@given(
    pages=st.floats(1e3, 1e8),
    skew=st.floats(0, 1.5),
    smaller=st.floats(0.05, 0.9),
    times=st.floats(1.05, 4.0),
)
def test_a_larger_pool_reads_less(pages: float, skew: float, smaller: float, times: float) -> None:
    asked = zipf(pages, skew, pages)
    size = pages * smaller
    reads = [settled(asked, Sublists(pool * 0.63, pool * 0.37, 0.0)).read for pool in (size, size * times)]
    assert reads[1] <= reads[0] * (1 + 1e-3)


def test_a_pool_that_holds_all_reads_nothing() -> None:
    assert settled([Pages(100.0, 1.0)], Sublists(70.0, 30.0, 1.0)).read == 0.0


def test_pages_that_leave_before_the_time_is_over_have_no_steady_state() -> None:
    assert settle([Pages(10_000.0, 1.0)], Sublists(630.0, 370.0, 1.0)) is None
