"""Scans of a table are counted and measured from table I/O, counts and file reads."""

from __future__ import annotations

from typing import Any

import pytest

from advisor import facts
from advisor.facts import ScanFacts
from advisor.observe.window import Window
from exporter.collectors.count_statements import COUNT_STATEMENTS, CountStatement
from exporter.collectors.index_sizes import IndexSize, IndexSizes
from exporter.collectors.table_io import IndexIo
from exporter.digest_text import CUT
from exporter.snapshot import Index, Table
from tests.advisor.building import ORDERS, ROWS, captured, pool, scanned, server, variables
from tests.advisor.facts.capture_facts import facts_of, shown

CLUSTERED, SECONDARY = Index("shop", "orders", "PRIMARY"), Index("shop", "orders", "k1")


def scan_of(*snapshots: Any) -> ScanFacts | None:
    scans = facts.facts(Window(snapshots)).lists["scans"]
    assert len(scans) <= 1
    return scans[0] if scans else None


@pytest.mark.parametrize(
    "name",
    ["mysql-9.7/repeated-scan", "mysql-8.0/repeated-scan", "mysql-5.6/repeated-scan", "mariadb-10.5/repeated-scan"],
)
def test_a_repeated_serial_scan_is_counted_and_measured(name: str) -> None:
    truth = shown(name)
    [scan] = facts_of(name).lists["scans"]
    assert (scan.schema, scan.table) == ("shop", "orders")
    assert scan.pages == pytest.approx(truth["table_pages"], rel=0.02)
    assert scan.bytes == scan.pages * 16_384.0
    assert scan.passes == pytest.approx(len(truth["pages_read_per_pass"]), rel=0.01)
    assert (scan.serial_passes, scan.parallel_passes) == (scan.passes, 0.0)
    assert scan.pages_read_per_pass == pytest.approx(sum(truth["pages_read_per_pass"]) / scan.passes, rel=0.01)
    assert scan.pages_read_last_pass == pytest.approx(truth["pages_read_per_pass"][-1], rel=0.01)


def test_scans_out_of_step_with_collections_are_counted_and_measured_on_mysql_5_7() -> None:
    truth = shown("mysql-5.7/repeated-scan")
    [scan] = facts_of("mysql-5.7/repeated-scan").lists["scans"]
    assert scan.pages == pytest.approx(truth["table_pages"], rel=0.01)
    assert scan.passes == pytest.approx(truth["passes"], rel=0.05)
    assert scan.pages_read_per_pass == pytest.approx(truth["pages_read_per_pass"], rel=0.05)


def test_counts_and_reads_of_scans_are_timed() -> None:
    window = captured("mysql-9.7/parallel-count")
    first, last = ((snapshot[COUNT_STATEMENTS] or {}).get(ORDERS) for snapshot in (window.snapshots[0], window.latest))
    [scan] = facts.facts(window).lists["scans"]
    assert scan.counts == scan.passes == 7.0
    assert last is not None
    assert scan.count_seconds == pytest.approx((last.seconds - (first.seconds if first else 0.0)) / 7)
    [scan] = facts_of("mysql-9.7/repeated-scan").lists["scans"]
    assert (scan.counts, scan.count_seconds) == (0.0, None)
    assert 0.0 < scan.read_seconds < 1.0
    assert scan.leaf_pages < scan.pages


@pytest.mark.parametrize("name", ["mysql-5.6/counted-without-index", "mariadb-10.11/counted-without-index"])
def test_a_count_by_the_row_path_is_one_pass_although_table_io_counts_its_rows(name: str) -> None:
    [scan] = facts_of(name).lists["scans"]
    assert (scan.passes, scan.counts, scan.ordered_passes) == (4.0, 4.0, 0.0)


def test_a_parallel_count_is_a_pass_although_table_io_counts_no_row() -> None:
    truth = shown("mysql-9.7/parallel-count")
    [scan] = facts_of("mysql-9.7/parallel-count").lists["scans"]
    passes = float(len(truth["pages_read_per_pass"]))
    assert (scan.passes, scan.parallel_passes, scan.serial_passes) == (passes, passes, 0.0)
    assert scan.pages_read_last_pass == truth["pages_read_per_pass"][-1]


def test_the_last_pass_shows_that_a_table_is_cached_by_now() -> None:
    [scan] = facts_of("mariadb-10.11/repeated-scan").lists["scans"]
    assert scan.pages_read_per_pass > 900
    assert scan.pages_read_last_pass == 0.0


