"""Facts of the change buffer: reads that changes explain, merges, and predictions."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from advisor.facts.change_buffer import ChangeBufferFacts, change_buffer
from advisor.observe.window import Window
from exporter.collectors.cached_indexes import CachedIndexes
from exporter.collectors.data_files import FileReads
from exporter.collectors.index_sizes import INDEX_SIZES, IndexSize, IndexSizes
from exporter.collectors.table_io import NO_INDEX, IndexIo
from exporter.snapshot import Index, Snapshot, Table
from tests.advisor.building import captured, pool, server, snapshot, variables
from tests.advisor.facts.capture_facts import facts_of, shown

EVENTS, LOGS = Table("shop", "events"), Table("shop", "logs")
KEY = Index("shop", "events", "k1")
SECONDS = 10.0
SETTINGS = variables(innodb_change_buffering="none", innodb_change_buffer_max_size="5", innodb_io_capacity="200")


def at(seconds: float, *, inserted: int = 0, read: int = 0, **sections: Any) -> Snapshot:
    """A server with an index of 10,000 leaf pages, none of them in the pool. A read took 1 ms, and so did an insert."""
    written = IndexIo(0, inserted, 0, 0, 0.0, inserted / 1000.0)
    known: dict[str, Any] = {
        "of": server("9.7.4"),
        "status": {"uptime": 1000.0 + seconds, "questions": 10.0 * seconds},
        "variables": SETTINGS,
        "pools": (pool(size_pages=4_000, database_pages=4_000, pages_read=read),),
        "innodb_metrics": dict.fromkeys(
            ("ibuf_merges", "ibuf_merges_insert", "ibuf_merges_delete_mark", "ibuf_merges_delete"), 0
        )
        | {"ibuf_size": 1},
        "indexes": {KEY: 0},
        "index_sizes": IndexSizes(
            {
                Index("shop", "events", "PRIMARY"): IndexSize(9_000, 9_000, 3_000_000),
                KEY: IndexSize(11_000, 10_000, None),
            },
            0,
        ),
        "cached_indexes": CachedIndexes({}, 0),
        "auto_increments": {EVENTS},
        "table_files": {EVENTS: FileReads(read, 0, read / 1000.0)},
        "table_io": {Index("shop", "events", NO_INDEX): written},
    }
    return snapshot(1000.0 + seconds, **(known | sections))


def facts(**at_the_end: Any) -> ChangeBufferFacts:
    beginning = {name: value for name, value in at_the_end.items() if name not in ("inserted", "read")}
    if beginning.get("table_files"):
        beginning["table_files"] = dict.fromkeys(beginning["table_files"], FileReads(0, 0, 0.0))
    return change_buffer(Window((at(0.0, **beginning), at(SECONDS, **at_the_end))))


def test_reads_for_changes_to_a_non_unique_index_are_reads_of_writes() -> None:
    ibuf = facts(inserted=20_000, read=19_000)
    assert ibuf.index_changes_per_second == 2_000.0
    assert ibuf.write_reads_per_second == 1_900.0
    assert ibuf.entry_reads_per_second == ibuf.most_entry_reads_per_second == 1_900.0
    assert ibuf.written_leaf_pages == 10_000.0
    assert ibuf.expected_reads_per_second is not None
    assert ibuf.expected_reads_per_second < 1_900.0


@pytest.mark.parametrize("counted", [0, 5_000, 10_000])
def test_the_drifting_count_of_resident_pages_bounds_nothing(counted: int) -> None:
    ibuf = facts(inserted=20_000, read=19_000, cached_indexes=CachedIndexes({KEY: counted}, 0))
    assert ibuf.resident_share == min(counted, 4_000) / 10_000  # as large as the pool
    assert ibuf.write_reads_per_second == 1_900.0
    assert ibuf.expected_reads_per_second == facts(inserted=20_000, read=19_000).expected_reads_per_second


def test_tables_that_are_only_read_do_not_count() -> None:
    other = Index("shop", "logs", "k1")
    sizes = at(0.0)[INDEX_SIZES]
    assert sizes is not None
    more: dict[str, Any] = {
        "indexes": {KEY: 0, other: 0},
        "index_sizes": IndexSizes({**sizes.sizes, other: IndexSize(90_000, 90_000, None)}, 0),
    }
    files = {EVENTS: FileReads(19_000, 0, 19.0), LOGS: FileReads(50_000, 0, 50.0)}
    ibuf = facts(inserted=20_000, read=19_000, table_files=files, **more)
    assert ibuf.written_leaf_pages == 10_000.0
    assert ibuf.write_reads_per_second == 1_900.0


def test_tables_that_are_hardly_read_do_not_count() -> None:
    other = Index("shop", "logs", "k1")
    sizes = at(0.0)[INDEX_SIZES]
    assert sizes is not None
    more: dict[str, Any] = {
        "indexes": {KEY: 0, other: 0},
        "index_sizes": IndexSizes({**sizes.sizes, other: IndexSize(90_000, 90_000, None)}, 0),
    }
    files = {EVENTS: FileReads(19_000, 0, 19.0), LOGS: FileReads(5, 0, 0.0)}
    rows = {
        Index("shop", "events", NO_INDEX): IndexIo(0, 20_000, 0, 0, 0.0, 20.0),
        Index("shop", "logs", NO_INDEX): IndexIo(0, 7, 0, 0, 0.0, 0.1),
    }
    ibuf = change_buffer(Window((at(0.0, **more), at(SECONDS, read=19_005, table_files=files, table_io=rows, **more))))
    assert ibuf.written_leaf_pages == 10_000.0
    assert ibuf.index_changes_per_second == 2_000.0


def test_changes_that_went_into_the_buffer_are_the_merged_ones_and_its_growth() -> None:
    growing = change_buffer(captured("mysql-8.0/change-buffer-growing"))
    seconds = captured("mysql-8.0/change-buffer-growing").seconds
    assert growing.buffered_per_second is not None
    assert growing.merged_operations is not None
    assert growing.buffered_operations is not None
    grown = growing.buffered_per_second * seconds - growing.merged_operations
    assert grown == pytest.approx(growing.buffered_operations, rel=0.02)  # it was empty at first
    assert change_buffer(captured("mysql-8.0/idle")).buffered_per_second == 0.0


def test_missing_sources_give_none() -> None:
    for missing in ("indexes", "table_io", "table_files"):
        assert facts(inserted=20_000, read=19_000, **{missing: None}).write_reads_per_second is None
    assert facts(inserted=20_000, read=19_000, pools=None).expected_reads_per_second is None
    bare = change_buffer(Window((snapshot(0.0), snapshot(10.0))))
    assert bare == replace(bare, **dict.fromkeys(ChangeBufferFacts.__slots__))


def test_mariadb_gets_no_prediction() -> None:
    ibuf = facts(inserted=20_000, read=19_000, of=server("10.5.20-MariaDB"))
    assert ibuf.write_reads_per_second is not None
    assert ibuf.expected_reads_per_second is None


def test_a_real_buffer_at_work_is_measured() -> None:
    ibuf = change_buffer(captured("mysql-9.7/change-buffer-small"))
    assert ibuf.operations_per_merge == pytest.approx(ibuf.expected_operations_per_merge, rel=0.3)
    assert ibuf.best_max_size is not None
    assert ibuf.best_max_size > 5.0
    assert ibuf.drain_reads is not None
    assert ibuf.buffered_operations is not None
    assert ibuf.drain_reads < ibuf.buffered_operations


@pytest.mark.parametrize(
    ("name", "operations_per_merge"),
    [
        ("mysql-9.7/change-buffer-single-merges", 1.0),
        ("mysql-9.7/change-buffer-merges", None),
        ("mysql-5.6/change-buffer-merges", None),
        ("mariadb-10.11/change-buffer-merges", None),
    ],
)
def test_merges_and_their_operations_are_counted(name: str, operations_per_merge: float | None) -> None:
    truth, ibuf = shown(name), facts_of(name).ibuf
    assert ibuf.merges == truth["merges"]
    assert ibuf.operations_per_merge == pytest.approx(operations_per_merge or truth["operations_per_merge"], abs=0.01)
    assert ibuf.operations_per_merge == (ibuf.merged_operations or 0) / truth["merges"]


def test_without_merges_operations_per_merge_are_not_known() -> None:
    ibuf = facts_of("mysql-9.7/idle").ibuf
    assert (ibuf.merges, ibuf.operations_per_merge) == (0.0, None)


def test_a_server_without_a_change_buffer_has_no_facts_of_it() -> None:
    ibuf = facts_of("mariadb-11.8/idle").ibuf
    assert {getattr(ibuf, field.name) for field in fields(ibuf)} == {None}
