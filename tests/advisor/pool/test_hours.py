"""The memory of days: which hours count, which may object, and the size that all of them allow."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.facts.beyond_window import SpareFacts
from advisor.observe.window import Window
from advisor.pool.curve import MissCurve
from advisor.pool.hours import MEMORY, Hour, ReadsAtSize, hour, settings_digest, with_hour
from advisor.pool.spare import spare
from tests.advisor.building import pool, snapshot, variables
from tests.advisor.curves import bounded, curve, pool_size

MIB = 2.0**20
TODAY = 1024 * MIB
HOUR = 3600.0
NOON = 1_800_000_000.0 // 86_400 * 86_400 + 12 * HOUR
"""The newest snapshot's time."""
LONG_AGO = NOON - 90 * 86_400
SETTINGS = variables(innodb_buffer_pool_size=f"{TODAY:.0f}", innodb_buffer_pool_chunk_size="134217728")
FULL = pool(size_pages=65_536, database_pages=65_000, free_pages=100)


def window(at: float = NOON, started: float = LONG_AGO, settings: dict[str, str] = SETTINGS, **sections: Any) -> Window:
    return Window((snapshot(at - started, booted=started, **({"variables": settings, "pools": (FULL,)} | sections)),))


DIGEST = settings_digest(window().latest)


def an_hour(at: float, reads: float = 2.0, **more: Any) -> Hour:
    """One in which half the pool reads 5 pages a second, three quarters 3, and a quarter 500, at most."""
    sizes = tuple(
        ReadsAtSize(TODAY * times, most - 1, most) for times, most in ((0.25, 500.0), (0.5, 5.0), (0.75, 3.0))
    )
    values: dict[str, Any] = {
        "settings": DIGEST,
        "settled": True,
        "started": LONG_AGO,
        "pool_bytes": TODAY,
        "sizes": sizes,
    }
    return Hour(at=at, seconds=HOUR, reads=reads, **(values | more))


def hours(days: float, end: float = NOON, **more: Any) -> tuple[Hour, ...]:
    count = round(days * 24)
    return tuple(an_hour(end - ago * HOUR, **more) for ago in reversed(range(count)))


def spare_of(memory: tuple[Hour, ...], may_read: float = 10.0, **now: Any) -> SpareFacts:
    return spare(memory, window(**now), may_read)


def test_without_a_memory_nothing_is_known_but_the_cure() -> None:
    facts = spare(None, window())
    assert (facts.kept, facts.days, facts.value) == (False, 0.0, None)
    assert "--state-dir" in facts.cure


def test_the_smallest_size_is_chosen_with_which_no_hour_reads_too_much() -> None:
    facts = spare_of(hours(4))
    assert facts.value == 512 * MIB
    assert facts.freed_bytes == 512 * MIB
    assert facts.unfilled_bytes == 100 * 16_384
    assert (facts.reads_now, facts.reads_expected, facts.reads_most, facts.rise) == (2.0, 4.0, 5.0, 3.0)
    assert spare_of(hours(4), may_read=2.5).value == 768 * MIB
    assert spare_of(hours(4), may_read=0.5).value == TODAY
    assert spare_of(hours(4), may_read=498.0).value == 256 * MIB


def test_it_is_the_high_end_that_counts_and_never_what_is_expected() -> None:
    wide = (ReadsAtSize(TODAY * 0.5, 2.0, 400.0),)
    assert spare_of(hours(4, sizes=wide)).value == TODAY


def test_one_hour_of_a_nightly_job_keeps_the_pool() -> None:
    memory = list(hours(10))
    memory[40] = replace(memory[40], reads=0.0, sizes=(ReadsAtSize(TODAY * 0.75, 800.0, 900.0),))
    facts = spare_of(tuple(memory))
    assert facts.value == TODAY
    assert facts.days >= MEMORY.days


def test_an_hour_with_other_settings_may_object_but_does_not_count_as_watched() -> None:
    worse = (ReadsAtSize(TODAY * 0.5, 800.0, 900.0), ReadsAtSize(TODAY * 0.75, 1.0, 3.0))
    before = hours(2, end=NOON - 4 * 24 * HOUR, settings="other", sizes=worse)
    facts = spare_of((*before, *hours(4)))
    assert facts.value == 768 * MIB
    assert facts.days == 4.0
    assert spare_of(hours(4, settings="other")).days == 0.0


