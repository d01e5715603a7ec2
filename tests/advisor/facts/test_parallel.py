"""Facts of counts, parallel reads and index builds are what captured servers did, and None where none tells."""

from __future__ import annotations

import pytest

from advisor import facts
from advisor.facts import Facts
from advisor.observe.window import Window
from exporter.collectors.count_statements import CountStatement
from exporter.collectors.ddl import Ddl, Stage
from exporter.collectors.index_sizes import IndexSize, IndexSizes
from exporter.collectors.machine import MACHINE, Machine
from exporter.collectors.parallel_readers import ParallelReaders
from exporter.snapshot import Index, Snapshot
from tests.advisor.building import ORDERS, ROWS, captured, scanned, server, snapshot, variables

CLUSTERED = Index("shop", "orders", "PRIMARY")
MIB = 1 << 20


def of(name: str) -> Facts:
    return facts.facts(captured(name))


def test_a_count_of_a_table_without_a_secondary_index_is_known_with_the_index_that_it_lacks() -> None:
    [counted] = of("mysql-9.7/counted-without-index").lists["counted"]
    assert (counted.subject, counted.counts, counted.secondary_pages) == ({"schema": "shop", "table": "orders"}, 4, 0)
    assert (counted.key, counted.pages, counted.clustered_by_bug) == ("`id`", 1507, False)
    assert counted.key_index_pages == 10


def test_the_smallest_secondary_index_is_named() -> None:
    [counted] = of("mysql-9.7/counted-beside-index").lists["counted"]
    assert (counted.secondary, counted.secondary_pages) == ("k1", 17)


def test_a_key_is_quoted_and_its_columns_each_count() -> None:
    sizes = IndexSizes({CLUSTERED: IndexSize(11_400, 11_350, ROWS, ("a`b", "c"))}, 0)
    window = Window(
        tuple(
            scanned(at, 0, 0, index_sizes=sizes, count_statements={ORDERS: CountStatement(runs, 0.0, 0, 0)})
            for at, runs in ((10, 1), (20, 4))
        )
    )
    [counted] = facts.facts(window).lists["counted"]
    assert counted.key == "`a``b`, `c`"
    assert counted.counts == 3
    assert counted.key_index_pages == pytest.approx(ROWS * 21.5 / 16_256, abs=1)


def test_a_table_that_was_not_counted_in_the_window_is_not_in_the_list() -> None:
    assert of("mysql-9.7/repeated-scan").lists["counted"] == []


def test_a_cold_count_by_one_thread_is_mostly_waiting() -> None:
    [read] = of("mysql-9.7/cold-counts-in-no-order").lists["parallel_reads"]
    assert (read.threads, read.counts, read.saturated) == (1, 7, False)
    assert read.wait_share > 0.65
    assert read.more_threads == 4
    assert read.more_seconds < 0.5 * read.seconds


def test_a_count_of_pages_in_order_hardly_waits() -> None:
    [read] = of("mysql-9.7/cold-counts-in-order").lists["parallel_reads"]
    assert read.wait_share < 0.5


def test_a_server_without_parallel_readers_has_no_parallel_reads() -> None:
    assert of("mysql-5.6/counted-without-index").lists["parallel_reads"] == []


def test_without_cores_the_next_step_is_not_known() -> None:
    window = captured("mysql-9.7/cold-counts-in-no-order")
    bare = Window(tuple(_without_machine(each) for each in window.snapshots))
    [read] = facts.facts(bare).lists["parallel_reads"]
    assert (read.more_threads, read.more_seconds) == (None, None)
    assert read.wait_share > 0.65


def test_reader_threads_are_counted_over_the_window() -> None:
    readers = [ParallelReaders(2, 5.0, 1), ParallelReaders(4, 9.0, 3)]
    found = facts.facts(Window(tuple(snapshot(10 * n, parallel_readers=r) for n, r in enumerate(readers, 1)))).parallel
    assert (found.threads_seen, found.thread_seconds, found.reads_observed) == (4, 4, 2)


def test_a_build_is_seen_and_its_work_foretold() -> None:
    found = of("mysql-9.7/index-builds").ddl
    assert (found.seen, found.builds, found.table, found.index, found.built) == (True, 8, "notes", "by_text", False)
    assert found.index_bytes == pytest.approx(200_000 * 255, rel=0.02)
    assert (found.sort_buffer_bytes, found.merge_passes) == (192 << 10, 7)
    assert found.enough_buffer_bytes == 64 * MIB
    assert found.enough_passes == 1
    assert 7 * (found.index_bytes or 0) < (found.written_bytes or 0) < 8 * (found.index_bytes or 0)


def test_a_build_under_way_is_seen() -> None:
    stage = Stage("alter table (merge sort)", 1, 2)
    window = Window(tuple(snapshot(at, ddl=Ddl(0, 0, stages, 0, 0.0)) for at, stages in ((10, (stage,)), (20, ()))))
    assert facts.facts(window).ddl.seen is True


def test_no_build_is_a_fact_and_no_source_is_none() -> None:
    assert of("mysql-9.7/idle").ddl.seen is False
    assert of("mysql-9.7/unprivileged").ddl.seen is None


def test_a_server_without_secondary_indexes_has_nothing_to_merge() -> None:
    found = of("mysql-9.7/counted-without-index").ddl
    assert (found.index_bytes, found.merge_passes, found.index) == (0.0, 0.0, None)


def test_an_index_that_appears_in_the_window_is_the_one_that_was_built() -> None:
    rows = {CLUSTERED: IndexSize(11_400, 11_350, ROWS, ("id",)), _index("old"): IndexSize(900, 890, None, ("a",))}
    new = rows | {_index("new"): IndexSize(300, 290, None, ("b",))}
    settings = variables(innodb_ddl_buffer_size=str(MIB), innodb_parallel_read_threads="4")
    window = Window(
        tuple(
            snapshot(at, of=server(), variables=settings, index_sizes=IndexSizes(sizes, 0), machine=Machine(cores=2.0))
            for at, sizes in ((10, rows), (20, new))
        )
    )
    found = facts.facts(window).ddl
    assert (found.index, found.built, found.entries) == ("new", True, ROWS)
    assert (found.reader_threads, found.fed_reader_threads, found.enough_buffer_bytes) == (4, 2, None)


def _index(name: str) -> Index:
    return Index("shop", "orders", name)


def _without_machine(each: Snapshot) -> Snapshot:
    return each.with_section(MACHINE, None)
