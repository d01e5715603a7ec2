"""Scenarios of repeated scans, in pools that hold the table and pools that do not."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import pymysql

from exporter.snapshot import Table
from lab.captures.checks import grading, scans
from lab.captures.scenarios.base import (
    DEFAULT_POOL,
    MARIADB,
    MYSQL,
    OBSERVABLE,
    CaptureScenario,
    Step,
    cold,
    execute_on,
)
from lab.harness.workloads import (
    SCHEMA,
    count,
    emptied,
    look_up,
    make_emptied_table,
    make_indexed_table,
    make_outgrown_table,
    read_in_batches,
    read_ranges,
    scan,
    scan_index,
)
from lab.servers import Server
from lab.servers.sql import execute

SCANNED, OTHER, HOT = "orders", "archive", "items"
SCANNED_TABLE = Table(SCHEMA, SCANNED)
# Pages of the tables for each 128 MiB of the pool, which are 8,191 pages:
SCANNED_PAGES = 4600  # one and a half times the old sublist at 37 %, 56 % of the pool
OTHER_PAGES = 9000  # more than the pool
SMALL_PAGES = 1500  # half the old sublist
SHARED_PAGES = 2700  # in a pool of 4,095
SESSIONS = 3
EMPTIED_PAGES = 400
MIDWAY = 26  # of 50 passes
PASS_SECONDS = 1.4  # longer than innodb_old_blocks_time, so that a pass could make pages young

# MySQL 9.7 sometimes refills its free list to innodb_lru_scan_depth (1,024 pages) between two passes. From then on
# about 600 more pages of the table stay (observed): too many for a pool of 128 MiB, few for a larger one.
LARGER_POOL = {"innodb-buffer-pool-size": "256M"}

# A pool of 3,071 pages that can grow in small steps, with a short free list.
SMALL_POOL = {"innodb-buffer-pool-size": "48M", "innodb-lru-scan-depth": "100"}
IN_STEPS = {"mysql-9.7": SMALL_POOL | {"innodb-buffer-pool-chunk-size": "8M"}, "mysql-5.6": SMALL_POOL}
TOO_LARGE_PAGES = 3600
HOT_PAGES = 4000
FULL_POOL = {"innodb-buffer-pool-size": "64M", "innodb-lru-scan-depth": "100", "performance-schema": "ON"}
PROMOTING = {"innodb-buffer-pool-size": "64M", "innodb-lru-scan-depth": "100", "innodb-old-blocks-time": "0"}


@contextmanager
def repeated_scan(server: Server) -> Iterator[Step]:
    """One serial full scan of shop.orders between two collections, from the first one on.

    Before that the pool was emptied by a restart and filled by a scan of shop.archive.
    """
    with cold(server, {SCANNED: SCANNED_PAGES, OTHER: OTHER_PAGES}) as connection:
        scan(connection, OTHER)
        yield partial(scan, connection, SCANNED)


@contextmanager
def repeated_scan_followed(server: Server) -> Iterator[Step]:
    """As repeated-scan, after SET GLOBAL innodb_old_blocks_pct = 80 and two passes."""
    with repeated_scan(server) as step, server.connect() as connection:
        execute_on(connection, "SET GLOBAL innodb_old_blocks_pct = 80")
        for _ in range(2):
            step()
            time.sleep(PASS_SECONDS)
        yield step


@contextmanager
def shared_scan(server: Server) -> Iterator[Step]:
    """Three sessions that begin a serial full scan of shop.orders at the same time, between two collections.

    Before that the pool was emptied by a restart and filled by a scan of shop.archive.
    """
    with emptied(server, {SCANNED: SHARED_PAGES, OTHER: 3000}) as connection:
        scan(connection, OTHER)
        with ThreadPoolExecutor(SESSIONS) as sessions, ExitStack() as opened:
            connections = [opened.enter_context(server.connect()) for _ in range(SESSIONS)]

            def scan_together() -> None:
                wait([sessions.submit(scan, each, SCANNED) for each in connections])

            yield scan_together


@contextmanager
def shared_scan_followed(server: Server) -> Iterator[Step]:
    """As shared-scan, after SET GLOBAL innodb_old_blocks_pct = 75 and two rounds."""
    with shared_scan(server) as step:
        _set(server, "innodb_old_blocks_pct = 75")
        for _ in range(2):
            step()
            time.sleep(PASS_SECONDS)
        yield step


@contextmanager
def scan_followed_midway(server: Server) -> Iterator[Step]:
    """As repeated-scan, of a table of 2,700 pages.

    Half-way SET GLOBAL innodb_old_blocks_pct = 73 is executed, as scan-exceeds-old-sublist advises by then.
    """
    with emptied(server, {SCANNED: SHARED_PAGES, OTHER: 3000}) as connection:
        scan(connection, OTHER)
        passes = itertools.count(1)

        def step() -> None:
            if next(passes) == MIDWAY:
                _set(server, "innodb_old_blocks_pct = 73")
            scan(connection, SCANNED)

        yield step


@contextmanager
def batches(server: Server) -> Iterator[Step]:
    """All rows of shop.orders by the primary key, 1,000 with each statement, between two collections.

    In between 300 lookups in shop.items, on 600 pages. Before that the pool was emptied by a restart and filled by a
    scan of shop.archive.
    """
    with emptied(server, {SCANNED: SHARED_PAGES, OTHER: 3000, HOT: 600}) as connection:
        scan(connection, OTHER)

        def step() -> None:
            read_in_batches(connection, SCANNED)
            look_up(connection, HOT, 600, 300)

        step()
        yield step


@contextmanager
def batches_followed(server: Server) -> Iterator[Step]:
    """As batches, after SET GLOBAL innodb_old_blocks_pct = 75 and eight rounds."""
    with batches(server) as step:
        _set(server, "innodb_old_blocks_pct = 75")
        for _ in range(8):
            step()
            time.sleep(PASS_SECONDS)
        yield step


@contextmanager
def secondary_scan(server: Server) -> Iterator[Step]:
    """A scan of shop.orders by its index k1, which holds all that the statement needs, between two collections.

    Before that the pool was emptied by a restart and filled by a scan of shop.archive.
    """
    with server.connect() as connection:
        make_indexed_table(connection, SCANNED, 900_000, indexes=1)
    with emptied(server, {OTHER: 3000}) as connection:
        scan(connection, OTHER)
        yield partial(scan_index, connection, SCANNED)


@contextmanager
def random_ranges(server: Server) -> Iterator[Step]:
    """Between two collections 300 ranges of 100 rows of shop.items, at random over 5,000 pages; 1,500 before."""
    with emptied(server, {HOT: 5000}) as connection:
        read_ranges(connection, HOT, 5000, 1500)
        yield partial(read_ranges, connection, HOT, 5000, 300)


@contextmanager
def outdated_statistics(server: Server) -> Iterator[Step]:
    """As repeated-scan, of a table that has grown tenfold since its statistics were made."""
    with server.connect() as connection:
        make_outgrown_table(connection, SCANNED, SHARED_PAGES)
    with emptied(server, {OTHER: 3000}) as connection:
        scan(connection, OTHER)
        scan(connection, SCANNED)
        yield partial(scan, connection, SCANNED)


@contextmanager
def outdated_statistics_followed(server: Server) -> Iterator[Step]:
    """As outdated-statistics, after ANALYZE TABLE."""
    with outdated_statistics(server) as step:
        execute(server, f"ANALYZE TABLE {SCHEMA}.{SCANNED}")
        yield step


@contextmanager
def emptied_file(server: Server) -> Iterator[Step]:
    """As repeated-scan, of a table that has had ten times as many rows; its file is as large as it was."""
    with server.connect() as connection:
        make_emptied_table(connection, SCANNED, EMPTIED_PAGES)
    with emptied(server, {OTHER: 3000}) as connection:
        execute(server, f"ANALYZE TABLE {SCHEMA}.{SCANNED}")
        scan(connection, OTHER)
        yield partial(scan, connection, SCANNED)


@contextmanager
def scan_fits_free_pages(server: Server) -> Iterator[Step]:
    """One serial full scan of shop.orders between two collections, from the first one on, in an empty pool."""
    with cold(server, {SCANNED: SCANNED_PAGES}) as connection:
        yield partial(scan, connection, SCANNED)


@contextmanager
def small_table_scan(server: Server) -> Iterator[Step]:
    """As repeated-scan, of a table that is smaller than the old sublist."""
    with cold(server, {SCANNED: SMALL_PAGES, OTHER: OTHER_PAGES}) as connection:
        scan(connection, OTHER)
        yield partial(scan, connection, SCANNED)


@contextmanager
def parallel_count(server: Server) -> Iterator[Step]:
    """As repeated-scan, by SELECT COUNT(*) on four threads."""
    with cold(server, {SCANNED: SCANNED_PAGES, OTHER: OTHER_PAGES}) as connection:
        scan(connection, OTHER)
        yield partial(count, connection, SCANNED)


@contextmanager
def scan_exceeds_pool(server: Server) -> Iterator[Step]:
    """One serial full scan of shop.orders, which is larger than the pool, between two collections.

    Before that the pool was emptied by a restart and filled by a scan of shop.archive.
    """
    with emptied(server, {SCANNED: TOO_LARGE_PAGES, OTHER: 3400}) as connection:
        scan(connection, OTHER)
        yield partial(scan, connection, SCANNED)


@contextmanager
def count_exceeds_pool(server: Server) -> Iterator[Step]:
    """As scan-exceeds-pool, by SELECT COUNT(*) on four threads."""
    with emptied(server, {SCANNED: TOO_LARGE_PAGES, OTHER: 3400}) as connection:
        scan(connection, OTHER)
        yield partial(count, connection, SCANNED)


@contextmanager
def scan_exceeds_pool_followed(server: Server) -> Iterator[Step]:
    """As scan-exceeds-pool, after SET GLOBAL innodb_buffer_pool_size = 100663296 and two passes."""
    with scan_exceeds_pool(server) as step:
        _set(server, "innodb_buffer_pool_size = 100663296")
        time.sleep(PASS_SECONDS)  # the resize continues after the statement
        for _ in range(2):
            step()
            time.sleep(PASS_SECONDS)
        yield step


@contextmanager
def time_zero_pollutes(server: Server) -> Iterator[Step]:
    """Between two collections a serial full scan of shop.archive, larger than the pool, and lookups in shop.items.

    These are two bursts of 1,500 on 1,200 pages, which are read anew after each scan, since innodb_old_blocks_time is
    0. It has gone on for three rounds.
    """
    with emptied(server, {OTHER: 5000, HOT: 1200}) as connection:
        yield from _scans_and_lookups(connection, 3)


@contextmanager
def time_zero_pollutes_followed(server: Server) -> Iterator[Step]:
    """As time-zero-pollutes, after SET GLOBAL innodb_old_blocks_time = 1000 and three rounds more."""
    with time_zero_pollutes(server) as step:
        _set(server, "innodb_old_blocks_time = 1000")
        for _ in range(3):
            step()
        yield step


@contextmanager
def time_zero_keeps(server: Server) -> Iterator[Step]:
    """One serial full scan of shop.orders, larger than the old sublist, between two collections.

    Before that the pool was filled by a scan of shop.archive. As innodb_old_blocks_time is 0, the table is cached from
    the third pass on.
    """
    with emptied(server, {SCANNED: 2700, OTHER: 3000}) as connection:
        scan(connection, OTHER)
        yield partial(scan, connection, SCANNED)


@contextmanager
def hot_set_exceeds_pool(server: Server) -> Iterator[Step]:
    """1,500 lookups in shop.items, uniform over 4,000 pages, between two collections; 30,000 before."""
    with emptied(server, {HOT: HOT_PAGES}) as connection:
        look_up(connection, HOT, HOT_PAGES, 30_000, seed=1)
        yield partial(look_up, connection, HOT, HOT_PAGES, 1500)


@contextmanager
def hot_set_exceeds_pool_followed(server: Server) -> Iterator[Step]:
    """As hot-set-exceeds-pool, after SET GLOBAL innodb_buffer_pool_size = 67108864 and 24,000 lookups more."""
    with hot_set_exceeds_pool(server) as step, server.connect() as connection:
        _set(server, "innodb_buffer_pool_size = 67108864")
        time.sleep(1.0)
        look_up(connection, HOT, HOT_PAGES, 24_000, seed=2)
        yield step


def _scans_and_lookups(connection: pymysql.Connection[Any], before: int) -> Iterator[Step]:
    def step() -> None:
        scan(connection, OTHER)
        look_up(connection, HOT, 1200, 1500)
        time.sleep(1.1)  # longer than the default of innodb_old_blocks_time, so that the lookups make pages young
        look_up(connection, HOT, 1200, 1500)

    for _ in range(before):
        step()
    yield step


def _set(server: Server, setting: str) -> None:
    with server.connect() as connection:
        execute_on(connection, f"SET GLOBAL {setting}")


SCENARIOS = (
    CaptureScenario(
        "repeated-scan",
        {"mysql-9.7": LARGER_POOL, "mysql-5.6": DEFAULT_POOL} | dict.fromkeys(MARIADB, OBSERVABLE),
        repeated_scan,
        partial(scans.read_each_pass, table=SCANNED_TABLE),
        collections=6,
        period=PASS_SECONDS,
        # From 10.6 on the page cleaner refills the free list, and the table gains pages in the pool at each pass.
        check_of=dict.fromkeys(MARIADB, partial(scans.read_at_first, table=SCANNED_TABLE))
        | {"mysql-5.7": partial(scans.read_on_average, table=SCANNED_TABLE)},
    ),
    CaptureScenario(
        "repeated-scan-followed",
        dict.fromkeys(MYSQL, DEFAULT_POOL),
        repeated_scan_followed,
        partial(scans.held, table=SCANNED_TABLE),
        collections=6,
        period=PASS_SECONDS,
    ),
    CaptureScenario(
        "shared-scan",
        dict.fromkeys(("mysql-9.7", "mariadb-11.8"), FULL_POOL),
        shared_scan,
        partial(scans.shared, table=SCANNED_TABLE, sessions=SESSIONS),
        collections=6,
        period=PASS_SECONDS,
    ),
    CaptureScenario(
        "shared-scan-followed",
        {"mysql-9.7": FULL_POOL},
        shared_scan_followed,
        partial(scans.fits_pool, table=SCANNED_TABLE),
        collections=6,
        period=PASS_SECONDS,
    ),
    CaptureScenario(
        "scan-followed-midway",
        {"mysql-9.7": FULL_POOL},
        scan_followed_midway,
        partial(grading.kept, rule="scan-exceeds-old-sublist"),
        collections=51,
        period=PASS_SECONDS,
        attempts=3,  # the advised value depends on the pages that the page cleaner is seen to keep free
    ),
    CaptureScenario(
        "batches",
        dict.fromkeys(("mysql-9.7", "mysql-5.6", "mariadb-11.8"), FULL_POOL),
        batches,
        partial(scans.read_in_order, table=SCANNED_TABLE),
        collections=6,
        period=PASS_SECONDS,
    ),
    CaptureScenario(
        "batches-followed",
        {"mysql-9.7": FULL_POOL},
        batches_followed,
        partial(scans.fits_pool, table=SCANNED_TABLE),
        collections=6,
        period=PASS_SECONDS,
    ),
    CaptureScenario(
        "secondary-scan",
        {"mysql-9.7": FULL_POOL},
        secondary_scan,
        scans.lookups_read,
        collections=6,
        period=PASS_SECONDS,
    ),
    CaptureScenario(
        "random-ranges",
        {"mysql-9.7": FULL_POOL | {"innodb-buffer-pool-chunk-size": "8M"}},
        random_ranges,
        scans.lookups_read,
        collections=6,
        period=PASS_SECONDS,
    ),
    CaptureScenario(
        "outdated-statistics",
        dict.fromkeys(("mysql-9.7", "mariadb-11.8"), FULL_POOL),
        outdated_statistics,
        partial(scans.outgrown, table=SCANNED_TABLE),
        collections=6,
        period=PASS_SECONDS,
    ),
    CaptureScenario(
        "outdated-statistics-followed",
        {"mysql-9.7": FULL_POOL},
        outdated_statistics_followed,
        scans.lookups_read,
        collections=6,
        period=PASS_SECONDS,
    ),
    CaptureScenario(
        "emptied-file",
        {"mariadb-11.8": FULL_POOL},
        emptied_file,
        partial(scans.in_a_large_file, table=SCANNED_TABLE),
        collections=6,
        period=PASS_SECONDS,
    ),
    CaptureScenario(
        "scan-fits-free-pages",
        {"mysql-9.7": DEFAULT_POOL},
        scan_fits_free_pages,
        partial(scans.fits_free_pages, table=SCANNED_TABLE),
        collections=6,
        period=PASS_SECONDS,
    ),
    CaptureScenario(
        "small-table-scan",
        {"mysql-9.7": DEFAULT_POOL},
        small_table_scan,
        partial(scans.fits_old_sublist, table=SCANNED_TABLE),
        collections=6,
        period=PASS_SECONDS,
    ),
    CaptureScenario(
        "parallel-count",
        {"mysql-9.7": LARGER_POOL | {"innodb-parallel-read-threads": "4"}},
        parallel_count,
        partial(scans.parallel_reads, table=SCANNED_TABLE),
        collections=8,
        period=PASS_SECONDS + 0.13,  # not a multiple of the light samples' 0.2 s, which could miss every read
        # Four readers sometimes wake the page cleaner. Its refills of the free list let part of the table stay:
        # observed in one of four captures, with passes that read only a third of the table.
        attempts=3,
    ),
    CaptureScenario(
        "scan-exceeds-pool",
        IN_STEPS,
        scan_exceeds_pool,
        partial(scans.exceeds_pool, table=SCANNED_TABLE),
        collections=6,
        period=PASS_SECONDS,
    ),
    CaptureScenario(
        "count-exceeds-pool",
        {"mysql-9.7": IN_STEPS["mysql-9.7"] | {"innodb-parallel-read-threads": "4"}},
        count_exceeds_pool,
        partial(scans.exceeds_pool, table=SCANNED_TABLE),
        collections=6,
        period=PASS_SECONDS,
    ),
    CaptureScenario(
        "scan-exceeds-pool-followed",
        {"mysql-9.7": IN_STEPS["mysql-9.7"]},
        scan_exceeds_pool_followed,
        partial(scans.fits_pool, table=SCANNED_TABLE),
        collections=6,
        period=PASS_SECONDS,
    ),
    CaptureScenario(
        "time-zero-pollutes",
        dict.fromkeys(MYSQL, PROMOTING),
        time_zero_pollutes,
        partial(scans.promoted, table=Table(SCHEMA, OTHER), hot=Table(SCHEMA, HOT)),
        collections=6,
        period=2.4,
    ),
    CaptureScenario(
        "time-zero-pollutes-followed",
        {"mysql-9.7": PROMOTING},
        time_zero_pollutes_followed,
        partial(scans.not_promoted, hot=Table(SCHEMA, HOT)),
        collections=6,
        period=2.4,
    ),
    CaptureScenario(
        "time-zero-keeps",
        {"mysql-9.7": PROMOTING},
        time_zero_keeps,
        partial(scans.kept, table=SCANNED_TABLE),
        collections=7,
        period=1.0,
    ),
    CaptureScenario(
        "hot-set-exceeds-pool",
        IN_STEPS,
        hot_set_exceeds_pool,
        scans.lookups_read,
        collections=6,
        period=1.0,
    ),
    CaptureScenario(
        "hot-set-exceeds-pool-followed",
        {"mysql-9.7": IN_STEPS["mysql-9.7"]},
        hot_set_exceeds_pool_followed,
        scans.lookups_do_not_read,
        collections=6,
        period=1.0,
    ),
)
