"""What the captures are made of: a workload that brings about one phenomenon, and the proof that it did."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pymysql

from exporter.snapshot import Table
from lab.captures import Capture, checks
from lab.captures.checks import Check
from lab.servers import NAMES, Server
from lab.workloads import SCHEMA, Load, count, insert_rows, make_indexed_table, make_table, scan

MARIADB = tuple(name for name in NAMES if name.startswith("mariadb"))
MYSQL = tuple(name for name in NAMES if name.startswith("mysql"))

SCANNED, OTHER, EVENTS = "orders", "archive", "events"
SCANNED_TABLE = Table(SCHEMA, SCANNED)
# Pages of the tables for each 128 MiB of the pool, which are 8,191 pages:
SCANNED_PAGES = 4600  # one and a half times the old sublist at 37 %, 56 % of the pool
OTHER_PAGES = 9000  # more than the pool
SMALL_PAGES = 1500  # half the old sublist
PASS_SECONDS = 1.4  # longer than innodb_old_blocks_time, so that a pass could make pages young
ROWS = 400_000  # three secondary indexes of 1,124 pages each
INDEXES = 3
LITTLE = {"innodb-buffer-pool-size": "24M"}  # 1,536 pages
BUFFERED = LITTLE | {"innodb-change-buffering": "all"}  # where it isn't the default
UNPRIVILEGED = "nobody"

Step = Callable[[], None]
"""What happens between two collections; it may return at once where the load runs in the background."""


@dataclass(frozen=True)
class Scenario:
    """A workload, and the servers that are watched under it.

    Attributes:
        name: Its folder's name.
        options: The options of each server that it is captured from, over the lab's own.
        work: Prepares a server and yields the step between two collections. Its docstring is the workload in
            words, for the note.
        check: Key numbers of a capture, or a refusal.
        collections: How many.
        period: Seconds from one to the next.
        user: Who the sidecar logs in as.
        check_of: The checks for some of its servers, where they differ.
        attempts: How often it is tried until the check holds, where that is left to chance; the note counts them.
    """

    name: str
    options: Mapping[str, Mapping[str, str]]
    work: Callable[[Server], AbstractContextManager[Step]]
    check: Check
    collections: int = 7
    period: float = 1.0
    user: str = "root"
    check_of: Mapping[str, Check] = field(default_factory=dict)
    attempts: int = 1

    def checked_by(self, server: str) -> Check:
        """The check for one of its servers."""
        return self.check_of.get(server, self.check)


def nothing() -> None:
    """A step without work of its own."""


def execute(connection: pymysql.Connection[Any], sql: str) -> None:
    """Run a statement for its effect."""
    with connection.cursor() as cursor:
        cursor.execute(sql)


@contextmanager
def idle(_server: Server) -> Iterator[Step]:
    """None: nobody but the sidecar is connected. The settings that the lab changes are at the server's own defaults."""
    yield nothing


@contextmanager
def repeated_scan(server: Server) -> Iterator[Step]:
    """One serial full scan of shop.orders between two collections, from the first one on.

    Before that the pool was emptied by a restart and filled by a scan of shop.archive.
    """
    with _cold(server, {SCANNED: SCANNED_PAGES, OTHER: OTHER_PAGES}) as connection:
        scan(connection, OTHER)
        yield partial(scan, connection, SCANNED)


@contextmanager
def repeated_scan_followed(server: Server) -> Iterator[Step]:
    """As repeated-scan, after SET GLOBAL innodb_old_blocks_pct = 80 and two passes."""
    with repeated_scan(server) as step, server.connect() as connection:
        execute(connection, "SET GLOBAL innodb_old_blocks_pct = 80")
        for _ in range(2):
            step()
            time.sleep(PASS_SECONDS)
        yield step


@contextmanager
def scan_fits_free_pages(server: Server) -> Iterator[Step]:
    """One serial full scan of shop.orders between two collections, from the first one on, in an empty pool."""
    with _cold(server, {SCANNED: SCANNED_PAGES}) as connection:
        yield partial(scan, connection, SCANNED)


