"""Reader threads are counted over the window; a parallel count is split into waiting and CPU time."""

from __future__ import annotations

from advisor import facts
from advisor.observe.window import Window
from exporter.collectors.machine import MACHINE
from exporter.collectors.parallel_readers import ParallelReaders
from tests.advisor.building import captured, snapshot
from tests.advisor.facts.capture_facts import facts_of


def test_reader_threads_are_counted_over_the_window() -> None:
    window = Window(
        (
            snapshot(10, parallel_readers=ParallelReaders(2, 5.0, 1)),
            snapshot(20, parallel_readers=ParallelReaders(4, 9.0, 3)),
        )
    )
    parallel = facts.facts(window).parallel
    assert (parallel.threads_seen, parallel.thread_seconds, parallel.reads_observed) == (4, 4, 2)


def test_a_cold_count_by_one_thread_is_mostly_waiting() -> None:
    [read] = facts_of("mysql-9.7/cold-counts-in-no-order").lists["parallel_reads"]
    assert (read.threads, read.counts, read.saturated) == (1, 7, False)
    assert read.wait_share > 0.65
    assert read.more_threads == 4
    assert read.more_seconds < 0.5 * read.seconds


def test_a_count_of_pages_in_order_hardly_waits() -> None:
    [read] = facts_of("mysql-9.7/cold-counts-in-order").lists["parallel_reads"]
    assert read.wait_share < 0.5


def test_a_server_without_parallel_readers_has_no_parallel_reads() -> None:
    assert facts_of("mysql-5.6/counted-without-index").lists["parallel_reads"] == []


def test_without_cores_the_next_step_is_not_known() -> None:
    window = captured("mysql-9.7/cold-counts-in-no-order")
    bare = Window(tuple(snapshot.with_section(MACHINE, None) for snapshot in window.snapshots))
    [read] = facts.facts(bare).lists["parallel_reads"]
    assert (read.more_threads, read.more_seconds) == (None, None)
    assert read.wait_share > 0.65
