"""Repeated scans and lookups, in pools that hold the table and pools that do not."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import pymysql

from advisor.advice.replay import Replaying
from advisor.ledger.entry import Result
from advisor.ledger.ledger import Ledger
from advisor.rules.rulebook import Rulebook
from exporter.collectors.count_statements import COUNT_STATEMENTS
from exporter.collectors.file_sizes import FILE_SIZES
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.parallel_readers import PARALLEL_READERS
from exporter.collectors.table_files import TABLE_FILES
from exporter.collectors.table_scans import TABLE_SCANS
from exporter.midpoint import old_target
from exporter.snapshot import Index, Table
from lab.captures.scenarios.base import (
    DEFAULT_POOL,
    HARDLY,
    MARIADB,
    MOST,
    MYSQL,
    OBSERVABLE,
    AnyWork,
    Check,
    Numbers,
    Snapshots,
    Step,
    Work,
    cold,
    growths,
    in_pools,
    nothing,
    old_target_pages,
    pages_read,
    require,
    scenario,
    table_pages,
)
from lab.harness.measure import repeat
from lab.harness.watch import RULES_FOLDER
from lab.harness.workloads import (
    SCHEMA,
    ask,
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
from lab.programs import go_tpc
from lab.servers import PrivateServer
from lab.servers.sql import execute

SCANNED, OTHER, HOT = "orders", "archive", "items"
SCANNED_TABLE, OTHER_TABLE, HOT_TABLE = (Table(SCHEMA, name) for name in (SCANNED, OTHER, HOT))
# Pages of the tables for each 128 MiB of the pool, which are 8,191 pages:
SCANNED_PAGES = 4600  # one and a half times the old sublist at 37 %, 56 % of the pool
OTHER_PAGES = 9000  # more than the pool
SMALL_PAGES = 1500  # half the old sublist
SHARED_PAGES = 2700  # in a pool of 4,095
FILLING_PAGES = 3000
SESSIONS = 3
EMPTIED_PAGES = 400
MIDWAY = 26  # of 50 passes
LINE_ITEMS = Table(go_tpc.REPORTS_SCHEMA, "lineitem")
REPORTS_SECONDS = 150
GRADED_RULE, GRADED_SECONDS = "scan-exceeds-old-sublist", 8.0
"""Three windows of this length fit on each side of the change."""
PASS_SECONDS = 1.4  # longer than innodb_old_blocks_time, so that a pass could make pages young

# MySQL 9.7 sometimes refills its free list to innodb_lru_scan_depth (1,024 pages) between two passes. From then on
# about 600 more pages of the table stay (observed): too many for a pool of 128 MiB, few for a larger one.
LARGER_POOL = {"innodb-buffer-pool-size": "256M"}
FOUR_READERS = {"innodb-parallel-read-threads": "4"}

# A pool of 3,071 pages that can grow in small steps, with a short free list.
SMALL_POOL = {"innodb-buffer-pool-size": "48M", "innodb-lru-scan-depth": "100"}
IN_STEPS = {"mysql-9.7": SMALL_POOL | {"innodb-buffer-pool-chunk-size": "8M"}, "mysql-5.6": SMALL_POOL}
TOO_LARGE_PAGES = 3600
HOT_PAGES = 4000
FULL_POOL = {"innodb-buffer-pool-size": "64M", "innodb-lru-scan-depth": "100", "performance-schema": "ON"}
FULL_ON_9_7 = {"mysql-9.7": FULL_POOL}
PROMOTING = {"innodb-buffer-pool-size": "64M", "innodb-lru-scan-depth": "100", "innodb-old-blocks-time": "0"}


def passes(
    name: str, options: Mapping[str, Mapping[str, str]], check: Check, **more: Any
) -> Callable[[AnyWork], AnyWork]:
    """A scenario of five passes."""
    return scenario(name, options, check, **{"collections": 6, "period": PASS_SECONDS} | more)


@contextmanager
def _full_of_another(
    server: PrivateServer, pages: int, filling: int = FILLING_PAGES
) -> Iterator[pymysql.Connection[Any]]:
    """The pool was emptied by a restart and filled by a scan of shop.archive."""
    with emptied(server, {SCANNED: pages, OTHER: filling}) as connection:
        scan(connection, OTHER)
        yield connection


def _followed(work: Work, statement: str, times: int, pause: float = PASS_SECONDS) -> Work:
    """The same work, after a statement and so many steps."""

    @contextmanager
    def followed(server: PrivateServer) -> Iterator[Step]:
        with work(server) as step:
            execute(server, statement)
            repeat(step, times, pause)
            yield step

    scenario_name = getattr(work, "__name__", "").replace("_", "-")
    followed.__doc__ = f"As {scenario_name}, after {statement} and {times} steps more."
    return followed


def _passes(snapshots: Snapshots) -> Numbers:
    last = snapshots[-1]
    return {
        "table_pages": table_pages(snapshots, SCANNED_TABLE),
        "pool_pages": in_pools(last, lambda pool: pool.size_pages),
        "old_target_pages": old_target_pages(last),
        "pages_read_per_pass": pages_read(snapshots),
    }


def _hardly_read(pages: int, read: Sequence[int]) -> None:
    require(max(read) <= HARDLY * pages, f"passes read {read} of {pages} pages")


def _larger_than_old_sublist(snapshots: Snapshots, most: float = 0.6) -> int:
    pages, last = table_pages(snapshots, SCANNED_TABLE), snapshots[-1]
    size = in_pools(last, lambda pool: pool.size_pages)
    require(old_target_pages(last) < pages < most * size, f"{pages} pages in a pool of {size}")
    return pages


def _read_once(snapshots: Snapshots) -> Numbers:
    pages, (first, *later) = table_pages(snapshots, SCANNED_TABLE), pages_read(snapshots)
    require(first >= MOST * pages, f"the first pass read {first} of {pages} pages")
    require(max(later) <= HARDLY * pages, f"later passes read {later} of {pages} pages")
    return _passes(snapshots)


def read_each_pass(snapshots: Snapshots) -> Numbers:
    """The table exceeds the old sublist but not the pool, and each pass reads it."""
    pages, read = _larger_than_old_sublist(snapshots), pages_read(snapshots)
    require(min(read) >= MOST * pages, f"passes read {read} of {pages} pages")
    return _passes(snapshots)


def read_at_first(snapshots: Snapshots) -> Numbers:
    """As ``read_each_pass`` for the first pass.

    From 10.6 on MariaDB's page cleaner refills the free list, and the table gains pages in the pool at each pass.
    """
    pages, read = _larger_than_old_sublist(snapshots), pages_read(snapshots)
    require(read[0] >= MOST * pages, f"the first pass read {read[0]} of {pages} pages")
    return _passes(snapshots)


def read_on_average(snapshots: Snapshots) -> Numbers:
    """As ``read_each_pass``, where passes and collections are not in step."""
    pages, sizes = _larger_than_old_sublist(snapshots), snapshots[-1][INDEX_SIZES]
    rows = None if sizes is None else sizes.sizes[Index(SCHEMA, SCANNED, "PRIMARY")].rows
    fetched = [(snapshots[end][TABLE_SCANS] or {})[SCANNED_TABLE] for end in (0, -1)]
    reads = [(snapshots[end][TABLE_FILES] or {})[SCANNED_TABLE].reads for end in (0, -1)]
    require(bool(rows), f"no rows of {SCANNED} are known")
    count = (fetched[1] - fetched[0]) / (rows or 1)
    per_pass = round((reads[1] - reads[0]) / count)
    require(count >= 2 and per_pass >= pages / 2, f"{count:.1f} passes read {per_pass} of {pages} pages each")
    return {"table_pages": pages, "passes": round(count, 1), "pages_read_per_pass": per_pass}


@passes("repeated-scan", {"mysql-9.7": LARGER_POOL, "mysql-5.6": DEFAULT_POOL}, read_each_pass)
@passes("repeated-scan", dict.fromkeys(MARIADB, OBSERVABLE), read_at_first)
@passes("repeated-scan", {"mysql-5.7": DEFAULT_POOL}, read_on_average)
@contextmanager
def repeated_scan(server: PrivateServer) -> Iterator[Step]:
    """One serial full scan of shop.orders between two collections, from the first one on.

    Before that the pool was emptied by a restart and filled by a scan of shop.archive.
    """
    with cold(server, {SCANNED: SCANNED_PAGES, OTHER: OTHER_PAGES}) as connection:
        scan(connection, OTHER)
        yield partial(scan, connection, SCANNED)


def held(snapshots: Snapshots) -> Numbers:
    """No pass reads the table: the old sublist holds it, and would not at the default setting."""
    pages, read, last = table_pages(snapshots, SCANNED_TABLE), pages_read(snapshots), snapshots[-1]
    at_37 = in_pools(last, lambda pool: old_target(pool.database_pages, 37))
    require(pages > at_37, "the table fits the old sublist at 37 %")
    require(pages < old_target_pages(last), "the old sublist doesn't hold the table")
    _hardly_read(pages, read)
    return _passes(snapshots)


passes("repeated-scan-followed", dict.fromkeys(MYSQL, DEFAULT_POOL), held)(
    _followed(repeated_scan, "SET GLOBAL innodb_old_blocks_pct = 80", 2)
)


def shared(snapshots: Snapshots) -> Numbers:
    """Between two collections `SESSIONS` sessions scan the table, and it is read about once."""
    pages, read = table_pages(snapshots, SCANNED_TABLE), pages_read(snapshots)
    require(pages > old_target_pages(snapshots[-1]), "the old sublist holds the table")
    require(pages * MOST <= min(read) <= max(read) <= 1.2 * pages, f"rounds read {read} of {pages} pages")
    return _passes(snapshots) | {"pages_read_per_pass": [round(pages / SESSIONS) for pages in read]}


@passes("shared-scan", dict.fromkeys(("mysql-9.7", "mariadb-11.8"), FULL_POOL), shared)
@contextmanager
def shared_scan(server: PrivateServer) -> Iterator[Step]:
    """Three sessions that begin a serial full scan of shop.orders at the same time, between two collections.

    Before that the pool was emptied by a restart and filled by a scan of shop.archive.
    """
    with (
        _full_of_another(server, SHARED_PAGES),
        ThreadPoolExecutor(SESSIONS) as sessions,
        ExitStack() as stack,
    ):
        connections = [stack.enter_context(server.connect()) for _ in range(SESSIONS)]

        def scan_together() -> None:
            wait([sessions.submit(scan, connection, SCANNED) for connection in connections])

        yield scan_together


def fits_pool(snapshots: Snapshots) -> Numbers:
    """The pool holds the table, and no pass reads it."""
    pages, read = table_pages(snapshots, SCANNED_TABLE), pages_read(snapshots)
    _hardly_read(pages, read)
    return _passes(snapshots)


passes("shared-scan-followed", FULL_ON_9_7, fits_pool)(
    _followed(shared_scan, "SET GLOBAL innodb_old_blocks_pct = 75", 2)
)


def graded(snapshots: Snapshots) -> Numbers:
    """The rule's advice is followed, and its promise is kept."""
    replaying = Replaying(Rulebook(RULES_FOLDER).rule_set, Ledger(window_seconds=GRADED_SECONDS))
    for _ in replaying.replay(snapshots):
        pass
    outcomes = [outcome for outcome in replaying.ledger.outcomes.values() if outcome.rule == GRADED_RULE]
    followed = [outcome for outcome in outcomes if outcome.followed]
    require(len(followed) == 1, f"{len(followed)} followed outcomes of {GRADED_RULE}: {outcomes}")
    [outcome] = followed
    require(outcome.result is Result.KEPT, f"the promise is {outcome.result}: {outcome.why}")
    assert outcome.promise is not None  # noqa: S101 - it was kept
    assert outcome.measured is not None  # noqa: S101 - as before
    return {
        "followed": f"{outcome.promise.setting} = {outcome.promise.to:g}",
        "promised": outcome.promise.predicted,
        "before": round(outcome.measured.before),
        "after": round(outcome.measured.after),
    }