@contextmanager
def small_table_scan(server: Server) -> Iterator[Step]:
    """As repeated-scan, of a table that is smaller than the old sublist."""
    with _cold(server, {SCANNED: SMALL_PAGES, OTHER: OTHER_PAGES}) as connection:
        scan(connection, OTHER)
        yield partial(scan, connection, SCANNED)


@contextmanager
def parallel_count(server: Server) -> Iterator[Step]:
    """As repeated-scan, by SELECT COUNT(*) on four threads."""
    with _cold(server, {SCANNED: SCANNED_PAGES, OTHER: OTHER_PAGES}) as connection:
        scan(connection, OTHER)
        yield partial(count, connection, SCANNED)


@contextmanager
def insertion(server: Server) -> Iterator[Step]:
    """Rows are inserted all the time, 200 a statement, into a table with three secondary indexes on random keys.

    The indexes together are larger than the pool. It has gone on for some seconds when the capture begins.
    """
    yield from _inserting(server, warm_up=5.0, read_back=False)


@contextmanager
def insertion_read_back(server: Server) -> Iterator[Step]:
    """As change-buffer-merges, but a row a statement, and each row is then read by each of its three indexes."""
    yield from _inserting(server, warm_up=3.0, read_back=True)


@contextmanager
def index_build(server: Server) -> Iterator[Step]:
    """ALTER TABLE … ADD INDEX of six indexes on 1,000,000 rows, begun after the first two collections.

    The consumer events_stages_current was enabled before.
    """
    with server.connect() as connection:
        make_indexed_table(connection, EVENTS, 1_000_000, indexes=1)
        execute(
            connection,
            "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME = 'events_stages_current'",
        )
    added = ", ".join(f"ADD INDEX built_{n} (filler(24), k1, id)" for n in range(1, 7))

    def build() -> None:
        with contextlib.suppress(pymysql.MySQLError), server.connect() as connection:
            execute(connection, f"ALTER TABLE {SCHEMA}.{EVENTS} {added}")

    builder = threading.Thread(target=build, daemon=True)
    steps = iter((nothing, builder.start))

    def step() -> None:
        next(steps, nothing)()

    yield step
    server.kill()  # its data is thrown away in any case: nobody needs to wait for the end of the build
    builder.join()


@contextmanager
def unprivileged(server: Server) -> Iterator[Step]:
    """None. The sidecar's account has no privilege at all (USAGE)."""
    with server.connect() as connection:
        execute(connection, f"CREATE USER '{UNPRIVILEGED}'@'%'")
    yield nothing


@contextmanager
def _cold(server: Server, tables: Mapping[str, int]) -> Iterator[pymysql.Connection[Any]]:
    """A connection to the server with these tables, of so many pages a 128 MiB, and nothing of them in the pool.

    A slow shutdown leaves nothing to purge: MariaDB's purge visits every inserted row and would fill the pool
    with their pages (row_purge_reset_trx_id in row0purge.cc).
    """
    times = int(server.options["innodb-buffer-pool-size"].removesuffix("M")) // 128
    with server.connect() as connection:
        for table, pages in tables.items():
            make_table(connection, table, pages * times)
        execute(connection, "SET GLOBAL innodb_fast_shutdown = 0")
    server.restart()
    with server.connect() as connection:
        yield connection


def _inserting(server: Server, *, warm_up: float, read_back: bool) -> Iterator[Step]:
    with server.connect() as connection:
        make_indexed_table(connection, EVENTS, ROWS, indexes=INDEXES)
    rows = 100 if read_back else 2000
    insert = partial(insert_rows, table=EVENTS, rows=rows, indexes=INDEXES, read_back=read_back, seed=None)
    with Load(server.connect) as load:
        load.repeat(insert, pause=0)
        time.sleep(warm_up)
        yield nothing


def _own_defaults(server: str) -> Mapping[str, str]:
    """The server's own defaults of the settings that lab.servers changes and that the advisor may look at."""
    dump = "OFF" if server == "mysql-5.6" else "ON"
    return {
        "innodb-buffer-pool-size": "128M",
        "innodb-buffer-pool-dump-at-shutdown": dump,
        "innodb-buffer-pool-load-at-startup": dump,
        "innodb-flush-log-at-trx-commit": "1",
    }


