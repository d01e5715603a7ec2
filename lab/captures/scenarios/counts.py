"""COUNT(*) of whole tables: through the clustered index or a smaller one, from disk or from memory."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import pymysql

from advisor.facts.machine import machine
from advisor.observe.window import Window
from exporter.collectors.count_statements import COUNT_STATEMENTS
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.table_files import TABLE_FILES
from exporter.snapshot import Index, Table
from lab.captures.scenarios.base import (
    DEFAULT_POOL,
    HARDLY,
    LITTLE,
    MOST,
    OBSERVABLE,
    Numbers,
    Snapshots,
    Step,
    leaf_pages,
    pages_read,
    require,
    scenario,
    table_pages,
)
from lab.harness.workloads import SCHEMA, ask, count, look_up, make_table
from lab.servers import PrivateServer

COUNTED = Table(SCHEMA, "orders")
COUNTED_PAGES = 1500
SMALL_PAGES = 300
SCATTERED = Table(SCHEMA, "scattered")
SCATTERED_ROWS = 50_000
ONE_READER = {"innodb-parallel-read-threads": "1"}
BUSY = 0.7
"""The share of the cores' time above which a capture shows nothing about waits: other work disturbed it."""
_LARGEST_KEY = 2**32
_COLD = {"collections": 8, "period": 1.6}
"""The period: all collections take more than the ten seconds between two looks at the machine."""


def make_scattered_table(connection: pymysql.Connection[Any], table: str, rows: int) -> None:
    """Create a table whose rows were inserted in random key order, about eight a page.

    Its pages are in random order, too: linear read-ahead has nothing to read.
    """
    multiplier = 2_654_435_761  # odd, so that no key comes twice
    ask(connection, f"CREATE DATABASE IF NOT EXISTS {SCHEMA}")
    ask(
        connection,
        f"CREATE TABLE {SCHEMA}.{table} (id BIGINT NOT NULL PRIMARY KEY,"
        " filler VARCHAR(1400) CHARACTER SET latin1 NOT NULL) ENGINE=InnoDB",
    )
    for first in range(0, rows, 500):
        keys = ((n * multiplier) % _LARGEST_KEY for n in range(first + 1, min(first + 500, rows) + 1))
        values = ", ".join(f"({key}, REPEAT('x', 1400))" for key in keys)
        ask(connection, f"INSERT INTO {SCHEMA}.{table} VALUES {values}")
    ask(connection, f"ANALYZE TABLE {SCHEMA}.{table}")


def counted(snapshots: Snapshots, table: Table = COUNTED, *, secondary: str = "", forced: bool = False) -> Numbers:
    """The table is counted between all collections, and has the expected secondary index or none."""
    before, after = ((snapshots[end][COUNT_STATEMENTS] or {}).get(table) for end in (0, -1))
    counts = (after.executions if after else 0) - (before.executions if before else 0)
    primary = (after.forced_primary if after else 0) - (before.forced_primary if before else 0)
    require(counts >= len(snapshots) - 1, f"{counts} counts")
    require(primary == (counts if forced else 0), f"{primary} counts were told to take the clustered index")
    sizes = snapshots[-1][INDEX_SIZES]
    own = {
        index.index: size.pages
        for index, size in (sizes.sizes if sizes else {}).items()
        if (index.schema, index.table) == (table.schema, table.table)
    }
    require(sorted(own) == sorted({"PRIMARY", *([secondary] if secondary else [])}), f"the table has {sorted(own)}")
    return {"counts": counts, "index_pages": own}


@scenario(
    "counted-without-index",
    {"mysql-9.7": DEFAULT_POOL, "mysql-5.6": DEFAULT_POOL, "mariadb-10.11": OBSERVABLE},
    counted,
    collections=5,
)
@contextmanager
def counting_without_index(server: PrivateServer) -> Iterator[Step]:
    """One SELECT COUNT(*) of shop.orders, which has no secondary index, between two collections."""
    with server.connect() as connection:
        make_table(connection, COUNTED.table, COUNTED_PAGES)
        yield partial(count, connection, COUNTED.table)


