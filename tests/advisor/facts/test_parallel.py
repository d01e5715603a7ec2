"""Reader threads are counted over the window."""

from __future__ import annotations

from advisor import facts
from advisor.observe.window import Window
from exporter.collectors.parallel_readers import ParallelReaders
from tests.advisor.building import snapshot


def test_reader_threads_are_counted_over_the_window() -> None:
    readers = [ParallelReaders(2, 5.0, 1), ParallelReaders(4, 9.0, 3)]
    found = facts.facts(Window(tuple(snapshot(10 * n, parallel_readers=r) for n, r in enumerate(readers, 1)))).parallel
    assert (found.threads_seen, found.thread_seconds, found.reads_observed) == (4, 4, 2)
