"""Reader threads wait at the same time, as far as cores feed them."""

import pytest

from advisor.models.parallel_read import ParallelRead

SCATTERED = ParallelRead(seconds=0.75, threads=1, wait_seconds=0.667, cores=2)
IN_ORDER = ParallelRead(seconds=0.381, threads=1, wait_seconds=0.116, cores=2)


def test_with_its_own_threads_a_read_takes_the_measured_time() -> None:
    for read in (SCATTERED, IN_ORDER, ParallelRead(0.397, 2, 0.703, 2)):
        assert read.seconds_with(read.threads) == pytest.approx(read.seconds)


def test_waits_that_overlap_are_as_short_as_measured() -> None:
    """Seen on MySQL 9.7: 0.35 and 0.40 s with two threads, 0.23 and 0.28 s with four, on a machine with other load."""
    assert SCATTERED.seconds_with(2) == pytest.approx(0.375, rel=0.1)
    assert SCATTERED.seconds_with(4) == pytest.approx(0.24, rel=0.2)


def test_cpu_time_is_spread_over_the_cores_only() -> None:
    cpu = ParallelRead(seconds=1.0, threads=1, wait_seconds=0.0, cores=2)
    assert [cpu.seconds_with(threads) for threads in (1, 2, 8)] == [1.0, 0.5, 0.5]


def test_the_step_up_is_four_times_at_most_and_what_cores_feed() -> None:
    assert SCATTERED.more_threads(at_most=4) == 4
    assert SCATTERED.more_threads(at_most=64) == 4
    assert IN_ORDER.more_threads(at_most=64) == 2  # two thirds of its time is work
    assert ParallelRead(0.2, 8, 1.5, 2).more_threads(at_most=4) == 8  # never fewer


def test_waits_longer_than_the_read_are_a_share_of_one() -> None:
    assert ParallelRead(seconds=1.0, threads=2, wait_seconds=3.0, cores=2).wait_share == 1.0