@scenario("counted-text-key", {"mysql-9.7": DEFAULT_POOL}, counted, collections=5)
@contextmanager
def counting_text_key(server: PrivateServer) -> Iterator[Step]:
    """As counted-without-index, of a table whose primary key is a text of 400 characters, nearly the whole row.

    An index on the key alone has as many pages as the table.
    """
    with server.connect() as connection:
        make_table(connection, "source", 4 * COUNTED_PAGES)
        ask(
            connection,
            f"CREATE TABLE {SCHEMA}.{COUNTED.table} (id VARCHAR(500) CHARACTER SET latin1 NOT NULL PRIMARY KEY,"
            " paid INT NOT NULL) ENGINE=InnoDB",
            f"INSERT INTO {SCHEMA}.{COUNTED.table} SELECT LPAD(id, 400, '0'), id FROM {SCHEMA}.source ORDER BY id",
            f"DROP TABLE {SCHEMA}.source",
            f"ANALYZE TABLE {SCHEMA}.{COUNTED.table}",
        )
        yield partial(count, connection, COUNTED.table)


@scenario("counted-small-table", {"mysql-9.7": DEFAULT_POOL}, counted, collections=5)
@contextmanager
def counting_small_table(server: PrivateServer) -> Iterator[Step]:
    """As counted-without-index, of a table of 5 MiB."""
    with server.connect() as connection:
        make_table(connection, COUNTED.table, SMALL_PAGES)
        yield partial(count, connection, COUNTED.table)


@scenario("counted-by-index", {"mysql-9.7": DEFAULT_POOL}, partial(counted, secondary="count_rows"), collections=5)
@contextmanager
def counting_by_index(server: PrivateServer) -> Iterator[Step]:
    """As counted-without-index, after ALTER TABLE shop.orders ADD INDEX count_rows (id)."""
    with server.connect() as connection:
        make_table(connection, COUNTED.table, COUNTED_PAGES)
        ask(connection, f"ALTER TABLE {SCHEMA}.{COUNTED.table} ADD INDEX count_rows (id)")
        ask(connection, f"ANALYZE TABLE {SCHEMA}.{COUNTED.table}")
        yield partial(count, connection, COUNTED.table)


@scenario(
    "counted-beside-index", {"mysql-9.7": DEFAULT_POOL}, partial(counted, secondary="k1", forced=True), collections=5
)
@contextmanager
def counting_beside_index(server: PrivateServer) -> Iterator[Step]:
    """One SELECT COUNT(*) of shop.orders, which has a small secondary index, between two collections.

    FORCE INDEX (PRIMARY) makes it do what MySQL 8.0.17 to 8.0.36 do in any case.
    """
    with server.connect() as connection:
        make_table(connection, COUNTED.table, COUNTED_PAGES, indexes=1)
        yield partial(count, connection, COUNTED.table, force_primary=True)


def cold_counts(snapshots: Snapshots, table: Table, *, least: float = 0.0, most: float = 1.0) -> Numbers:
    """Each count reads the table from disk; threads wait for ``least`` to ``most`` of their time; cores are idle."""
    busy = machine(Window(tuple(snapshots))).cpu_busy
    require(busy is not None and busy < BUSY, f"{busy} of the cores' time was busy")
    numbers = counted(snapshots, table)
    counts = int(str(numbers["counts"]))
    files = [(snapshots[end][TABLE_FILES] or {})[table] for end in (0, -1)]
    statements = [(snapshots[end][COUNT_STATEMENTS] or {}).get(table) for end in (0, -1)]
    reads, waits = files[1].reads - files[0].reads, files[1].seconds - files[0].seconds
    before, after = (statement.seconds if statement else 0.0 for statement in statements)
    pages = table_pages(snapshots, table)
    require(reads >= MOST * pages * counts, f"{counts} counts read {reads} pages")
    threads = int(snapshots[-1].setting("innodb_parallel_read_threads") or 1)
    share = waits / (after - before) / threads
    require(least <= share <= most, f"{share:.2f} of the threads' time is waiting for reads")
    return numbers | {
        "pages_read_per_count": round(reads / counts),
        "seconds_per_count": round((after - before) / counts, 3),
        "wait_share": round(share, 2),
    }


@scenario(
    "cold-counts-in-no-order",
    {"mysql-9.7": LITTLE | ONE_READER},
    partial(cold_counts, table=SCATTERED, least=0.65),
    **_COLD,
)
@contextmanager
def counting_in_no_order(server: PrivateServer) -> Iterator[Step]:
    """One SELECT COUNT(*) between two collections of shop.scattered, whose pages lie in no order of its keys.

    It is larger than the pool, so that each count reads it from disk.
    """
    with server.connect() as connection:
        make_scattered_table(connection, SCATTERED.table, SCATTERED_ROWS)
        yield partial(count, connection, SCATTERED.table)