def test_a_pass_under_way_at_the_end_of_the_window_is_none() -> None:
    truth = shown("mysql-9.7/tpch-reports")
    scan = next(scan for scan in facts_of("mysql-9.7/tpch-reports").lists["scans"] if scan.table == "lineitem")
    assert scan.passes == pytest.approx(truth["passes"], rel=0.01)
    assert scan.pages_read_last_pass == pytest.approx(truth["pages_read_per_pass"], rel=0.1)


@pytest.mark.parametrize("rows", [ROWS, round(0.9 * ROWS), round(1.1 * ROWS)])
@pytest.mark.parametrize("end", [40, 50, 60, 70])
def test_a_scan_whose_rows_are_counted_when_it_ends_has_all_its_reads(end: int, rows: int) -> None:
    """Scans of 30 s that read 9,000 pages; the rows in the statistics may be wrong by a tenth."""
    sizes = IndexSizes({CLUSTERED: IndexSize(11_400, 11_350, rows)}, 0)
    scan = scan_of(*(scanned(at, at // 30, 300 * at, index_sizes=sizes) for at in range(0, end + 31, 10)))
    assert scan is not None
    assert scan.pages_read_last_pass == pytest.approx(9_000 * rows / ROWS)


@pytest.mark.parametrize("name", ["mysql-9.7/shared-scan", "mysql-8.0/shared-scan", "mariadb-11.8/shared-scan"])
def test_sessions_that_scan_side_by_side_share_a_reading(name: str) -> None:
    [scan] = facts_of(name).lists["scans"]
    assert scan.passes == pytest.approx(15, rel=0.01)
    assert scan.sharers == pytest.approx(3, rel=0.25)
    assert scan.pages_read_last_pass * scan.sharers == pytest.approx(scan.pages)


@pytest.mark.parametrize(
    "name",
    ["mysql-9.7/tpch-reports", "mysql-9.7/time-zero-pollutes-followed", "mysql-8.0/time-zero-pollutes-followed"],
)
def test_a_single_session_that_finds_a_part_of_the_table_in_the_pool_shares_nothing(name: str) -> None:
    for scan in facts_of(name).lists["scans"]:
        assert scan.sharers == 1.0, scan.table


@pytest.mark.parametrize(
    ("read", "young", "sharers"),
    [
        (5_700, 10_000, 2.0),
        (7_125, 10_000, 1.0),  # the young sublists keep the rest
        (7_125, 4_000, 1.6),  # which they cannot hold
        (9_000, 1_000, 1.0),
        (1_000, 1_000, 1.0),
        (0, 1_000, 1.0),
    ],
)
def test_a_scan_that_reads_nearly_all_or_hardly_anything_shares_nothing(read: int, young: int, sharers: float) -> None:
    pools = (pool(database_pages=16_300, old_pages=16_300 - young),)
    first, last = (scanned(10 + 10 * passes, passes, passes * read, pools=pools) for passes in (0, 1))
    scan = scan_of(first, last)
    assert scan is not None
    assert scan.sharers == sharers


def test_without_performance_schema_no_scan_is_known() -> None:
    assert facts_of("mariadb-11.8/idle").lists["scans"] == []


def test_a_partial_scan_counts_in_part() -> None:
    scan = scan_of(scanned(10, passes=0, pages_read=0), scanned(20, passes=0.25, pages_read=2_850))
    assert scan is not None
    assert (scan.passes, scan.pages_read, scan.pages_read_per_pass) == (0.25, 2_850.0, 11_400.0)


def test_a_table_without_scans_is_not_in_the_list() -> None:
    assert scan_of(scanned(10, passes=3, pages_read=9), scanned(20, passes=3, pages_read=9)) is None


def test_a_scan_whose_file_is_not_known_has_no_pages_read() -> None:
    scan = scan_of(scanned(10, 1, 0, table_files={}), scanned(20, 3, 0, table_files={}))
    assert scan is not None
    assert (scan.passes, scan.pages_read, scan.pages_read_per_pass) == (2.0, None, None)


@pytest.mark.parametrize("sizes", [{CLUSTERED: IndexSize(100, 90, None)}, {}])
def test_passes_of_a_table_without_row_statistics_are_not_known(
    sizes: dict[Index, IndexSize],
) -> None:
    known = IndexSizes(sizes, 0)
    scan = scan_of(scanned(10, 1, 0, index_sizes=known), scanned(20, 3, 0, index_sizes=known))
    assert scan is not None
    assert scan.passes is None


def test_a_table_that_may_be_one_of_the_small_ones_is_left_out() -> None:
    rest = IndexSizes({}, other_pages=500)
    assert scan_of(scanned(10, 1, 0, index_sizes=rest), scanned(20, 3, 0, index_sizes=rest)) is None


def test_reads_for_other_tables_are_separate() -> None:
    first = scanned(10, 0, 0, pools=(pool(pages_read=1_000),))
    last = scanned(20, 2, 100, pools=(pool(pages_read=1_700),))
    scan = scan_of(first, last)
    assert scan is not None
    assert (scan.pages_read_per_pass, scan.other_pages_read_per_pass) == (50, 300)


def counts(executions: int, rows_examined: int = 0, forced: int = 0) -> dict[Any, CountStatement]:
    return {ORDERS: CountStatement(executions, 0.0, rows_examined, forced)}


def counted(
    version: str, sizes: IndexSizes | None = None, rows_fetched: int = 0, threads: str = "4", **last: Any
) -> tuple[float | None, float | None] | None:
    """Serial and parallel passes of two COUNT(*) on a server of this version."""
    more = {"of": server(version), "variables": variables(innodb_parallel_read_threads=threads)}
    more |= {"index_sizes": sizes} if sizes else {}
    scan = scan_of(
        scanned(10, 0, 0, count_statements=counts(0), **more),
        scanned(20, rows_fetched / ROWS, 0, count_statements=counts(2, **last), **more),
    )
    return None if scan is None else (scan.serial_passes, scan.parallel_passes)


BOTH = IndexSizes({CLUSTERED: IndexSize(11_400, 11_350, ROWS), SECONDARY: IndexSize(300, 290, None)}, 0)


def test_a_count_is_parallel_only_on_servers_with_parallel_readers() -> None:
    assert counted("8.0.14") == (0.0, 2.0)
    assert counted("9.7.4", threads="1") == (2.0, 0.0)
    assert counted("8.0.13") == (2.0, 0.0)
    assert counted("5.7.44") == (2.0, 0.0)
    assert counted("10.11.6-MariaDB") == (2.0, 0.0)


@pytest.mark.parametrize(("version", "unknown"), [("8.0.14", True), ("8.0.16", True), ("8.0.17", False)])
def test_reads_of_parallel_readers_that_nobody_counts_are_not_known(version: str, *, unknown: bool) -> None:
    more = {"of": server(version), "variables": variables(innodb_parallel_read_threads="4")}
    window = (
        scanned(10, 0, 500, count_statements=counts(0), **more),
        scanned(20, 0, 900, count_statements=counts(2), **more),
    )
    known = facts.facts(Window(window))
    [scan] = known.lists["scans"]
    assert scan.parallel_passes == 2.0
    reads = (scan.pages_read, scan.pages_read_per_pass, scan.pages_read_last_pass, scan.read_seconds)
    assert (reads == (None,) * 4) == unknown
    assert (known.pool.read_by_scans is None) == unknown


def test_scans_of_a_table_that_digests_do_not_name_are_not_known() -> None:
    long = Table("shop", "表" * 48)
    sizes = {
        Index("shop", long.table, "PRIMARY"): IndexSize(11_400, 11_350, ROWS, (), 8192),
        CLUSTERED: IndexSize(11_400, 11_350, ROWS),
    }
    cut = {Table("shop", CUT): CountStatement(7, 0.0, 0, 0)}
    window = Window(tuple(scanned(n, 0, 0, count_statements=cut, index_sizes=IndexSizes(sizes, 0)) for n in (10, 20)))
    known = facts.facts(window)
    assert [(scan.table, scan.passes) for scan in known.lists["scans"]] == [(long.table, None)]
    [counted] = known.lists["counted"]
    assert (counted.table, counted.counts, counted.bytes) == (long.table, None, 11_400 * 8192.0)


def test_a_count_that_table_io_shows_too_is_not_counted_twice() -> None:
    assert counted("11.8.6-MariaDB", rows_fetched=2 * ROWS, rows_examined=2 * ROWS) == (2.0, 0.0)


def test_a_scan_beside_counts_is_a_separate_pass() -> None:
    assert counted("9.7.4", rows_fetched=ROWS) == (1.0, 2.0)
    assert counted("10.11.6-MariaDB", rows_fetched=ROWS) == (3.0, 0.0)
    assert counted("11.8.6-MariaDB", rows_fetched=3 * ROWS, rows_examined=2 * ROWS) == (3.0, 0.0)


def test_a_count_reads_the_secondary_index_if_there_is_one() -> None:
    assert counted("9.7.4", BOTH) is None
    assert counted("8.0.16", BOTH) is None
    assert counted("10.11.6-MariaDB", BOTH) is None


def test_from_8_0_17_to_8_0_36_a_count_reads_the_clustered_index() -> None:
    assert counted("8.0.17", BOTH) == (0.0, 2.0)
    assert counted("8.0.36", BOTH) == (0.0, 2.0)
    assert counted("8.0.37", BOTH) is None


def test_a_count_with_a_forced_primary_key_reads_the_clustered_index() -> None:
    assert counted("9.7.4", BOTH, forced=2) == (0.0, 2.0)
    assert counted("9.7.4", BOTH, forced=1) is None


def test_the_list_is_ordered_by_scanned_pages() -> None:
    names = ("a", "b", "c")
    sizes = IndexSizes({Index("s", n, "PRIMARY"): IndexSize(100 * k, 90, 1_000) for k, n in enumerate(names, 1)}, 0)

    def at(seconds: float, passes: int) -> Any:
        rows = {Table("s", n): passes * 1_000 for n in names}
        return scanned(seconds, 0, 0, index_sizes=sizes, table_scans=rows)

    scans = facts.facts(Window((at(10, 0), at(20, 2)))).lists["scans"]
    assert [scan.table for scan in scans] == ["c", "b", "a"]


K1, K2 = Index("shop", "orders", "k1"), Index("shop", "orders", "k2")


def by_index(passes: dict[Index, int], pages_read: int) -> ScanFacts:
    """The scan of a table whose indexes were read in the order of their keys, by so many statements each."""
    sizes = IndexSizes(
        {
            CLUSTERED: IndexSize(11_400, 11_350, ROWS),
            K1: IndexSize(530, 520, None),
            K2: IndexSize(510, 500, None, (), 8_192),
        },
        0,
    )

    def at(seconds: float, times: int) -> Any:
        io = {index: IndexIo(times * many * ROWS, 0, 0, 0, 0.0, 0.0) for index, many in passes.items()}
        return scanned(
            seconds,
            0,
            times * pages_read,
            index_sizes=sizes,
            table_io=io,
            table_statements={ORDERS: times * sum(passes.values())},
        )

    scan = scan_of(*(at(10.0 * times, times) for times in range(3)))
    assert scan is not None
    return scan


def test_indexes_that_are_scanned_as_often_are_one_scan() -> None:
    scan = by_index({K1: 1, K2: 1}, pages_read=1_040)
    assert scan.what == "k1 and k2 of shop.orders"
    assert (scan.pages, scan.leaf_pages) == (1_040, 1_020)
    assert scan.bytes == 530 * 16_384 + 510 * 8_192
    assert scan.passes == scan.ordered_passes == pytest.approx(2.0, rel=0.001)
    assert scan.pages_read_per_pass == pytest.approx(1_040, rel=0.001)
    assert scan.pages_read_last_pass == pytest.approx(1_040, rel=0.001)
    assert scan.sharers == 1.0


def test_an_index_that_is_scanned_less_often_is_not_of_the_scan() -> None:
    assert by_index({K1: 2, K2: 3}, 2_590).pages == 1_040
    scan = by_index({K1: 1, K2: 3}, 2_060)
    assert (scan.what, scan.pages) == ("k2 of shop.orders", 510)


def test_the_rows_belong_to_the_scan_if_they_are_scanned_as_often() -> None:
    scan = by_index({CLUSTERED: 1, K1: 1}, 11_930)
    assert (scan.what, scan.pages) == ("shop.orders with its index k1", 11_930)
    assert scan.pages_read_last_pass == pytest.approx(11_930, rel=0.001)


def test_pages_that_are_created_beside_a_scan_are_counted() -> None:
    first, last = (scanned(10.0 * n, n, 100 * n, pools=(pool(pages_created=900 * n),)) for n in (1, 4))
    scan = scan_of(first, last)
    assert scan is not None
    assert scan.pages_created_per_pass == 900