# The advised value depends on the pages that the page cleaner is seen to keep free.
@passes("scan-followed-midway", FULL_ON_9_7, graded, collections=51)
@contextmanager
def scan_followed_midway(server: PrivateServer) -> Iterator[Step]:
    """As repeated-scan, of a table of 2,700 pages.

    Half-way SET GLOBAL innodb_old_blocks_pct = 73 is executed, as scan-exceeds-old-sublist advises by then.
    """
    with _full_of_another(server, SHARED_PAGES) as connection:
        numbers = itertools.count(1)

        def step() -> None:
            if next(numbers) == MIDWAY:
                execute(server, "SET GLOBAL innodb_old_blocks_pct = 73")
            scan(connection, SCANNED)

        yield step


def read_in_order(snapshots: Snapshots) -> Numbers:
    """Each round reads the table, which the old sublist cannot hold, and most of it by read-ahead."""
    pages, read = table_pages(snapshots, SCANNED_TABLE), pages_read(snapshots)
    require(pages > old_target_pages(snapshots[-1]), "the old sublist holds the table")
    require(min(read) >= MOST * pages, f"rounds read {read} of {pages} pages")
    ahead = sum(growths(snapshots, lambda snapshot: in_pools(snapshot, lambda pool: pool.read_ahead)))
    require(ahead >= 0.5 * sum(read), f"read-ahead brought {ahead} of {sum(read)} pages")
    return _passes(snapshots) | {"read_ahead": ahead}