@scenario(
    "cold-counts-in-order",
    {"mysql-9.7": {"innodb-buffer-pool-size": "64M"} | ONE_READER},
    partial(cold_counts, table=COUNTED, most=0.5),
    **_COLD,
)
@contextmanager
def counting_in_order(server: PrivateServer) -> Iterator[Step]:
    """As cold-counts-in-no-order, of a table whose pages lie in the order of its keys: InnoDB reads ahead."""
    with server.connect() as connection:
        make_table(connection, COUNTED.table, 9 * COUNTED_PAGES)
        yield partial(count, connection, COUNTED.table)


TEST_SHORT, TEST_LONG, TEST_LONG_UK = "test_short", "test_long", "test_long_uk"
SEED_1_ROWS, SEED_1_COUNTS = 57_000, 4
"""Rows of each table, four to a page with the text, and counts of a table in a row. Either long table is 0.87 of the
pool, as 10 GiB are of a db.r6g.large's."""
_TEXT_BYTES = 3_600
SEED_1_POOL = {"innodb-buffer-pool-size": "256M"}


def make_seed_1_tables(connection: pymysql.Connection[Any]) -> None:
    """The tables of seed 001, in its proportions to a pool of 256 MiB: without a text, with one, and with an index."""
    own = {TEST_SHORT: "", TEST_LONG: ", str1 TEXT", TEST_LONG_UK: ", str1 TEXT, UNIQUE (val1)"}
    ask(connection, f"CREATE DATABASE IF NOT EXISTS {SCHEMA}")
    for table, more in own.items():
        name, text = f"{SCHEMA}.{table}", ", str1" if more else ""
        columns = f"id INT PRIMARY KEY, val1 INT NOT NULL, val2 INT NOT NULL{more}"
        ask(connection, f"CREATE TABLE {name} ({columns}) ENGINE=InnoDB")
        ask(connection, f"INSERT INTO {name} SELECT 1, 1, 5" + (f", REPEAT('a', {_TEXT_BYTES})" if more else ""))
        rows = 1
        while rows < SEED_1_ROWS:
            more_rows = min(rows, SEED_1_ROWS - rows)
            ask(
                connection,
                f"INSERT INTO {name} SELECT id + {rows}, val1 + {rows}, val2{text} FROM {name}"
                f" WHERE id <= {more_rows} ORDER BY id",
            )
            rows += more_rows
        ask(connection, f"ANALYZE TABLE {name}")


def seed_1_order() -> Sequence[str]:
    """The tables in the order of the counts: each some times in a row."""
    return [table for table in (TEST_SHORT, TEST_LONG, TEST_LONG_UK) for _ in range(SEED_1_COUNTS)]


def counted_as_by_5_7(snapshots: Snapshots) -> Numbers:
    """The table with an index is counted by it; of the other large one only the first count reads anything."""
    read = pages_read(snapshots)
    by_table = [read[first : first + SEED_1_COUNTS] for first in range(0, len(read), SEED_1_COUNTS)]
    short, long, long_uk = by_table
    pages = table_pages(snapshots, Table(SCHEMA, TEST_LONG))
    index_pages = leaf_pages(snapshots, Index(SCHEMA, TEST_LONG_UK, "val1"))
    require(long[0] >= MOST * pages, f"the first count read {long[0]} of {pages} pages")
    require(max(long[1:]) <= HARDLY * pages, f"counts read {long} of {pages} pages")
    require(max(long_uk) <= 2 * index_pages, f"counts read {long_uk} pages of an index of {index_pages}")
    return {"table_pages": pages, "index_pages": index_pages, "pages_read": [short, long, long_uk]}


def counted_as_by_8_0(snapshots: Snapshots) -> Numbers:
    """Each count of the last table reads it from disk; of the one before it, only the first in a row does."""
    read = pages_read(snapshots)
    pages = table_pages(snapshots, Table(SCHEMA, TEST_LONG_UK))
    rounds = [read[first : first + 3 * SEED_1_COUNTS] for first in range(0, len(read), 3 * SEED_1_COUNTS)]
    for in_round in rounds:
        last = in_round[2 * SEED_1_COUNTS :]
        require(min(last) >= MOST * pages, f"counts read {last} of {pages} pages")
    return {"table_pages": pages, "pages_read": rounds}


