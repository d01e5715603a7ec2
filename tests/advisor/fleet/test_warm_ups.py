"""The miss curve that warm-ups measure, against an exact LRU list."""

from __future__ import annotations

import itertools
import random
from collections import OrderedDict
from collections.abc import Sequence

import pytest

from advisor.fleet.warm_ups import WarmUp, warm_ups

TABLE, POOL = 20_000, 12_000
MINUTE = 60.0


def zipf(count: int, seed: int = 1) -> list[int]:
    weights = list(itertools.accumulate((rank + 1) ** -0.8 for rank in range(TABLE)))
    return random.Random(seed).choices(range(TABLE), cum_weights=weights, k=count)  # noqa: S311 - reproducible


class Lru:
    """A pool with counters, as Prometheus sees them."""

    def __init__(self, size: int) -> None:
        self.size, self.read, self.gets = size, 0, 0
        self.pages: OrderedDict[int, None] = OrderedDict()

    def ask(self, pages: Sequence[int]) -> None:
        for page in pages:
            self.gets += 1
            if page in self.pages:
                self.pages.move_to_end(page)
                continue
            self.read += 1
            self.gets += 1  # MySQL gets a page again once it is read
            self.pages[page] = None
            if len(self.pages) > self.size:
                self.pages.popitem(last=False)


class Counters:
    """What the recording rules keep of a pool that fills."""

    def __init__(self) -> None:
        self.pages: dict[float, float] = {}
        self.read: dict[float, float] = {}
        self.gets: dict[float, float] = {}

    def watch(self, pool: Lru, at: float) -> None:
        if len(pool.pages) < 0.98 * pool.size:
            self.pages[at], self.read[at], self.gets[at] = len(pool.pages), pool.read, pool.gets

    def warm_ups(self, loaded: float = 0.0) -> tuple[WarmUp, ...]:
        return warm_ups(self.pages, self.read, self.gets, pool_pages=POOL, loaded=loaded)


def filled(start: float, accesses: int, seed: int = 1, size: int = POOL) -> Counters:
    """A warm-up, with so many accesses between two points."""
    pool, seen = Lru(size), Counters()
    asked = zipf(60_000, seed)
    for number in range(0, len(asked), accesses):
        pool.ask(asked[number : number + accesses])
        seen.watch(pool, start + number / accesses * MINUTE)
    return seen


def misses(size: int) -> float:
    """Of a pool that is full: pages read an access."""
    pool = Lru(size)
    pool.ask(zipf(60_000, seed=2))
    before = pool.read
    pool.ask(zipf(60_000, seed=3))
    return (pool.read - before) / 60_000


@pytest.mark.parametrize(("accesses", "error"), [(500, 0.08), (4_000, 0.12)])
def test_a_warm_up_misses_what_smaller_pools_miss(accesses: int, error: float) -> None:
    [warm_up] = filled(0.0, accesses).warm_ups()
    for size in (5_000, 7_000, 9_000, 11_000):
        assert warm_up.expected(size) == pytest.approx(misses(size), rel=error)
        assert warm_up.knows(size)
        assert warm_up.most(size) >= misses(size)


def test_the_most_is_far_above_where_points_are_far_apart() -> None:
    fine, coarse = (filled(0.0, accesses).warm_ups()[0] for accesses in (500, 8_000))
    assert coarse.most(9_000) > 1.3 * fine.most(9_000)
    assert fine.most(9_000) < 1.25 * fine.expected(9_000)


def test_nothing_is_said_of_sizes_that_the_pool_had_not() -> None:
    [warm_up] = filled(0.0, 500).warm_ups()
    assert not warm_up.knows(100)
    assert not warm_up.knows(POOL)
    assert warm_up.most(10) == float("inf")


def test_each_restart_is_a_warm_up_of_its_own() -> None:
    first, second = filled(0.0, 1_000), filled(86_400.0, 1_000, seed=5)
    for name in ("pages", "read", "gets"):
        getattr(first, name).update(getattr(second, name))
    assert [warm_up.at for warm_up in first.warm_ups()] == [0.0, 86_400.0]


def test_a_restart_is_seen_though_counters_have_come_further_than_before() -> None:
    short, long_after = filled(0.0, 1_000), filled(86_400.0, 1_000)
    until = sorted(short.pages)[12]
    for name in ("pages", "read", "gets"):
        first_part = {at: value for at, value in getattr(short, name).items() if at <= until}
        later = {at: value for at, value in getattr(long_after, name).items() if at > 86_400.0 + until}
        setattr(short, name, first_part | later)
    assert len(short.warm_ups()) == 2


def test_pages_that_a_start_loads_are_no_misses() -> None:
    pool, seen = Lru(POOL), Counters()
    before = Lru(POOL)
    before.ask(zipf(60_000, seed=9))
    for number, page in enumerate(list(before.pages)[-3_000:]):  # the dump: those used last
        pool.pages[page] = None
        pool.read += 1
        if number % 100 == 0:
            seen.watch(pool, number / 100)
    asked = zipf(60_000)
    for number in range(0, len(asked), 500):
        pool.ask(asked[number : number + 500])
        seen.watch(pool, 30 + number / 500)
    [warm_up] = seen.warm_ups(loaded=3_000)
    assert not warm_up.knows(3_000)
    for size in (5_000, 9_000):
        assert warm_up.expected(size) == pytest.approx(misses(size), rel=0.1)


def test_a_burst_counts_for_smaller_pools_too() -> None:
    """A larger pool never misses more: what a late job misses, a smaller pool would have missed as well."""
    [quiet] = filled(0.0, 500).warm_ups()
    pool, seen = Lru(POOL), Counters()
    asked = zipf(60_000)
    for number in range(0, len(asked), 500):
        pool.ask(asked[number : number + 500])
        if len(pool.pages) > 10_000 and number % 1_000 == 0:
            pool.ask(range(TABLE + number, TABLE + number + 400))
        seen.watch(pool, number / 500)
    [burst] = seen.warm_ups()
    assert burst.most(8_000) > 1.2 * quiet.most(8_000)


def test_no_counters_are_no_warm_up() -> None:
    assert warm_ups({}, {}, {}, pool_pages=POOL) == ()
    assert warm_ups({0.0: 1.0}, {0.0: 1.0}, {0.0: 2.0}, pool_pages=POOL) == ()
    idle = {0.0: 100.0, 60.0: 100.0}
    assert warm_ups(idle, idle, idle, pool_pages=POOL) == ()