@passes("batches", dict.fromkeys(("mysql-9.7", "mysql-5.6", "mariadb-11.8"), FULL_POOL), read_in_order)
@contextmanager
def batches(server: PrivateServer) -> Iterator[Step]:
    """All rows of shop.orders by the primary key, 1,000 with each statement, between two collections.

    In between 300 lookups in shop.items, on 600 pages. Before that the pool was emptied by a restart and filled by a
    scan of shop.archive.
    """
    with emptied(server, {SCANNED: SHARED_PAGES, OTHER: FILLING_PAGES, HOT: 600}) as connection:
        scan(connection, OTHER)

        def step() -> None:
            read_in_batches(connection, SCANNED)
            look_up(connection, HOT, 600, 300)

        step()
        yield step


passes("batches-followed", FULL_ON_9_7, fits_pool)(_followed(batches, "SET GLOBAL innodb_old_blocks_pct = 75", 8))


def lookups_read(snapshots: Snapshots) -> Numbers:
    """The pool is full and reads pages in every round."""
    read, free = pages_read(snapshots), in_pools(snapshots[-1], lambda pool: pool.free_pages)
    require(free < 200, f"{free} pages are free")
    require(min(read) >= 200, f"rounds read {read} pages")
    return {"pages_read": read}


@passes("secondary-scan", FULL_ON_9_7, lookups_read)
@contextmanager
def secondary_scan(server: PrivateServer) -> Iterator[Step]:
    """A scan of shop.orders by its index k1, which holds all that the statement needs, between two collections.

    Before that the pool was emptied by a restart and filled by a scan of shop.archive.
    """
    with server.connect() as connection:
        make_indexed_table(connection, SCANNED, 900_000, indexes=1)
    with emptied(server, {OTHER: FILLING_PAGES}) as connection:
        scan(connection, OTHER)
        yield partial(scan_index, connection, SCANNED)