@contextmanager
def _counting_as_seed_1(server: PrivateServer, *, force_primary: bool) -> Iterator[Step]:
    with server.connect() as connection:
        make_seed_1_tables(connection)
        ask(connection, "SET GLOBAL innodb_fast_shutdown = 0")
    server.restart()
    with server.connect() as connection:
        tables = itertools.cycle(seed_1_order())
        yield lambda: count(connection, next(tables), force_primary=force_primary)


@scenario("seed-001-counts", {"mysql-5.6": SEED_1_POOL}, counted_as_by_5_7, collections=3 * SEED_1_COUNTS + 1)
@contextmanager
def counting_as_seed_1(server: PrivateServer) -> Iterator[Step]:
    """One SELECT COUNT(*) between two collections, after a restart: of the tables of seed 001, in its first order.

    Four of test_short, four of test_long, four of test_long_uk, which has a secondary index.
    """
    with _counting_as_seed_1(server, force_primary=False) as step:
        yield step


@scenario("seed-001-counts-clustered", {"mysql-9.7": SEED_1_POOL}, counted_as_by_8_0, collections=9 * SEED_1_COUNTS + 1)
@contextmanager
def counting_as_seed_1_clustered(server: PrivateServer) -> Iterator[Step]:
    """As seed-001-counts, three times, with FORCE INDEX (PRIMARY): what MySQL 8.0.17 to 8.0.36 do in any case."""
    with _counting_as_seed_1(server, force_primary=True) as step:
        yield step


HOT, HOT_PAGES, BESIDE_PAGES, LOOKUPS, ROUNDS_BEFORE = Table(SCHEMA, "items"), 6_500, 5_000, 2_000, 8


def counted_beside_lookups(snapshots: Snapshots) -> Numbers:
    """The table is counted in each round; what its counts and the lookups read of their files."""
    counted(snapshots, COUNTED, secondary="k1", forced=snapshots[-1].server.parallel_read)
    files = [snapshot[TABLE_FILES] or {} for snapshot in snapshots]
    read = {
        table.table: [after[table].reads - before[table].reads for before, after in itertools.pairwise(files)]
        for table in (COUNTED, HOT)
    }
    return {"table_pages": table_pages(snapshots, COUNTED), "pages_read": read}


@contextmanager
def _counting_beside_lookups(server: PrivateServer, *, force_primary: bool) -> Iterator[Step]:
    with server.connect() as connection:
        make_table(connection, COUNTED.table, BESIDE_PAGES, indexes=1)
        make_table(connection, HOT.table, HOT_PAGES)
        ask(connection, "SET GLOBAL innodb_fast_shutdown = 0")
    server.restart()
    seeds = itertools.count(1)
    with server.connect() as connection:

        def step() -> None:
            count(connection, COUNTED.table, force_primary=force_primary)
            look_up(connection, HOT.table, HOT_PAGES, LOOKUPS, seed=next(seeds))

        look_up(connection, HOT.table, HOT_PAGES, 6 * HOT_PAGES, seed=0)
        for _ in range(ROUNDS_BEFORE):
            step()
            time.sleep(1.0)
        yield step


@scenario(
    "counts-beside-lookups", {"mysql-5.6": DEFAULT_POOL}, counted_beside_lookups, collections=ROUNDS_BEFORE, period=2.0
)
@contextmanager
def counting_beside_lookups(server: PrivateServer) -> Iterator[Step]:
    """One SELECT COUNT(*) of shop.orders, by its small index, and 2,000 lookups in shop.items between two collections.

    The pool holds shop.items and the index. It does not hold both tables.
    """
    with _counting_beside_lookups(server, force_primary=False) as step:
        yield step


@scenario(
    "counts-beside-lookups-clustered",
    {"mysql-9.7": DEFAULT_POOL},
    counted_beside_lookups,
    collections=ROUNDS_BEFORE,
    period=2.0,
)
@contextmanager
def counting_beside_lookups_clustered(server: PrivateServer) -> Iterator[Step]:
    """As counts-beside-lookups, with FORCE INDEX (PRIMARY): what MySQL 8.0.17 to 8.0.36 do in any case."""
    with _counting_beside_lookups(server, force_primary=True) as step:
        yield step
