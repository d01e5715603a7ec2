"""The overview of real recordings and of made-up snapshots: pools, residents, tables, change buffer and readers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from advisor.casetest.cases import recorded
from advisor.observe.window import Window
from advisor.overview.overview import Overview, overview
from advisor.overview.residents import MOST_RESIDENTS
from advisor.overview.tables import MOST_TABLES, TableOverview
from exporter.collectors.cached_indexes import CachedIndexes
from exporter.collectors.data_files import FileReads
from exporter.collectors.index_sizes import IndexSize, IndexSizes
from exporter.collectors.lru_pages import LruPages, SublistPages
from exporter.collectors.parallel_readers import ParallelReaders
from exporter.snapshot import Index, ReadOutcome, Snapshot, Table
from tests.advisor.building import ORDERS, REPOSITORY, captured, pool, scanned, server, snapshot, variables

CAPTURES = sorted(path.parent for path in (REPOSITORY / "tests" / "captures").glob("*/*/recording.jsonl.gz"))
FULL = 16_382


def seen(*snapshots: Snapshot) -> Overview:
    return overview(Window(snapshots))


def table(shown: Overview, name: Table = ORDERS) -> TableOverview:
    assert shown.tables is not None
    return next(table for table in shown.tables if (table.schema_, table.table) == (name.schema, name.table))


def looping(**sections: Any) -> Overview:
    """Ten scans in a minute, each of which reads the table."""
    return seen(*(scanned(seconds, passes, 11_400 * passes, **sections) for seconds, passes in ((100, 0), (160, 10))))


# Recordings


@pytest.mark.parametrize("folder", CAPTURES, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_every_recording_has_an_overview_that_agrees_with_itself(folder: Path) -> None:
    shown = overview(Window.of(recorded(folder / "recording.jsonl.gz"), 3600.0))
    assert Overview.model_validate_json(shown.model_dump_json(by_alias=True)) == shown
    for instance in shown.pools or ():
        assert instance.young_pages + instance.old_pages + instance.free_pages <= instance.size_pages
        assert instance.old_target_pages is not None
    tables = shown.tables or ()
    assert len({(table.schema_, table.table) for table in tables}) == len(tables) <= MOST_TABLES
    rates = [float(table.pages_read_per_second or 0.0) for table in tables]
    assert rates == sorted(rates, reverse=True)
    # A part that is null has its reason; "no change buffer" and "no readers" are known.
    parts = ("pools", "residents", "tables", "change_buffer", "readers", "builds")
    assert not [part for part in parts if getattr(shown, part) is None and not shown.lacks[part]]


def test_a_scanned_table_reads_what_the_finding_says() -> None:
    shown = overview(captured("mysql-9.7/repeated-scan"))
    first = table(shown)
    assert shown.tables is not None
    assert first is shown.tables[0]
    assert (first.scanned, first.fetch) == (True, "normal")
    assert first.pages_read_per_scan == pytest.approx(8_888, rel=0.05)  # as the finding has it
    assert shown.lacks["tables"] is None


def test_counts_are_made_by_parallel_readers() -> None:
    shown = overview(captured("mysql-9.7/parallel-count"))
    assert [table.fetch for table in shown.tables or () if table.scanned] == ["scan"]
    assert shown.readers is not None
    assert shown.readers.scans_per_hour == table(shown).scans_per_hour
    assert shown.readers.max_threads is not None


def test_a_change_buffer_is_on_or_off_or_not_there() -> None:
    states = {
        "mysql-9.7/change-buffer-merges": "on",
        "mysql-9.7/change-buffer-off": "off",
        "mariadb-11.8/idle": "none",
    }
    for name, state in states.items():
        buffer = overview(captured(name)).change_buffer
        assert buffer is not None
        assert buffer.state == state
        assert (buffer.pages is None) == (state == "none")
    merging = overview(captured("mysql-9.7/change-buffer-merges")).change_buffer
    assert merging is not None
    assert merging.merges_per_second
    assert merging.operations_per_second
    per_merge = float(merging.operations_per_second) / float(merging.merges_per_second)
    assert merging.operations_per_merge == pytest.approx(per_merge, rel=0.01)


def test_without_performance_schema_tables_have_their_sizes_alone() -> None:
    off = ReadOutcome(0.0, 0.0, "disabled", "performance_schema is OFF", "switch it on")
    sources = ("table_files", "table_scans", "count_statements")
    known = looping(**dict.fromkeys(sources), outcomes=dict.fromkeys(sources, off))
    shown = table(known)
    assert (shown.pages, shown.pages_read_per_second, shown.scanned) == (11_400, None, None)
    assert known.lacks["tables"] == "performance_schema is OFF: switch it on"
    answer = overview(captured("mariadb-11.8/idle"))
    assert answer.residents is None
    assert answer.residents_lack == "INNODB_CACHED_INDEXES came with MySQL 8.0; there is no cheap source before"
    assert (answer.readers, answer.lacks["readers"]) == (
        None,
        "parallel clustered index reads came with MySQL 8.0.14; MariaDB has none",
    )


def test_an_account_without_privileges_is_told_the_grants() -> None:
    shown = overview(captured("mysql-9.7/unprivileged"))
    assert (shown.pools, shown.tables, shown.residents) == (None, None, None)
    assert "GRANT PROCESS ON *.* TO" in (shown.lacks["pools"] or "")
    assert "GRANT" in (shown.residents_lack or "")


# Pools


def test_each_instance_has_its_own_midpoint() -> None:
    pools = tuple(
        pool(pool=number, size_pages=2_048, database_pages=1_000 * (number > 0), old_pages=370 * (number > 0))
        for number in range(8)
    )
    shown = seen(snapshot(9, pools=pools))
    assert shown.pools is not None
    assert [instance.pool for instance in shown.pools] == list(range(8))
    assert [instance.old_target_pages for instance in shown.pools] == [0, *[369] * 7]
    assert [instance.young_pages for instance in shown.pools] == [0, *[630] * 7]


def test_a_list_that_was_read_at_two_moments_has_no_negative_part() -> None:
    shown = seen(snapshot(9, pools=(pool(size_pages=2_048, database_pages=600, old_pages=601),)))
    assert shown.pools is not None
    assert shown.pools[0].young_pages == 0


# Residents


def held(cached: CachedIndexes | None = None, **sections: Any) -> Overview:
    size = IndexSizes({Index("shop", "orders", "PRIMARY"): IndexSize(11_400, 11_350, 9)}, 0)
    pools = (pool(size_pages=FULL, database_pages=16_300),)
    known: dict[str, Any] = {"pools": pools, "index_sizes": size, "cached_indexes": cached}
    return seen(snapshot(9, **{name: section for name, section in (known | sections).items() if section is not None}))


def test_the_largest_residents_have_entries_and_the_others_share_one() -> None:
    many = {Index("shop", f"t{number:03}", "PRIMARY"): 100 + number for number in range(60)}
    residents = held(CachedIndexes(many, 50)).residents
    assert residents is not None
    assert len(residents) == MOST_RESIDENTS + 1
    assert [resident.pages for resident in residents[:3]] == [159, 158, 157]
    assert (residents[-1].table, residents[-1].pages) == (None, sum(range(100, 140)) + 50)


def test_leaf_pages_are_compared_with_leaf_pages() -> None:
    shown = held(CachedIndexes({Index("shop", "orders", "PRIMARY"): 5_000}, 0))
    assert shown.residents is not None
    assert [(resident.pages, resident.of_pages, resident.old_pages) for resident in shown.residents] == [
        (5_000, 11_350, None)
    ]
    assert table(shown).resident_pages == 5_000
    assert (shown.residents_note or "").startswith("at most: INNODB_CACHED_INDEXES counts leaf pages alone")


def test_counts_of_freed_pages_are_cut_to_the_file_and_to_the_lists() -> None:
    cached = CachedIndexes({Index("shop", "orders", "PRIMARY"): 20_000}, 0)
    assert table(held(cached)).resident_pages == 16_300
    in_file = held(cached, file_sizes={ORDERS: 12_000 * 16_384})
    assert table(in_file).resident_pages == 12_000
    assert [resident.pages for resident in in_file.residents or ()] == [12_000]


def test_a_table_that_the_server_does_not_name_may_be_in_the_pool() -> None:
    assert table(held(CachedIndexes({}, 7))).resident_pages is None
    assert table(held(CachedIndexes({}, 0))).resident_pages == 0


def test_the_pages_of_the_list_are_exact_and_tell_the_old_ones() -> None:
    lists = LruPages({Index("shop", "orders", "PRIMARY"): SublistPages(40, 60)}, SublistPages(5, 6))
    shown = held(CachedIndexes({Index("shop", "orders", "PRIMARY"): 7}, 0), lru_pages=lists)
    assert shown.residents is not None
    assert [(resident.pages, resident.of_pages, resident.old_pages) for resident in shown.residents] == [
        (100, 11_400, 60),
        (11, None, 6),
    ]
    assert shown.residents_note == "every page of the LRU list, by INNODB_BUFFER_PAGE_LRU"


# Tables


def test_a_table_that_is_scanned_in_a_loop() -> None:
    orders = table(looping())
    assert (orders.pages, orders.leaf_pages) == (11_400, 11_350)
    assert (orders.scans_per_hour, orders.pages_read_per_scan, orders.pages_read_per_second) == (600, 11_400, 1_900)
    assert (orders.scanned, orders.fetch) == (True, "normal")


def test_a_few_rows_without_an_index_are_no_scan() -> None:
    orders = table(seen(scanned(100, 0.0, 0), scanned(160, 0.001, 9)))
    assert orders.scanned is False
    assert orders.fetch is None
    assert orders.pages_read_per_scan is None


def test_one_snapshot_has_no_rates() -> None:
    orders = table(seen(scanned(100, 5, 9_999)))
    assert (orders.pages, orders.pages_read_per_second, orders.scanned) == (11_400, None, None)


def test_without_the_traces_of_scans_nobody_knows_whether_there_are_any() -> None:
    shown = looping(table_scans=None, outcomes={"table_scans": ReadOutcome(0.0, 0.0, "deadline", "too slow")})
    assert table(shown).scanned is None
    assert table(shown).pages_read_per_second == 1_900
    assert shown.lacks["tables"] == "too slow"


def test_the_tables_that_read_most_come_first_then_the_largest() -> None:
    names = [Table("shop", f"t{number:04}") for number in range(300)]
    sizes = IndexSizes(
        {
            Index(name.schema, name.table, "PRIMARY"): IndexSize(1_000 - number, 900, 9)
            for number, name in enumerate(names[:100])
        },
        5_000,
        2_000,
    )

    def at(seconds: int, reads: int) -> Snapshot:
        files = {name: FileReads(reads * (number % 7 == 0), 0, 0.0) for number, name in enumerate(names)}
        return snapshot(seconds, index_sizes=sizes, table_files=files, table_scans={}, count_statements={})

    shown = seen(at(100, 0), at(160, 600))
    assert shown.tables is not None
    reading = [table.table for table in shown.tables if table.pages_read_per_second]
    assert reading == [name.table for name in names[::7]]
    assert [table.table for table in shown.tables[len(reading) :]] == [
        "t0001",
        "t0002",
        "t0003",
        "t0004",
        "t0005",
        "t0006",
        "t0008",
    ]
    assert shown.more_tables == 2_000 - MOST_TABLES


def test_tables_of_the_server_itself_are_shown_only_where_they_are_read() -> None:
    own = Table("mysql", "innodb_index_stats")

    def at(seconds: int, reads: int) -> Snapshot:
        return scanned(seconds, 0, 0, table_files={own: FileReads(reads, 0, 0.0), ORDERS: FileReads(0, 0, 0.0)})

    for reads, tables in ((0, [ORDERS]), (9, [own, ORDERS])):
        shown = seen(at(100, 0), at(160, reads)).tables or ()
        assert [Table(table.schema_, table.table) for table in shown] == tables


# Readers and settings


def test_readers_have_the_mean_of_the_samples() -> None:
    def at(seconds: int, *readers: Any) -> Snapshot:
        settings = variables(innodb_parallel_read_threads="4")
        return snapshot(seconds, parallel_readers=ParallelReaders(*readers), variables=settings)

    readers = seen(at(100, 0, 0.0, 0), at(160, 4, 90.0, 3)).readers
    assert readers is not None
    assert (readers.active_threads, readers.max_threads, readers.mean_threads) == (4, 4, 1.5)
    assert readers.scans_per_hour == 180  # by samples, as the statements are not known


def test_settings_are_those_of_the_server() -> None:
    shown = seen(snapshot(9))
    assert shown.page_size == 16_384
    assert shown.settings["innodb_old_blocks_pct"] == 37
    assert shown.settings["innodb_change_buffering"] == "all"
    assert "innodb_parallel_read_threads" not in shown.settings


def test_what_was_never_read_is_told() -> None:
    empty = Snapshot(1.0, server(), "a@b")
    shown = seen(empty)
    parts = (shown.page_size, shown.pools, shown.residents, shown.tables, shown.change_buffer, shown.readers)
    assert set(parts) == {None}
    assert shown.lacks["pools"] == "pools has not been read"
