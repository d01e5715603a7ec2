"""Scenarios of COUNT(*) of whole tables: through the clustered index or a smaller one, from disk or from memory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pymysql

from exporter.snapshot import Table
from lab.captures.checks import counts, scans
from lab.captures.scenarios.base import DEFAULT_POOL, LITTLE, OBSERVABLE, CaptureScenario, Step, cold, execute_on
from lab.captures.scenarios.scans import LARGER_POOL, OTHER, OTHER_PAGES, PASS_SECONDS, SCANNED, SCANNED_PAGES
from lab.harness.workloads import SCHEMA, count, make_table, scan
from lab.servers import Server

COUNTED = Table(SCHEMA, "orders")
COUNTED_PAGES = 1500
SMALL_PAGES = 300
SCATTERED = Table(SCHEMA, "scattered")
SCATTERED_ROWS = 50_000
_LARGEST_KEY = 2**32


def make_scattered_table(connection: pymysql.Connection[Any], table: str, rows: int) -> None:
    """Create a table whose rows were inserted in random key order, about eight a page.

    Its pages are in random order, too: linear read-ahead has nothing to read.
    """
    multiplier = 2_654_435_761  # odd, so that no key comes twice
    execute_on(connection, f"CREATE DATABASE IF NOT EXISTS {SCHEMA}")
    execute_on(
        connection,
        f"CREATE TABLE {SCHEMA}.{table} (id BIGINT NOT NULL PRIMARY KEY,"
        " filler VARCHAR(1400) CHARACTER SET latin1 NOT NULL) ENGINE=InnoDB",
    )
    for first in range(0, rows, 500):
        keys = ((n * multiplier) % _LARGEST_KEY for n in range(first + 1, min(first + 500, rows) + 1))
        values = ", ".join(f"({key}, REPEAT('x', 1400))" for key in keys)
        execute_on(connection, f"INSERT INTO {SCHEMA}.{table} VALUES {values}")
    execute_on(connection, f"ANALYZE TABLE {SCHEMA}.{table}")


@contextmanager
def counting_without_index(server: Server) -> Iterator[Step]:
    """One SELECT COUNT(*) of shop.orders, which has no secondary index, between two collections."""
    with server.connect() as connection:
        make_table(connection, COUNTED.table, COUNTED_PAGES)
        yield partial(count, connection, COUNTED.table)


@contextmanager
def counting_small_table(server: Server) -> Iterator[Step]:
    """As counted-without-index, of a table of 5 MiB."""
    with server.connect() as connection:
        make_table(connection, COUNTED.table, SMALL_PAGES)
        yield partial(count, connection, COUNTED.table)


@contextmanager
def counting_by_index(server: Server) -> Iterator[Step]:
    """As counted-without-index, after ALTER TABLE shop.orders ADD INDEX count_rows (id)."""
    with server.connect() as connection:
        make_table(connection, COUNTED.table, COUNTED_PAGES)
        execute_on(connection, f"ALTER TABLE {SCHEMA}.{COUNTED.table} ADD INDEX count_rows (id)")
        execute_on(connection, f"ANALYZE TABLE {SCHEMA}.{COUNTED.table}")
        yield partial(count, connection, COUNTED.table)


@contextmanager
def counting_beside_index(server: Server) -> Iterator[Step]:
    """One SELECT COUNT(*) of shop.orders, which has a small secondary index, between two collections.

    FORCE INDEX (PRIMARY) makes it do what MySQL 8.0.17 to 8.0.36 do in any case.
    """
    with server.connect() as connection:
        make_table(connection, COUNTED.table, COUNTED_PAGES, indexes=1)
        yield partial(count, connection, COUNTED.table, force_primary=True)


@contextmanager
def parallel_count_followed(server: Server) -> Iterator[Step]:
    """As parallel-count, after SET GLOBAL innodb_old_blocks_pct = 80 and two passes."""
    with cold(server, {SCANNED: SCANNED_PAGES, OTHER: OTHER_PAGES}) as connection:
        scan(connection, OTHER)
        execute_on(connection, "SET GLOBAL innodb_old_blocks_pct = 80")
        for _ in range(2):
            count(connection, SCANNED)
            time.sleep(PASS_SECONDS)
        yield partial(count, connection, SCANNED)


@contextmanager
def counting_in_no_order(server: Server) -> Iterator[Step]:
    """One SELECT COUNT(*) between two collections of shop.scattered, whose pages lie in no order of its keys.

    It is larger than the pool, so that each count reads it from disk.
    """
    with server.connect() as connection:
        make_scattered_table(connection, SCATTERED.table, SCATTERED_ROWS)
        yield partial(count, connection, SCATTERED.table)


@contextmanager
def counting_in_order(server: Server) -> Iterator[Step]:
    """As cold-counts-in-no-order, of a table whose pages lie in the order of its keys: InnoDB reads ahead."""
    with server.connect() as connection:
        make_table(connection, COUNTED.table, 9 * COUNTED_PAGES)
        yield partial(count, connection, COUNTED.table)


SCENARIOS = (
    CaptureScenario(
        "counted-without-index",
        {"mysql-9.7": DEFAULT_POOL, "mysql-5.6": DEFAULT_POOL, "mariadb-10.11": OBSERVABLE},
        counting_without_index,
        partial(counts.counted, table=COUNTED),
        collections=5,
    ),
    CaptureScenario(
        "counted-small-table",
        {"mysql-9.7": DEFAULT_POOL},
        counting_small_table,
        partial(counts.counted, table=COUNTED),
        collections=5,
    ),
    CaptureScenario(
        "counted-by-index",
        {"mysql-9.7": DEFAULT_POOL},
        counting_by_index,
        partial(counts.counted, table=COUNTED, secondary="count_rows"),
        collections=5,
    ),
    CaptureScenario(
        "counted-beside-index",
        {"mysql-9.7": DEFAULT_POOL},
        counting_beside_index,
        partial(counts.counted, table=COUNTED, secondary="k1", forced=True),
        collections=5,
    ),
    CaptureScenario(
        "parallel-count-followed",
        {"mysql-9.7": LARGER_POOL | {"innodb-parallel-read-threads": "4"}},
        parallel_count_followed,
        partial(scans.held, table=Table(SCHEMA, SCANNED)),
        collections=6,
        period=PASS_SECONDS,
    ),
    CaptureScenario(
        "cold-counts-in-no-order",
        {"mysql-9.7": LITTLE | {"innodb-parallel-read-threads": "1"}},
        counting_in_no_order,
        partial(counts.cold_counts, table=SCATTERED, least=0.65),
        collections=8,
        period=1.6,  # more than the ten seconds between two looks at the machine
        attempts=3,
    ),
    CaptureScenario(
        "cold-counts-in-order",
        {"mysql-9.7": {"innodb-buffer-pool-size": "64M", "innodb-parallel-read-threads": "1"}},
        counting_in_order,
        partial(counts.cold_counts, table=COUNTED, most=0.5),
        collections=8,
        period=1.6,
        attempts=3,
    ),
)
