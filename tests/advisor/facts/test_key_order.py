"""Indexes that are read in the order of their keys are told from those that rows are looked up by."""

from __future__ import annotations

from typing import Any

import pytest

from advisor.facts.key_order import read_in_order, rows_in_order
from advisor.observe.window import Window
from exporter.collectors.data_files import FileReads
from exporter.collectors.table_io import IndexIo
from exporter.snapshot import Index, Table
from tests.advisor.building import ORDERS, ROWS, captured, pool, scanned
from tests.advisor.facts.capture_facts import facts_of

PRIMARY = Index("shop", "orders", "PRIMARY")


@pytest.mark.parametrize("name", ["mysql-9.7/batches", "mysql-5.6/batches", "mariadb-11.8/batches"])
def test_batches_by_the_primary_key_are_scans(name: str) -> None:
    assert read_in_order(captured(name)) == {PRIMARY}
    of_batches = facts_of(name)
    [scan] = of_batches.lists["scans"]
    assert scan.ordered_passes == scan.passes == pytest.approx(5, rel=0.02)
    assert (scan.what, scan.table) == ("shop.orders", "orders")
    assert of_batches.pool.read_by_scans == pytest.approx(0.9, abs=0.1)


def test_a_scan_of_a_secondary_index_has_that_indexs_size() -> None:
    [scan] = facts_of("mysql-9.7/secondary-scan").lists["scans"]
    assert scan.what == "k1 of shop.orders"
    assert scan.passes == pytest.approx(5, rel=0.01)
    assert 2_000 < scan.leaf_pages < scan.pages < 2_600


def test_random_ranges_are_no_scan() -> None:
    of_batches = facts_of("mysql-9.7/random-ranges")
    assert of_batches.lists["scans"] == []
    assert of_batches.pool.read_by_scans == 0.0


def at(seconds: float, fetched: int, statements: int, read: int, ahead: int, **more: Any) -> Any:
    known = {
        "pools": (pool(size_pages=16_382, pages_read=read, read_ahead=ahead),),
        "table_io": {PRIMARY: IndexIo(fetched, 0, 0, 0, 0.0, 0.0)},
        "table_statements": {ORDERS: statements},
    }
    return scanned(seconds, 0, read, **(known | more))


def in_order(fetched: int, statements: int, read: int, ahead: int, **more: Any) -> bool:
    return bool(read_in_order(Window((at(10, 0, 0, 0, 0), at(20, fetched, statements, read, ahead, **more)))))


def test_a_row_for_each_statement_is_a_lookups() -> None:
    window = Window((at(10, 0, 0, 0, 0), at(20, 5_000, 3_000, 0, 0)))
    assert rows_in_order(window, PRIMARY) == 2_000
    assert not in_order(5_000, 5_000, read=4_000, ahead=4_000)


def test_read_ahead_shows_reads_in_order() -> None:
    assert in_order(ROWS, 100, read=10_000, ahead=5_000)
    assert not in_order(ROWS, 100, read=10_000, ahead=4_900)


def test_read_ahead_of_a_full_scan_shows_nothing_of_another_table() -> None:
    other = Table("shop", "archive")
    beside = {
        "table_scans": {other: 1_000},
        "table_files": {ORDERS: FileReads(10_000, 0, 0.0), other: FileReads(8_000, 0, 0.0)},
    }
    assert not in_order(ROWS, 100, read=10_000, ahead=8_000, **beside)
    assert in_order(ROWS, 100, read=10_000, ahead=13_000, **beside)


def test_a_statement_that_fetches_a_tenth_of_all_rows_reads_in_order() -> None:
    assert in_order(ROWS // 4, 2, read=0, ahead=0)
    assert not in_order(ROWS // 11, 1, read=0, ahead=0)


def test_without_statements_nothing_is_known() -> None:
    first, last = (at(seconds, ROWS * seconds, 1, 0, 0, table_statements=None) for seconds in (1, 2))
    assert rows_in_order(Window((first, last)), PRIMARY) is None
    assert not read_in_order(Window((first, last)))
