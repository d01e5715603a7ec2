"""Reads and writes of data files: a warm pool, wasted read-ahead, and flushing that keeps up or not."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import pymysql

from exporter.collectors.innodb_status import checkpoint_age
from lab.captures.scenarios.base import (
    LITTLE,
    Numbers,
    Snapshots,
    Step,
    growths,
    in_pools,
    pages_read,
    require,
    scenario,
)
from lab.harness.workloads import ROWS_PER_PAGE, SCHEMA, BackgroundLoad, ask, look_up, look_up_pages, make_table, scan
from lab.servers import PrivateServer

ORDERS, ARCHIVE = "orders", "archive"
HOT_PAGES = 2000
REST = 2.5  # seconds without load, in which MariaDB writes deferred pages
STATEMENT_ROWS = 20
WRITTEN_PAGES = 6000
RANGE_PAGES = 65  # one more than an extent: such a range may cover a whole extent and the start of the next

WARM_POOL = {  # 4,096 pages; the page cleaner's free list is scaled down with it
    "innodb-buffer-pool-size": "64M",
    "innodb-lru-scan-depth": "100",
    "innodb-buffer-pool-dump-at-shutdown": "ON",
    "innodb-buffer-pool-load-at-startup": "ON",
}
WRITTEN_POOL = {"innodb-buffer-pool-size": "128M", "performance-schema": "ON"}
HARD_DISK = {"innodb-io-capacity": "200", "innodb-io-capacity-max": "2000"}
LOGS = {
    "mysql-9.7": {"innodb-redo-log-capacity": "48M"},
    "mysql-5.6": {"innodb-log-file-size": "24M", "innodb-flush-method": "O_DIRECT"},
    "mariadb-10.11": {"innodb-log-file-size": "40M"},
}
READING_AHEAD = LITTLE | {"innodb-read-ahead-threshold": "32"}
UNDER_PRESSURE = {server: WRITTEN_POOL | HARD_DISK | log for server, log in LOGS.items()}


def stays_warm(snapshots: Snapshots) -> Numbers:
    """The pool is full, its young pages are in use, and hardly any page is read."""
    last = snapshots[-1]
    young = in_pools(last, lambda pool: pool.database_pages - pool.old_pages)
    free, gets, read = in_pools(last, lambda pool: pool.free_pages), _growth(snapshots, "gets"), pages_read(snapshots)
    require(young >= 2000, f"{young} young pages")
    require(free < 0.1 * in_pools(last, lambda pool: pool.size_pages), f"{free} pages are free")
    require(gets >= young * (last.at - snapshots[0].at) / 3600, f"{gets} pages were asked for")
    require(sum(read) < 0.05 * young, f"{sum(read)} pages were read")
    return {"young_pages": young, "free_pages": free, "gets": gets, "pages_read": sum(read)}


@scenario(
    "warm-pool",
    {"mysql-9.7": WARM_POOL, "mariadb-11.8": WARM_POOL}
    | {"mysql-5.6": WARM_POOL | {"innodb-buffer-pool-dump-at-shutdown": "OFF"}},
    stays_warm,
    collections=6,
)
@contextmanager
def warm_pool(server: PrivateServer) -> Iterator[Step]:
    """Lookups of single rows on 2,000 pages of shop.orders, 2,000 between two collections, in a full pool of 4,096.

    The pool was filled by a scan of that table, and the pages were made young, before the capture begins.
    """
    with server.connect() as connection:
        make_table(connection, ORDERS, 5000)
        warm(connection)
        yield partial(look_up, connection, ORDERS, HOT_PAGES, 2000)


def warm(connection: pymysql.Connection[Any], pages: int = HOT_PAGES) -> None:
    """Fill the pool by a scan of that table, and make its first pages young."""
    scan(connection, ORDERS)
    for half in (range(1, pages // 2), range(pages // 2, pages + 1)):  # the old sublist holds one of them
        look_up_pages(connection, ORDERS, half)
        time.sleep(1.1)  # innodb_old_blocks_time
        look_up_pages(connection, ORDERS, half)


def wasted(snapshots: Snapshots, *, counted: bool = True) -> Numbers:
    """Many pages are read ahead; if the server counts it, most of them are evicted without an access."""
    ahead, evicted = _growth(snapshots, "read_ahead"), _growth(snapshots, "read_ahead_evicted")
    read = sum(pages_read(snapshots))
    require(ahead >= 500, f"{ahead} pages were read ahead")
    require(not counted or (evicted >= 0.5 * ahead and evicted >= 0.1 * read), f"{evicted} of {ahead} were evicted")
    return {"pages_read": read, "read_ahead": ahead, "evicted_without_access": evicted}


@scenario(
    "read-ahead-wasted", dict.fromkeys(("mysql-9.7", "mysql-5.6", "mariadb-10.5"), READING_AHEAD), wasted, collections=6
)
@scenario("read-ahead-wasted", {"mariadb-10.11": READING_AHEAD}, partial(wasted, counted=False), collections=6)
@contextmanager
def short_ranges(server: PrivateServer) -> Iterator[Step]:
    """Ranges of 65 pages at random places of shop.orders, 40 between two collections, in a pool a quarter its size.

    The pool was filled by 40 such ranges before.
    """
    with server.connect() as connection:
        make_table(connection, ORDERS, 6000)
        ranges = RangeReads(6000)
        ranges(connection)
        yield partial(ranges, connection)


class RangeReads:
    """Reads of RANGE_PAGES pages in the order of the primary key, each at a random place of ORDERS."""

    def __init__(self, pages: int, seed: int = 1) -> None:
        self._chooser = random.Random(seed)
        self._rows = pages * ROWS_PER_PAGE

    def __call__(self, connection: pymysql.Connection[Any], times: int = 40) -> None:
        """Read the next ranges."""
        rows = RANGE_PAGES * ROWS_PER_PAGE
        for _ in range(times):
            first = self._chooser.randint(1, self._rows - rows)
            condition = f"id BETWEEN {first} AND {first + rows - 1}"
            ask(connection, f"SELECT SUM(LENGTH(filler)) FROM {SCHEMA}.{ORDERS} WHERE {condition}")


def writing(server: PrivateServer, rate: float, warm_up: float, then: Sequence[str] = ()) -> Iterator[Step]:
    """Updates of single rows at ``rate`` a second; before that at full speed, to fill the redo log.

    ``then`` are statements in between. The server rests after them.
    """
    with server.connect() as connection:
        make_written(connection)
        with BackgroundLoad(server.connect) as load:
            load.repeat(update, pause=0)
            time.sleep(warm_up)
        ask(connection, *then)
        time.sleep(REST if then else 0.0)
        with BackgroundLoad(server.connect) as load:
            load.repeat(Paced(rate), pause=0)
            yield partial(look_up, connection, ARCHIVE, 3500, 100)


def make_written(connection: pymysql.Connection[Any]) -> None:
    """Create ORDERS, which fits WRITTEN_POOL, and ARCHIVE, too large beside it: its reads show disk latency."""
    make_table(connection, ARCHIVE, 3500)
    make_table(connection, ORDERS, WRITTEN_PAGES)


def update(connection: pymysql.Connection[Any], rows: int = STATEMENT_ROWS) -> None:
    """Update rows at random places of ORDERS in one statement."""
    chosen = ", ".join(str(random.randint(1, WRITTEN_PAGES * ROWS_PER_PAGE)) for _ in range(rows))
    letter = random.choice("abcdef")
    ask(
        connection,
        f"UPDATE {SCHEMA}.{ORDERS} SET filler = CONCAT('{letter}', SUBSTR(filler, 2)) WHERE id IN ({chosen})",
    )


class Paced:
    """Updates at a steady rate of rows a second, for BackgroundLoad.repeat.

    Attributes:
        took: Seconds of each statement so far; each updates STATEMENT_ROWS rows.
    """

    def __init__(self, rate: float) -> None:
        self.took: list[float] = []
        self._gap = STATEMENT_ROWS / rate
        self._due = 0.0

    def __call__(self, connection: pymysql.Connection[Any]) -> None:
        """Run the next statement when it is due."""
        now = time.monotonic()
        self._due = max(self._due + self._gap, now - 1.0)  # at most one second of missed work is made up for
        time.sleep(max(0.0, self._due - now))
        began = time.perf_counter()
        update(connection)
        self.took.append(time.perf_counter() - began)


def flushing(snapshots: Snapshots) -> Numbers:
    """Pages are written throughout, and the checkpoint age is known."""
    written = _growth(snapshots, "pages_written")
    known = [age for snapshot in snapshots if (age := checkpoint_age(snapshot)) is not None]
    require(written >= 200, f"{written} pages were written")
    require(len(known) == len(snapshots), "the checkpoint's age is not known")
    return {
        "pages_written": written,
        "dirty_pages": [in_pools(snapshot, lambda pool: pool.modified_pages) for snapshot in snapshots],
        "checkpoint_age_bytes": [int(age) for age in known],
    }


@scenario("write-pressure", UNDER_PRESSURE, flushing, collections=8)
@contextmanager
def write_pressure(server: PrivateServer) -> Iterator[Step]:
    """Updates of 1,000 rows a second at random places of shop.orders, which fits the pool, and some lookups beside.

    For some seconds before, they were made as fast as can be.
    """
    yield from writing(server, rate=1000, warm_up=5.0)


@scenario(
    "write-pressure-followed",
    {"mariadb-10.11": WRITTEN_POOL | LOGS["mariadb-10.11"]},
    flushing,
    collections=6,
)
@contextmanager
def write_pressure_followed(server: PrivateServer) -> Iterator[Step]:
    """As write-pressure, after innodb_io_capacity was set to 5,000 and innodb_max_dirty_pages_pct_lwm to 10."""
    followed = {"io_capacity_max": 10_000, "io_capacity": 5_000, "max_dirty_pages_pct_lwm": 10}
    statements = [f"SET GLOBAL innodb_{name} = {value}" for name, value in followed.items()]
    yield from writing(server, rate=1000, warm_up=3.0, then=statements)


@scenario("little-written", UNDER_PRESSURE, flushing, collections=8)
@contextmanager
def little_written(server: PrivateServer) -> Iterator[Step]:
    """As write-pressure, 100 rows a second, and none before."""
    yield from writing(server, rate=100, warm_up=0.0)


def _growth(snapshots: Snapshots, counter: str) -> int:
    return sum(growths(snapshots, lambda snapshot: in_pools(snapshot, lambda pool: int(getattr(pool, counter)))))
