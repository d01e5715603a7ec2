"""Cold starts: how a pool fills again under the load that was watched, with and without the dump of the pool."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from advisor.contract.plan import ColdStart
from advisor.facts import facts
from advisor.observe.window import Window
from advisor.pool.cold_start import NEARLY, Filling, FillingPoint, Restart, cold_starts
from advisor.pool.dump import DumpLoad
from advisor.pool.errors import Unanswerable
from advisor.pool.model import PoolModel
from tests.advisor.building import captured

FULL = ("mysql-9.7/tpcc-transactions", "mysql-9.7/repeated-scan", "mariadb-11.8/repeated-scan")
"""Full pools, with lookups or with scans."""
LOOKUPS = "mysql-9.7/tpcc-transactions"
NOTHING, ALL = "nothing", "all of the pool"


def model_of(name: str) -> PoolModel:
    window = captured(name)
    return PoolModel(window, facts(window))


def starts_of(name: str, pool_bytes: float | None = None) -> dict[str, ColdStart]:
    return {start.dump: start for start in cold_starts(model_of(name), pool_bytes=pool_bytes)}


@pytest.mark.parametrize("name", FULL)
def test_a_cold_start_has_its_intervals_in_order(name: str) -> None:
    starts = starts_of(name)
    assert {NOTHING, ALL} <= starts.keys()
    for start in starts.values():
        assert 0 < start.pages_low <= start.pages <= start.pages_high
        assert start.reads
        assert all(before[0] < after[0] for before, after in pairwise(start.reads))
        if start.minutes_to_90 is not None:
            assert start.minutes_to_90_low is not None
            assert start.minutes_to_90_low <= start.minutes_to_90
            assert start.minutes_to_90_high is None or start.minutes_to_90 <= start.minutes_to_90_high
            assert start.minutes_to_99 is None or start.minutes_to_90 <= start.minutes_to_99


@pytest.mark.parametrize("name", FULL)
def test_the_reads_over_time_sum_up_to_the_pages(name: str) -> None:
    restart = Restart.of(model_of(name))
    for share in (0.0, 0.25, 1.0):
        filling = restart.likely_filling(DumpLoad(share, None))
        assert all(
            before.seconds <= after.seconds and before.read <= after.read for before, after in pairwise(filling.points)
        )


def test_a_dump_shortens_the_cold_start() -> None:
    restart = Restart.of(model_of(LOOKUPS))
    fillings = [restart.likely_filling(DumpLoad(share, 10_000.0)) for share in (0.0, 0.25)]
    cold, loaded = (filling.warm(restart.most_missed(NEARLY), 1.0) for filling in fillings)
    assert cold is not None
    assert loaded is not None
    assert loaded <= cold


def test_twice_as_many_reads_beyond_todays_ask_for_half_as_many() -> None:
    restart = Restart.of(model_of(LOOKUPS))
    today = restart.today / restart.asked
    beyond = restart.most_missed(NEARLY) - today
    assert beyond == pytest.approx((1.0 - NEARLY) * (1.0 - today))
    assert restart.most_missed(NEARLY, 2.0) - today == pytest.approx(beyond / 2.0)
    assert restart.most_missed(NEARLY, 0.0) == math.inf


def test_what_a_start_reads_is_what_the_miss_curve_reads_in_the_end() -> None:
    """A pool that is full again reads as much as before."""
    restart = Restart.of(model_of(LOOKUPS))
    points = restart.likely_filling(DumpLoad(0.0, None)).points
    late = [point for point in points if point.seconds > points[-1].seconds / 2]
    rate = (late[-1].read - late[0].read) / (late[-1].seconds - late[0].seconds)
    assert rate == pytest.approx(restart.today, rel=0.25)


def test_a_smaller_pool_is_full_sooner_and_a_larger_one_later() -> None:
    pool_bytes = model_of(LOOKUPS).sizes.evidence.pool_bytes
    fills = [Restart.of(model_of(LOOKUPS), times * pool_bytes).fills for times in (0.5, 1.0, 2.0)]
    assert fills == sorted(fills)
    assert fills[0] < fills[2]


def test_one_collection_is_not_enough() -> None:
    window = Window(captured(LOOKUPS).snapshots[:1])
    with pytest.raises(Unanswerable):
        cold_starts(PoolModel(window, facts(window)))


def test_a_member_that_takes_over_reads_what_an_empty_pool_of_its_size_does() -> None:
    model, takes_over = model_of(LOOKUPS), captured("mysql-9.7/repeated-scan")
    [start] = [start for start in cold_starts(model, members={"db-1": takes_over}) if start.member]
    size = float(takes_over.latest.setting("innodb_buffer_pool_size") or 0)
    [other] = [start for start in cold_starts(model, pool_bytes=size) if start.dump == NOTHING]
    assert start.member == "db-1"
    assert start.pages == pytest.approx(other.pages, rel=0.1)  # its disk is another one


def filling(rate: float = 1000.0) -> Filling:
    """All visits are read at first, and half as many every ten seconds."""
    read, points = 0.0, []
    for second in range(200):
        points.append(FillingPoint(float(second), rate * second, read))
        read += rate * 0.5 ** (second / 10)
    return Filling(points)


def test_a_pool_is_warm_once_few_visits_are_read() -> None:
    assert filling().warm(0.25, 5.0) == pytest.approx(20.0, abs=2.0)
    assert filling().warm(1.0, 5.0) == 0.0
    assert filling().warm(1e-9, 5.0) is None


def test_points_lie_between_others_and_the_last_one_stands_for_later_ones() -> None:
    points = filling().points
    between = filling().at(0.5)
    assert between.asked == pytest.approx(500.0)
    assert between.read == pytest.approx(points[1].read / 2)
    assert filling().at(1e6) == points[-1]
    assert filling().at(-1.0) == points[0]


def test_the_load_of_a_dump_takes_as_long_as_its_slowest_part() -> None:
    assert DumpLoad(0.5, 200.0).seconds(1000.0, 0.001) == pytest.approx(2.5)
    assert DumpLoad(0.5, None).seconds(1000.0, 0.001) == pytest.approx(0.5)
    assert DumpLoad(0.5, None).seconds(1000.0, None) is None


def test_a_page_of_a_dump_takes_between_no_time_and_that_of_a_random_read_unless_it_is_throttled() -> None:
    likely, least, most = DumpLoad(1.0, None).page_seconds(0.001)
    assert 0.0 == least < likely < most == 0.001
    assert DumpLoad(1.0, 200.0).page_seconds(0.001) == (0.005, 0.005, 0.005)
    assert DumpLoad(1.0, None, in_parallel=True).page_seconds(0.001)[0] < likely