@passes("random-ranges", {"mysql-9.7": FULL_POOL | {"innodb-buffer-pool-chunk-size": "8M"}}, lookups_read)
@contextmanager
def random_ranges(server: PrivateServer) -> Iterator[Step]:
    """Between two collections 300 ranges of 100 rows of shop.items, at random over 5,000 pages; 1,500 before."""
    with emptied(server, {HOT: 5000}) as connection:
        read_ranges(connection, HOT, 5000, 1500)
        yield partial(read_ranges, connection, HOT, 5000, 300)


def outgrown(snapshots: Snapshots) -> Numbers:
    """Each pass reads several times as many pages as the statistics say."""
    pages, read = table_pages(snapshots, SCANNED_TABLE), pages_read(snapshots)
    require(min(read) >= 3 * pages, f"passes read {read} of {pages} pages")
    return {"statistics_pages": pages, "pages_read_per_pass": read}


@passes("outdated-statistics", dict.fromkeys(("mysql-9.7", "mariadb-11.8"), FULL_POOL), outgrown)
@contextmanager
def outdated_statistics(server: PrivateServer) -> Iterator[Step]:
    """As repeated-scan, of a table that has grown tenfold since its statistics were made."""
    with server.connect() as connection:
        make_outgrown_table(connection, SCANNED, SHARED_PAGES)
    with emptied(server, {OTHER: FILLING_PAGES}) as connection:
        scan(connection, OTHER)
        scan(connection, SCANNED)
        yield partial(scan, connection, SCANNED)