def test_the_warm_up_after_a_start_neither_counts_nor_objects() -> None:
    restarted = NOON - 10 * HOUR
    cold = an_hour(NOON - 9 * HOUR, started=restarted, reads=900.0, sizes=(ReadsAtSize(TODAY * 0.5, 4e3, 5e3),))
    after = tuple(an_hour(NOON - ago * HOUR, started=restarted) for ago in reversed(range(8)))
    memory = (*hours(4, end=restarted), cold, *after)
    facts = spare_of(memory, started=restarted)
    assert facts.value == 512 * MIB
    assert facts.settled
    assert facts.hours == len(memory) - 3  # the cold one, and two within the first two hours of the memory
    assert not spare_of(memory[:-8], started=restarted).settled
    assert not spare_of(hours(4, end=NOON - HOUR), started=NOON - 1800).settled


def test_a_memory_that_ended_days_ago_tells_nothing_of_today() -> None:
    assert spare_of(hours(4, end=NOON - 12 * HOUR)).settled
    assert not spare_of(hours(4, end=NOON - 48 * HOUR)).settled


def test_a_pool_that_still_fills_is_not_through_its_warm_up() -> None:
    facts = spare_of(hours(4, settled=False))
    assert (facts.settled, facts.days) == (False, 0.0)


@pytest.mark.parametrize("missing", [3, 17])
def test_each_hour_of_the_day_must_have_been_watched(missing: int) -> None:
    memory = tuple(hour for hour in hours(30) if hour.began // HOUR % 24 != missing)
    facts = spare_of(memory)
    assert facts.days == 0.0
    assert facts.least_watched == f"{missing:02}:00 UTC"
    assert f"{missing:02}:00 UTC" in facts.cure


def test_hours_that_do_not_begin_on_the_hour_count_too() -> None:
    shifted = tuple(replace(hour, at=hour.at + 1234.0, seconds=3590.0) for hour in hours(5, end=NOON - HOUR))
    assert spare_of(shifted).days >= MEMORY.days


def test_part_of_an_hour_is_no_hour() -> None:
    assert spare_of(tuple(replace(hour, seconds=2400.0) for hour in hours(20))).days == 0.0


def test_steps_do_not_add_up() -> None:
    """After the first piece of advice, the next is still held against the reads with the larger pool."""
    smaller = SETTINGS | {"innodb_buffer_pool_size": f"{512 * MIB:.0f}"}
    now = settings_digest(window(settings=smaller).latest)
    sizes = (ReadsAtSize(256 * MIB, 9.0, 9.9), ReadsAtSize(384 * MIB, 5.0, 5.5))
    after = hours(1, reads=5.0, pool_bytes=512 * MIB, sizes=sizes, settings=now)
    facts = spare_of((*hours(4, end=NOON - 24 * HOUR), *after), settings=smaller)
    assert facts.settled
    assert facts.value == 512 * MIB  # 500 pages a second with 256 MiB, by the hours before


def test_an_hour_with_a_smaller_pool_does_not_tell_how_few_reads_todays_has() -> None:
    small = hours(
        1, end=NOON - 4 * 24 * HOUR, reads=40.0, pool_bytes=512 * MIB, sizes=(ReadsAtSize(256 * MIB, 90.0, 99.0),)
    )
    facts = spare_of((*small, *hours(4)))
    assert facts.value == TODAY
    assert spare_of((*small, *hours(4)), may_read=41.0).value == 512 * MIB


def test_the_size_is_one_that_the_server_sets() -> None:
    sizes = (ReadsAtSize(400 * MIB + 5, 2.0, 2.0),)
    assert spare_of(hours(4, sizes=sizes)).value == 512 * MIB
    odd = SETTINGS | {"innodb_buffer_pool_chunk_size": "0"}  # MariaDB 11.8: in MiB
    digest = settings_digest(window(settings=odd).latest)
    assert spare_of(hours(4, sizes=sizes, settings=digest), settings=odd).value == 401 * MIB


@given(st.lists(st.tuples(st.floats(0, 1e4), st.floats(0, 1e4), st.booleans()), min_size=1, max_size=60))
def test_no_remembered_hour_reads_more_than_promised(drawn: list[tuple[float, float, bool]]) -> None:
    memory = tuple(
        an_hour(
            NOON - (len(drawn) - number) * HOUR,
            reads=now,
            settled=settled,
            sizes=(ReadsAtSize(TODAY / 2, most, most), ReadsAtSize(TODAY * 0.75, most / 2, most / 2)),
        )
        for number, (now, most, settled) in enumerate(drawn)
    )
    facts = spare_of(memory)
    counted = memory[2:]  # the first two hours may be within a warm-up
    if facts.value is None:
        assert not counted
        return
    assert all(hour.rise(facts.value, TODAY) <= 10.0 for hour in counted)
    assert facts.rise == max(hour.rise(facts.value, TODAY) for hour in counted)


def test_the_memory_is_bounded_and_forgets_what_is_ahead_of_the_clock() -> None:
    memory: tuple[Hour, ...] = ()
    for newest in hours(40):
        memory = with_hour(memory, newest)
    assert memory[0].at >= NOON - MEMORY.longest
    assert len(memory) == 35 * 24 + 1
    back = with_hour(memory, an_hour(NOON - 5 * HOUR))
    assert back[-1].at == NOON - 5 * HOUR
    assert len(back) == len(memory) - 5


def test_curves_that_come_more_often_than_once_an_hour_leave_no_moment_out_and_do_not_pile_up() -> None:
    memory: tuple[Hour, ...] = ()
    for minutes in range(10, 24 * 60, 10):
        memory = with_hour(memory, replace(an_hour(LONG_AGO + minutes * 60.0), seconds=min(minutes * 60.0, HOUR)))
    assert len(memory) < 60
    for earlier, later in pairwise(memory):
        assert later.began <= earlier.at


def a_curve() -> MissCurve:
    """Half of today's size reads at most 5 pages a second; today's and twice its size read 2."""
    most = {0.5: 5.0, 1.0: 2.0, 2.0: 2.0}
    sizes = [pool_size(times, bounded(2.0, 2.0, high)) for times, high in most.items()]
    return curve([size.model_copy(update={"bytes": TODAY * size.times}) for size in sizes])


def watched(free: int, gained: int = 0) -> Window:
    """An hour in which two pages a second are read."""
    snapshots = [
        snapshot(
            5e5 + seconds,
            variables=SETTINGS,
            pools=(
                pool(
                    size_pages=65_536,
                    free_pages=free if seconds else free + gained,
                    database_pages=65_000 - free,
                    pages_read=round(2 * seconds),
                ),
            ),
        )
        for seconds in (0.0, HOUR)
    ]
    return Window(tuple(snapshots))


def test_an_hour_has_the_smaller_sizes_of_its_curve() -> None:
    seen = watched(free=500)
    remembered = hour(seen, a_curve())
    assert remembered is not None
    assert remembered.sizes == (ReadsAtSize(1.05 * TODAY / 2, 2.0, 5.0),)  # with room for what is beside the tables
    assert (remembered.seconds, remembered.reads, remembered.pool_bytes, remembered.settled) == (HOUR, 2.0, TODAY, True)
    assert remembered.started == pytest.approx(seen.latest.at - 5e5 - HOUR)


def test_a_pool_that_holds_as_much_reads_as_much_without_any_model() -> None:
    """30,000 pages are free. The page cleaner may keep 1,024 + 1,311 of them free in a full pool."""
    seen = watched(free=30_000)
    remembered = hour(seen, None)
    assert remembered is not None
    [enough] = remembered.sizes
    assert enough.bytes == pytest.approx((65_536 - 30_000 + 1_024 + 0.02 * 65_536) * 16_384, rel=1e-9)
    assert (enough.expected, enough.most) == (2.0, 2.0)
    # Nothing was evicted, so nothing tells how a pool reads that holds less.
    assert hour(seen, a_curve()) == remembered


def test_a_full_pool_without_a_curve_is_not_remembered() -> None:
    assert hour(watched(free=500), None) is None


@pytest.mark.parametrize(("free", "gained", "settled"), [(500, 9_000, True), (30_000, 100, True), (30_000, 700, False)])
def test_a_pool_is_settled_when_it_is_full_or_gains_no_more_pages(free: int, gained: int, settled: bool) -> None:  # noqa: FBT001 - a value
    remembered = hour(watched(free=free, gained=gained), a_curve())
    assert remembered is not None
    assert remembered.settled is settled
