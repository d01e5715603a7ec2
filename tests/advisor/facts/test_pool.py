"""The pool is as the server reports it, over all instances."""

from __future__ import annotations

from typing import Any

import pytest

from advisor import facts
from advisor.observe.window import Window
from exporter.collectors.data_files import FileReads
from exporter.collectors.index_sizes import IndexSize, IndexSizes
from exporter.collectors.machine import Machine
from exporter.collectors.pools import POOLS
from exporter.midpoint import old_target
from exporter.snapshot import Index
from tests.advisor.building import ORDERS, ROWS, captured, pool, scanned, snapshot, variables
from tests.advisor.facts.capture_facts import facts_of, shown

GIB = 2**30


def test_counters_of_the_pool_grow_over_the_window() -> None:
    window = captured("mysql-9.7/repeated-scan")
    pool_facts, [first], [last] = facts.facts(window).pool, window.snapshots[0][POOLS] or (), window.latest[POOLS] or ()
    assert pool_facts.pages_read == last.pages_read - first.pages_read
    assert pool_facts.pages_read_since_start == last.pages_read
    assert pool_facts.made_young == last.made_young - first.made_young
    assert pool_facts.gets == last.gets - first.gets
    assert pool_facts.pages_read_per_second == (last.pages_read - first.pages_read) / window.seconds
    assert pool_facts.old_most_pages == old_target(last.database_pages, 95)


@pytest.mark.parametrize("name", ["mysql-9.7/repeated-scan", "mysql-5.6/repeated-scan", "mariadb-11.8/repeated-scan"])
def test_the_pool_is_as_the_server_reports_it(name: str) -> None:
    truth, pool_facts = shown(name), facts_of(name).pool
    assert (pool_facts.pages, pool_facts.old_target_pages) == (truth["pool_pages"], truth["old_target_pages"])
    assert pool_facts.old_pages == pytest.approx(pool_facts.old_target_pages, abs=20)
    assert (pool_facts.instances, pool_facts.page_bytes) == (1.0, 16_384.0)


def test_without_a_privilege_the_pool_is_not_known() -> None:
    of_capture = facts_of("mysql-9.7/unprivileged")
    assert of_capture.pool.free_pages is None
    assert of_capture.setting["innodb_old_blocks_pct"] == 37.0


def test_several_instances_are_summed_and_each_has_its_own_midpoint() -> None:
    halves = [pool(pool=n, size_pages=8_191, database_pages=1_000 * (n + 1), old_pages=300) for n in range(2)]
    pool_facts = facts.facts(Window((snapshot(10, pools=tuple(halves)),))).pool
    assert (pool_facts.pages, pool_facts.list_pages, pool_facts.instances) == (16_382.0, 3_000.0, 2.0)
    assert pool_facts.old_target_pages == old_target(1_000, 37) + old_target(2_000, 37)


@pytest.mark.parametrize(
    ("machine", "most"),
    [
        (None, None),
        (Machine(), None),
        (Machine(memory_bytes=8 * GIB, memory_available_bytes=2 * GIB), GIB + 0.8 * (2 * GIB - 100 * 16_384)),
        (Machine(memory_bytes=8 * GIB, memory_available_bytes=0), GIB),
        (Machine(memory_bytes=4 * GIB), 2 * GIB),
        (Machine(memory_bytes=8 * GIB), 6 * GIB),
        (Machine(memory_bytes=GIB // 2), GIB),
    ],
)
def test_a_pool_may_grow_into_the_available_memory(machine: Machine | None, most: float | None) -> None:
    settings = variables(innodb_buffer_pool_size=str(GIB))
    pools = (pool(size_pages=65_536, database_pages=65_436, free_pages=100),)
    pool_facts = facts.facts(Window((snapshot(10, variables=settings, pools=pools, machine=machine),))).pool
    assert pool_facts.most_bytes == most


def test_reads_by_scans_exclude_lookups_of_the_same_table() -> None:
    def at(seconds: float, passes: int, read: int, of_pool: int) -> Any:
        return scanned(seconds, passes, read, pools=(pool(pages_read=of_pool),))

    def by_scans(*snapshots: Any) -> float | None:
        return facts.facts(Window(snapshots)).pool.read_by_scans

    assert by_scans(at(10, 0, 0, 0), at(20, 2, 22_800, 30_400)) == 0.75
    assert by_scans(at(10, 0, 0, 0), at(20, 2, 30_400, 30_400)) == 0.75  # the table has 11,400 pages
    assert by_scans(at(10, 0, 0, 0), at(20, 0, 0, 30_400)) == 0.0
    assert by_scans(scanned(10, 0, 0, table_files=None), scanned(20, 2, 9, table_files=None)) is None


SIZES = IndexSizes({Index("shop", "orders", "PRIMARY"): IndexSize(10_000, 9_950, ROWS)}, 0)


def read_again(before: int, read: int) -> float | None:
    """The share, where so many pages were read from the file before the window and in it."""

    def at(reads: int) -> FileReads:
        return FileReads(reads, reads * 16_384, 0.0)

    window = Window(
        tuple(
            scanned(10.0 * n, 0, 0, pools=(pool(pages_read=reads),), index_sizes=SIZES, table_files={ORDERS: at(reads)})
            for n, reads in enumerate((before, before + read))
        )
    )
    return facts.facts(window).pool.read_again


@pytest.mark.parametrize(
    ("before", "read", "share"), [(0, 4_000, 0.0), (8_000, 4_000, 0.5), (10_000, 4_000, 1.0), (0, 40_000, 0.75)]
)
def test_a_file_gives_no_more_first_reads_than_its_table_has_pages(before: int, read: int, share: float) -> None:
    assert read_again(before, read) == pytest.approx(share)


def test_a_table_that_is_built_upon_for_the_first_time_is_read_for_the_first_time() -> None:
    assert facts.facts(captured("mysql-9.7/index-build")).pool.read_again == 0.0
    assert (facts.facts(captured("mysql-9.7/hot-set-exceeds-pool")).pool.read_again or 0.0) > 0.9