DEFAULT_POOL = {"innodb-buffer-pool-size": "128M"}
# MySQL 9.7 refills its free list to innodb_lru_scan_depth (1,024 pages) now and then between two passes, and from
# then on about 600 pages more of the table stay (seen): too many of one for 128 MiB, few of a larger one.
LARGER_POOL = {"innodb-buffer-pool-size": "256M"}
OBSERVABLE = DEFAULT_POOL | {"performance-schema": "ON"}  # off by default on MariaDB

_SCENARIOS = (
    Scenario("idle", {name: _own_defaults(name) for name in NAMES}, idle, checks.idle, collections=6),
    Scenario(
        "repeated-scan",
        {"mysql-9.7": LARGER_POOL, "mysql-5.6": DEFAULT_POOL} | dict.fromkeys(MARIADB, OBSERVABLE),
        repeated_scan,
        partial(checks.read_each_pass, table=SCANNED_TABLE),
        collections=6,
        period=PASS_SECONDS,
        # From 10.6 on the page cleaner refills the free list, and the table takes the pool over pass by pass.
        check_of=dict.fromkeys(MARIADB, partial(checks.read_at_first, table=SCANNED_TABLE)),
    ),
    Scenario(
        "repeated-scan-followed",
        dict.fromkeys(MYSQL, DEFAULT_POOL),
        repeated_scan_followed,
        partial(checks.held, table=SCANNED_TABLE),
        collections=6,
        period=PASS_SECONDS,
    ),
    Scenario(
        "scan-fits-free-pages",
        {"mysql-9.7": DEFAULT_POOL},
        scan_fits_free_pages,
        partial(checks.fits_free_pages, table=SCANNED_TABLE),
        collections=6,
        period=PASS_SECONDS,
    ),
    Scenario(
        "small-table-scan",
        {"mysql-9.7": DEFAULT_POOL},
        small_table_scan,
        partial(checks.fits_old_sublist, table=SCANNED_TABLE),
        collections=6,
        period=PASS_SECONDS,
    ),
    Scenario(
        "parallel-count",
        {"mysql-9.7": LARGER_POOL | {"innodb-parallel-read-threads": "4"}},
        parallel_count,
        partial(checks.parallel_reads, table=SCANNED_TABLE),
        collections=8,
        period=PASS_SECONDS + 0.13,  # a whole number of the light samples' 0.2 s would let them miss every read
        # Four readers at a time wake the page cleaner now and then, whose refills of the free list let some of the
        # table stay: seen in one of four captures, with passes that read as little as a third of it.
        attempts=3,
    ),
    Scenario(
        "change-buffer-merges",
        dict.fromkeys(MYSQL, LITTLE) | dict.fromkeys(("mariadb-10.11", "mariadb-10.5"), BUFFERED),
        insertion,
        partial(checks.merges, least=2.0),
    ),
    Scenario(
        "change-buffer-single-merges",
        dict.fromkeys(MYSQL, LITTLE) | {"mariadb-10.11": BUFFERED},
        insertion_read_back,
        partial(checks.merges, most=1.2),
    ),
    Scenario(
        "change-buffer-off",
        {"mysql-9.7": LITTLE | {"innodb-change-buffering": "none"}},
        insertion,
        checks.no_merges,
    ),
    Scenario("index-build", {"mysql-9.7": {}}, index_build, checks.building, period=0.8),
    Scenario(
        "unprivileged",
        {"mysql-9.7": {}, "mariadb-10.11": {"performance-schema": "ON"}},
        unprivileged,
        checks.refused,
        collections=6,
        user=UNPRIVILEGED,
    ),
)

SCENARIOS = {scenario.name: scenario for scenario in _SCENARIOS}
CATALOG = tuple(Capture(server, scenario.name) for scenario in _SCENARIOS for server in scenario.options)
"""Every capture that there should be."""
