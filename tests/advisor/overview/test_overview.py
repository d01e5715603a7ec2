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

CAPTURES = sorted(each.parent for each in (REPOSITORY / "tests" / "captures").glob("*/*/recording.jsonl.gz"))
FULL = 16_382


def seen(*snapshots: Snapshot) -> Overview:
    return overview(Window(snapshots))


def table(found: Overview, name: Table = ORDERS) -> TableOverview:
    assert found.tables is not None
    return next(each for each in found.tables if (each.schema_, each.table) == (name.schema, name.table))


def looping(**sections: Any) -> Overview:
    """Ten scans in a minute, each of which reads the table."""
    return seen(*(scanned(seconds, passes, 11_400 * passes, **sections) for seconds, passes in ((100, 0), (160, 10))))


# Recordings


@pytest.mark.parametrize("folder", CAPTURES, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_every_recording_has_an_overview_that_agrees_with_itself(folder: Path) -> None:
    found = overview(Window.of(recorded(folder / "recording.jsonl.gz"), 3600.0))
    assert Overview.model_validate_json(found.model_dump_json(by_alias=True)) == found
    for each in found.pools or ():
        assert each.young_pages + each.old_pages + each.free_pages <= each.size_pages
        assert each.old_target_pages is not None
    tables = found.tables or ()
    assert len({(each.schema_, each.table) for each in tables}) == len(tables) <= MOST_TABLES
    rates = [float(each.pages_read_per_second or 0.0) for each in tables]
    assert rates == sorted(rates, reverse=True)
    # A part that is null has its reason; "no change buffer" and "no readers" are known.
    parts = ("pools", "residents", "tables", "change_buffer", "readers", "builds")
    assert not [part for part in parts if getattr(found, part) is None and not found.lacks[part]]


def test_a_scanned_table_reads_what_the_finding_says() -> None:
    found = overview(captured("mysql-9.7/repeated-scan"))
    first = table(found)
    assert found.tables is not None
    assert first is found.tables[0]
    assert (first.scanned, first.fetch) == (True, "normal")
    assert first.pages_read_per_scan == pytest.approx(8_888, rel=0.05)  # as the finding has it
    assert found.lacks["tables"] is None


def test_counts_are_made_by_parallel_readers() -> None:
    found = overview(captured("mysql-9.7/parallel-count"))
    assert [each.fetch for each in found.tables or () if each.scanned] == ["scan"]
    assert found.readers is not None
    assert found.readers.scans_per_hour == table(found).scans_per_hour
    assert found.readers.max_threads is not None


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
    each = float(merging.operations_per_second) / float(merging.merges_per_second)
    assert merging.operations_per_merge == pytest.approx(each, rel=0.01)


def test_without_performance_schema_tables_have_their_sizes_alone() -> None:
    off = ReadOutcome(0.0, 0.0, "disabled", "performance_schema is OFF", "switch it on")
    sources = ("table_files", "table_scans", "count_statements")
    known = looping(**dict.fromkeys(sources), outcomes=dict.fromkeys(sources, off))
    shown = table(known)
    assert (shown.pages, shown.pages_read_per_second, shown.scanned) == (11_400, None, None)
    assert known.lacks["tables"] == "performance_schema is OFF: switch it on"
    found = overview(captured("mariadb-11.8/idle"))
    assert found.residents is None
    assert found.residents_lack == "INNODB_CACHED_INDEXES came with MySQL 8.0; there is no cheap source before"
    assert (found.readers, found.lacks["readers"]) == (
        None,
        "parallel clustered index reads came with MySQL 8.0.14; MariaDB has none",
    )


def test_an_account_without_privileges_is_told_the_grants() -> None:
    found = overview(captured("mysql-9.7/unprivileged"))
    assert (found.pools, found.tables, found.residents) == (None, None, None)
    assert "GRANT PROCESS ON *.* TO" in (found.lacks["pools"] or "")
    assert "GRANT" in (found.residents_lack or "")


# Pools


def test_each_instance_has_its_own_midpoint() -> None:
    pools = tuple(
        pool(pool=number, size_pages=2_048, database_pages=1_000 * (number > 0), old_pages=370 * (number > 0))
        for number in range(8)
    )
    found = seen(snapshot(9, pools=pools))
    assert found.pools is not None
    assert [each.pool for each in found.pools] == list(range(8))
    assert [each.old_target_pages for each in found.pools] == [0, *[369] * 7]
    assert [each.young_pages for each in found.pools] == [0, *[630] * 7]


def test_a_list_that_was_read_at_two_moments_has_no_negative_part() -> None:
    found = seen(snapshot(9, pools=(pool(size_pages=2_048, database_pages=600, old_pages=601),)))
    assert found.pools is not None
    assert found.pools[0].young_pages == 0


# Residents


def held(cached: CachedIndexes | None = None, **sections: Any) -> Overview:
    size = IndexSizes({Index("shop", "orders", "PRIMARY"): IndexSize(11_400, 11_350, 9)}, 0)
    pools = (pool(size_pages=FULL, database_pages=16_300),)
    known: dict[str, Any] = {"pools": pools, "index_sizes": size, "cached_indexes": cached}
    return seen(snapshot(9, **{name: each for name, each in (known | sections).items() if each is not None}))


def test_the_largest_residents_have_entries_and_the_others_share_one() -> None:
    many = {Index("shop", f"t{number:03}", "PRIMARY"): 100 + number for number in range(60)}
    found = held(CachedIndexes(many, 50)).residents
    assert found is not None
    assert len(found) == MOST_RESIDENTS + 1
    assert [each.pages for each in found[:3]] == [159, 158, 157]
    assert (found[-1].table, found[-1].pages) == (None, sum(range(100, 140)) + 50)


def test_leaf_pages_are_compared_with_leaf_pages() -> None:
    found = held(CachedIndexes({Index("shop", "orders", "PRIMARY"): 5_000}, 0))
    assert found.residents is not None
    assert [(each.pages, each.of_pages, each.old_pages) for each in found.residents] == [(5_000, 11_350, None)]
    assert table(found).resident_pages == 5_000
    assert "drifts" in (found.residents_note or "")


def test_counts_that_drifted_beyond_the_list_are_told() -> None:
    found = held(CachedIndexes({Index("shop", "orders", "PRIMARY"): 20_000}, 0))
    assert (found.residents_note or "").endswith("now it counts 20,000 pages where the LRU lists have 16,300")


def test_a_table_that_the_server_does_not_name_may_be_in_the_pool() -> None:
    assert table(held(CachedIndexes({}, 7))).resident_pages is None
    assert table(held(CachedIndexes({}, 0))).resident_pages == 0


def test_the_pages_of_the_list_are_exact_and_tell_the_old_ones() -> None:
    lists = LruPages({Index("shop", "orders", "PRIMARY"): SublistPages(40, 60)}, SublistPages(5, 6))
    found = held(CachedIndexes({Index("shop", "orders", "PRIMARY"): 7}, 0), lru_pages=lists)
    assert found.residents is not None
    assert [(each.pages, each.of_pages, each.old_pages) for each in found.residents] == [
        (100, 11_400, 60),
        (11, None, 6),
    ]
    assert found.residents_note == "every page of the LRU list, by INNODB_BUFFER_PAGE_LRU"


# Tables


def test_a_table_that_is_scanned_in_a_loop() -> None:
    found = table(looping())
    assert (found.pages, found.leaf_pages) == (11_400, 11_350)
    assert (found.scans_per_hour, found.pages_read_per_scan, found.pages_read_per_second) == (600, 11_400, 1_900)
    assert (found.scanned, found.fetch) == (True, "normal")


def test_a_few_rows_without_an_index_are_no_scan() -> None:
    found = table(seen(scanned(100, 0.0, 0), scanned(160, 0.001, 9)))
    assert found.scanned is False
    assert found.fetch is None
    assert found.pages_read_per_scan is None


def test_one_snapshot_has_no_rates() -> None:
    found = table(seen(scanned(100, 5, 9_999)))
    assert (found.pages, found.pages_read_per_second, found.scanned) == (11_400, None, None)


def test_without_the_traces_of_scans_nobody_knows_whether_there_are_any() -> None:
    found = looping(table_scans=None, outcomes={"table_scans": ReadOutcome(0.0, 0.0, "deadline", "too slow")})
    assert table(found).scanned is None
    assert table(found).pages_read_per_second == 1_900
    assert found.lacks["tables"] == "too slow"


def test_the_tables_that_read_most_come_first_then_the_largest() -> None:
    names = [Table("shop", f"t{number:04}") for number in range(300)]
    sizes = IndexSizes(
        {
            Index(each.schema, each.table, "PRIMARY"): IndexSize(1_000 - number, 900, 9)
            for number, each in enumerate(names[:100])
        },
        5_000,
        2_000,
    )

    def at(seconds: int, reads: int) -> Snapshot:
        files = {each: FileReads(reads * (number % 7 == 0), 0, 0.0) for number, each in enumerate(names)}
        return snapshot(seconds, index_sizes=sizes, table_files=files, table_scans={}, count_statements={})

    found = seen(at(100, 0), at(160, 600))
    assert found.tables is not None
    reading = [each.table for each in found.tables if each.pages_read_per_second]
    assert reading == [each.table for each in names[::7]]
    assert [each.table for each in found.tables[len(reading) :]] == [
        "t0001",
        "t0002",
        "t0003",
        "t0004",
        "t0005",
        "t0006",
        "t0008",
    ]
    assert found.more_tables == 2_000 - MOST_TABLES


def test_tables_of_the_server_itself_are_shown_only_where_they_are_read() -> None:
    own = Table("mysql", "innodb_index_stats")

    def at(seconds: int, reads: int) -> Snapshot:
        return scanned(seconds, 0, 0, table_files={own: FileReads(reads, 0, 0.0), ORDERS: FileReads(0, 0, 0.0)})

    for reads, tables in ((0, [ORDERS]), (9, [own, ORDERS])):
        found = seen(at(100, 0), at(160, reads)).tables or ()
        assert [Table(each.schema_, each.table) for each in found] == tables


# Readers and settings


def test_readers_have_the_mean_of_the_samples() -> None:
    def at(seconds: int, *readers: Any) -> Snapshot:
        settings = variables(innodb_parallel_read_threads="4")
        return snapshot(seconds, parallel_readers=ParallelReaders(*readers), variables=settings)

    found = seen(at(100, 0, 0.0, 0), at(160, 4, 90.0, 3)).readers
    assert found is not None
    assert (found.active_threads, found.max_threads, found.mean_threads) == (4, 4, 1.5)
    assert found.scans_per_hour == 180  # by samples, as the statements are not known


def test_settings_are_those_of_the_server() -> None:
    found = seen(snapshot(9))
    assert found.page_size == 16_384
    assert found.settings["innodb_old_blocks_pct"] == 37
    assert found.settings["innodb_change_buffering"] == "all"
    assert "innodb_parallel_read_threads" not in found.settings


def test_what_was_never_read_is_told() -> None:
    empty = Snapshot(1.0, server(), "a@b")
    found = seen(empty)
    parts = (found.page_size, found.pools, found.residents, found.tables, found.change_buffer, found.readers)
    assert set(parts) == {None}
    assert found.lacks["pools"] == "pools has not been read"