passes("outdated-statistics-followed", FULL_ON_9_7, lookups_read)(
    _followed(outdated_statistics, f"ANALYZE TABLE {SCHEMA}.{SCANNED}", 0)
)


def in_a_large_file(snapshots: Snapshots) -> Numbers:
    """The table's file has several times as many pages as the table."""
    pages, size = table_pages(snapshots, SCANNED_TABLE), (snapshots[-1][FILE_SIZES] or {}).get(SCANNED_TABLE, 0)
    page_bytes = int(snapshots[-1].setting("innodb_page_size") or 0)
    require(size >= 5 * pages * page_bytes, f"{size} bytes for {pages} pages")
    return {"table_pages": pages, "file_pages": size // page_bytes, "pages_read_per_pass": pages_read(snapshots)}


@passes("emptied-file", {"mariadb-11.8": FULL_POOL}, in_a_large_file)
@contextmanager
def emptied_file(server: PrivateServer) -> Iterator[Step]:
    """As repeated-scan, of a table that has had ten times as many rows; its file is as large as it was."""
    with server.connect() as connection:
        make_emptied_table(connection, SCANNED, EMPTIED_PAGES)
    with emptied(server, {OTHER: FILLING_PAGES}) as connection:
        execute(server, f"ANALYZE TABLE {SCHEMA}.{SCANNED}")
        scan(connection, OTHER)
        yield partial(scan, connection, SCANNED)


def fits_free_pages(snapshots: Snapshots) -> Numbers:
    """The table is read once into free pages and stays; some pages remain free."""
    _larger_than_old_sublist(snapshots)
    require(in_pools(snapshots[-1], lambda pool: pool.free_pages) > 0, "no page is left free")
    return _read_once(snapshots)


@passes("scan-fits-free-pages", {"mysql-9.7": DEFAULT_POOL}, fits_free_pages)
@contextmanager
def scan_fits_free_pages(server: PrivateServer) -> Iterator[Step]:
    """One serial full scan of shop.orders between two collections, from the first one on, in an empty pool."""
    with cold(server, {SCANNED: SCANNED_PAGES}) as connection:
        yield partial(scan, connection, SCANNED)


def fits_old_sublist(snapshots: Snapshots) -> Numbers:
    """The pool is full, and the table is read once into the old sublist, which holds it."""
    pages, first = table_pages(snapshots, SCANNED_TABLE), snapshots[0]
    require(pages < old_target_pages(first), f"{pages} pages don't fit the old sublist")
    # A full pool keeps some pages free: the page cleaner refills the list up to innodb_lru_scan_depth.
    full = min(int(first.setting("innodb_lru_scan_depth") or 0), pages)
    free = in_pools(first, lambda pool: pool.free_pages)
    require(free <= full, f"{free} pages were free")
    return _read_once(snapshots)


@passes("small-table-scan", {"mysql-9.7": DEFAULT_POOL}, fits_old_sublist)
@contextmanager
def small_table_scan(server: PrivateServer) -> Iterator[Step]:
    """As repeated-scan, of a table that is smaller than the old sublist."""
    with cold(server, {SCANNED: SMALL_PAGES, OTHER: OTHER_PAGES}) as connection:
        scan(connection, OTHER)
        yield partial(scan, connection, SCANNED)


def parallel_reads(snapshots: Snapshots) -> Numbers:
    """Each COUNT(*) reads the table, by parallel readers that the light samples saw."""
    numbers = read_each_pass(snapshots)
    counted = (snapshots[-1][COUNT_STATEMENTS] or {}).get(SCANNED_TABLE)
    executions = 0 if counted is None else counted.executions
    require(executions == len(snapshots) - 1, f"{executions} executions of the COUNT(*)")
    readers = snapshots[-1][PARALLEL_READERS]
    require(readers is not None and readers.reads_observed >= 2, "hardly any parallel reader was seen")
    assert readers is not None  # noqa: S101 - for the type checker
    return numbers | {
        "reads_observed": readers.reads_observed,
        "reader_thread_seconds": round(readers.thread_seconds, 3),
    }


# The period is not a multiple of the light samples' 0.2 s, which could miss every read. Four readers sometimes wake the
# page cleaner. Its refills of the free list let part of the table stay: observed in one of four captures, with passes
# that read only a third of the table.
@scenario(
    "parallel-count",
    {"mysql-9.7": LARGER_POOL | FOUR_READERS},
    parallel_reads,
    collections=8,
    period=PASS_SECONDS + 0.13,
)
@contextmanager
def parallel_count(server: PrivateServer) -> Iterator[Step]:
    """As repeated-scan, by SELECT COUNT(*) on four threads."""
    with cold(server, {SCANNED: SCANNED_PAGES, OTHER: OTHER_PAGES}) as connection:
        scan(connection, OTHER)
        yield partial(count, connection, SCANNED)


passes("parallel-count-followed", {"mysql-9.7": LARGER_POOL | FOUR_READERS}, held)(
    _followed(parallel_count, "SET GLOBAL innodb_old_blocks_pct = 80", 2)
)


def exceeds_pool(snapshots: Snapshots) -> Numbers:
    """The pool doesn't hold the table, and each pass reads it."""
    pages, read = table_pages(snapshots, SCANNED_TABLE), pages_read(snapshots)
    size = in_pools(snapshots[-1], lambda pool: pool.size_pages)
    require(pages > size, f"{pages} pages fit a pool of {size}")
    require(min(read) >= MOST * pages, f"passes read {read} of {pages} pages")
    return _passes(snapshots)


@passes("scan-exceeds-pool", IN_STEPS, exceeds_pool)
@contextmanager
def scan_exceeds_pool(server: PrivateServer) -> Iterator[Step]:
    """One serial full scan of shop.orders, which is larger than the pool, between two collections.

    Before that the pool was emptied by a restart and filled by a scan of shop.archive.
    """
    with _full_of_another(server, TOO_LARGE_PAGES, 3400) as connection:
        yield partial(scan, connection, SCANNED)


@passes("count-exceeds-pool", {"mysql-9.7": IN_STEPS["mysql-9.7"] | FOUR_READERS}, exceeds_pool)
@contextmanager
def count_exceeds_pool(server: PrivateServer) -> Iterator[Step]:
    """As scan-exceeds-pool, by SELECT COUNT(*) on four threads."""
    with _full_of_another(server, TOO_LARGE_PAGES, 3400) as connection:
        yield partial(count, connection, SCANNED)


# Three steps: the resize goes on during the first.
passes("scan-exceeds-pool-followed", {"mysql-9.7": IN_STEPS["mysql-9.7"]}, fits_pool)(
    _followed(scan_exceeds_pool, "SET GLOBAL innodb_buffer_pool_size = 100663296", 3)
)


def reported(snapshots: Snapshots) -> Numbers:
    """Scans of the line items read most of them, and the last one is under way at the end, without a counted row."""
    pages, sizes = table_pages(snapshots, LINE_ITEMS), snapshots[-1][INDEX_SIZES]
    rows = None if sizes is None else sizes.rows[LINE_ITEMS]
    require(bool(rows), "no rows of the line items are known")
    fetched = [(snapshot[TABLE_SCANS] or {}).get(LINE_ITEMS, 0) for snapshot in snapshots]
    reads = [(snapshot[TABLE_FILES] or {})[LINE_ITEMS].reads for snapshot in snapshots]
    last = fetched.index(fetched[-1])
    passes, unfinished = fetched[-1] / (rows or 1), reads[-1] - reads[last]
    require(passes >= 2, f"{passes:.1f} scans")
    require(unfinished >= pages / 4, f"{unfinished} pages were read since rows were last counted")
    per_pass = (reads[last] - reads[0]) / passes
    require(per_pass >= pages / 2, f"scans read {per_pass:.0f} of {pages} pages")
    return {
        "table_pages": pages,
        "passes": round(passes, 1),
        "pages_read_per_pass": round(per_pass),
        "pages_read_under_way": unfinished,
    }


@scenario(
    "tpch-reports",
    {"mysql-9.7": {"innodb-buffer-pool-size": "512M"}},
    reported,
    collections=REPORTS_SECONDS // 5 + 1,
    period=5.0,
)
@contextmanager
def tpch_reports(server: PrivateServer) -> Iterator[Step]:
    """TPC-H by go-tpc at scale factor 1, queries 1, 6, 12, 14 and 19 in turn without a pause, from the start on."""
    go_tpc.prepare_reports(server)
    with server.connect() as connection:
        ask(connection, f"ANALYZE TABLE {LINE_ITEMS.schema}.{LINE_ITEMS.table}")
    with go_tpc.reporting(server, "q1,q6,q12,q14,q19", seconds=2 * REPORTS_SECONDS):
        yield nothing


def promoted(snapshots: Snapshots) -> Numbers:
    """Each pass makes all pages of the table young, and the hot set is read again after it."""
    pages, read, young = table_pages(snapshots, OTHER_TABLE), pages_read(snapshots), _made_young(snapshots)
    require(min(young) >= MOST * pages, f"{young} of {pages} pages were made young")
    require(min(read) >= pages + MOST * table_pages(snapshots, HOT_TABLE), f"rounds read {read} pages")
    return {"table_pages": pages, "pages_read": read, "made_young": young}


@passes("time-zero-pollutes", dict.fromkeys(MYSQL, PROMOTING), promoted, period=2.4)
@contextmanager
def time_zero_pollutes(server: PrivateServer) -> Iterator[Step]:
    """Between two collections a serial full scan of shop.archive, larger than the pool, and lookups in shop.items.

    These are two bursts of 1,500 on 1,200 pages, which are read anew after each scan, since innodb_old_blocks_time is
    0. It has gone on for three rounds.
    """
    with emptied(server, {OTHER: 5000, HOT: 1200}) as connection:

        def step() -> None:
            scan(connection, OTHER)
            look_up(connection, HOT, 1200, 1500)
            time.sleep(1.1)  # longer than the default of innodb_old_blocks_time, so that the lookups make pages young
            look_up(connection, HOT, 1200, 1500)

        for _ in range(3):
            step()
        yield step


def not_promoted(snapshots: Snapshots) -> Numbers:
    """Hardly any page is made young, and hardly any page of the hot set is read."""
    young, pages = _made_young(snapshots), table_pages(snapshots, HOT_TABLE)
    require(max(young) <= 0.1 * pages, f"{young} pages were made young")
    files = [(snapshot[TABLE_FILES] or {}).get(HOT_TABLE) for snapshot in (snapshots[0], snapshots[-1])]
    read = [file.reads for file in files if file is not None]
    require((max(read) - min(read)) / len(young) <= 0.1 * pages, f"the hot set's file was read: {read}")
    return {"hot_pages": pages, "pages_read": pages_read(snapshots), "made_young": young}


passes("time-zero-pollutes-followed", {"mysql-9.7": PROMOTING}, not_promoted, period=2.4)(
    _followed(time_zero_pollutes, "SET GLOBAL innodb_old_blocks_time = 1000", 3, pause=0.0)
)


def _made_young(snapshots: Snapshots) -> list[int]:
    return growths(snapshots, lambda snapshot: in_pools(snapshot, lambda pool: pool.made_young))


def kept(snapshots: Snapshots) -> Numbers:
    """The table exceeds the old sublist: the first passes read it, and the last ones do not."""
    pages, read = _larger_than_old_sublist(snapshots, most=0.7), pages_read(snapshots)
    require(read[0] >= MOST * pages, f"the first pass read {read[0]} of {pages} pages")
    require(max(read[-3:]) <= HARDLY * pages, f"passes read {read} of {pages} pages")
    return _passes(snapshots)


@scenario("time-zero-keeps", {"mysql-9.7": PROMOTING}, kept)
@contextmanager
def time_zero_keeps(server: PrivateServer) -> Iterator[Step]:
    """One serial full scan of shop.orders, larger than the old sublist, between two collections.

    Before that the pool was filled by a scan of shop.archive. As innodb_old_blocks_time is 0, the table is cached from
    the third pass on.
    """
    with _full_of_another(server, SHARED_PAGES) as connection:
        yield partial(scan, connection, SCANNED)


@scenario("hot-set-exceeds-pool", IN_STEPS, lookups_read, collections=6)
@contextmanager
def hot_set_exceeds_pool(server: PrivateServer) -> Iterator[Step]:
    """1,500 lookups in shop.items, uniform over 4,000 pages, between two collections; 30,000 before."""
    with emptied(server, {HOT: HOT_PAGES}) as connection:
        look_up(connection, HOT, HOT_PAGES, 30_000, seed=1)
        yield partial(look_up, connection, HOT, HOT_PAGES, 1500)


def lookups_do_not_read(snapshots: Snapshots) -> Numbers:
    """Hardly a page is read."""
    read = pages_read(snapshots)
    gets = sum(growths(snapshots, lambda snapshot: in_pools(snapshot, lambda pool: pool.gets)))
    require(max(read) <= 100, f"rounds read {read} pages")
    require(gets >= 1000, "hardly a page was asked for")
    return {"pages_read": read}


@scenario("hot-set-exceeds-pool-followed", {"mysql-9.7": IN_STEPS["mysql-9.7"]}, lookups_do_not_read, collections=6)
@contextmanager
def hot_set_exceeds_pool_followed(server: PrivateServer) -> Iterator[Step]:
    """As hot-set-exceeds-pool, after SET GLOBAL innodb_buffer_pool_size = 67108864 and 24,000 lookups more."""
    with hot_set_exceeds_pool(server) as step, server.connect() as connection:
        ask(connection, "SET GLOBAL innodb_buffer_pool_size = 67108864")
        time.sleep(1.0)
        look_up(connection, HOT, HOT_PAGES, 24_000, seed=2)
        yield step
