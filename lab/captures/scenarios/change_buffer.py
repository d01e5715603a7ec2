"""Scenarios of the change buffer: insertions into random secondary indexes."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pymysql

from lab.captures.checks import change_buffer
from lab.captures.scenarios.base import DEFAULT_POOL, LITTLE, MYSQL, CaptureScenario, Step, execute_on, nothing
from lab.harness.workloads import SCHEMA, Load, insert_rows, make_indexed_table
from lab.servers import Server

EVENTS = "events"
ROWS = 400_000  # three secondary indexes of 1,124 pages each
INDEXES = 3
BUFFERED = LITTLE | {"innodb-change-buffering": "all"}  # where it isn't the default
OFF = LITTLE | {"innodb-change-buffering": "none"}
# The master thread merges ten pages a second, and a buffer of half the pool takes long to fill.
SLOWLY_MERGED = BUFFERED | {"innodb-change-buffer-max-size": "50", "innodb-io-capacity": "200"}


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
def settled_insertion(server: Server) -> Iterator[Step]:
    """As change-buffer-merges, into indexes of 200,000 rows whose pages are as full as random insertions leave them."""
    make_random_table(server, ROWS // 2, server.options["innodb-buffer-pool-size"])
    with Load(server.connect) as load:
        load.repeat(partial(insert_rows, table=EVENTS, rows=600, indexes=INDEXES, read_back=False, seed=None), pause=0)
        time.sleep(6.0)
        yield nothing


@contextmanager
def insertion_of_unique(server: Server) -> Iterator[Step]:
    """As change-buffer-off, but the three secondary indexes are unique ones."""
    with server.connect() as connection:
        make_indexed_table(connection, EVENTS, ROWS, indexes=INDEXES)
        make_unique(connection)
    with Load(server.connect) as load:
        load.repeat(partial(insert_rows, table=EVENTS, rows=200, indexes=INDEXES, read_back=False, seed=None), pause=0)
        time.sleep(3.0)
        yield nothing


@contextmanager
def lookups(server: Server) -> Iterator[Step]:
    """Rows are looked up by random keys all the time, by each of the three indexes, and some ten a second inserted."""
    with server.connect() as connection:
        make_indexed_table(connection, EVENTS, ROWS, indexes=INDEXES)
    with Load(server.connect) as load:
        load.repeat(look_up_keys, pause=0)
        load.repeat(partial(insert_rows, table=EVENTS, rows=1, indexes=INDEXES, read_back=False, seed=None), pause=0.1)
        time.sleep(1.0)
        yield nothing


@contextmanager
def insertion_and_lookups(server: Server) -> Iterator[Step]:
    """Some 1,000 rows a second are inserted, and rows are looked up by random keys of the same indexes all the time."""
    make_random_table(server, ROWS // 2, server.options["innodb-buffer-pool-size"])
    insert = partial(insert_rows, table=EVENTS, rows=50, indexes=INDEXES, read_back=False, batch=50, seed=None)
    with Load(server.connect) as load:
        load.repeat(insert, pause=0.05)
        load.repeat(look_up_keys, pause=0)
        time.sleep(1.0)
        yield nothing


@contextmanager
def deletion(server: Server) -> Iterator[Step]:
    """Rows are deleted by random primary keys all the time from a table with three random indexes."""
    make_random_table(server, ROWS // 2, server.options["innodb-buffer-pool-size"])
    with Load(server.connect) as load:
        load.repeat(partial(delete_rows, most=ROWS // 2), pause=0)
        time.sleep(1.0)
        yield nothing


@contextmanager
def paced_insertion(server: Server) -> Iterator[Step]:
    """Some 600 rows a second are inserted into a table with three random indexes, from an empty change buffer on."""
    make_random_table(server, ROWS // 2, server.options["innodb-buffer-pool-size"])
    with Load(server.connect) as load:
        insert = partial(insert_rows, table=EVENTS, rows=60, indexes=INDEXES, read_back=False, batch=60, seed=None)
        load.repeat(insert, pause=0.1)
        yield nothing


def make_random_table(server: Server, rows: int, pool: str) -> None:
    """Create a table with three secondary indexes, whose leaf pages are as full as random insertions leave them.

    Then restart the server with an empty buffer pool of the size ``pool``.
    """
    with server.connect() as connection:
        make_indexed_table(connection, EVENTS, rows // 2, indexes=INDEXES)
        randoms = "FLOOR(RAND() * 2147483647), " * INDEXES
        execute_on(
            connection,
            f"INSERT INTO {SCHEMA}.{EVENTS} SELECT id + {rows // 2}, {randoms} filler FROM {SCHEMA}.{EVENTS}",
        )
        execute_on(connection, f"ANALYZE TABLE {SCHEMA}.{EVENTS}")
        execute_on(connection, "SET GLOBAL innodb_fast_shutdown = 0")
    server.restart({"innodb-buffer-pool-size": pool})


def make_unique(connection: pymysql.Connection[Any]) -> None:
    """Replace the table's secondary indexes by unique ones."""
    changes = ", ".join(f"DROP KEY k{n}, ADD UNIQUE KEY u{n} (k{n}, id, filler(24))" for n in range(1, INDEXES + 1))
    execute_on(connection, f"ALTER TABLE {SCHEMA}.{EVENTS} {changes}")
    execute_on(connection, f"ANALYZE TABLE {SCHEMA}.{EVENTS}")


def look_up_keys(connection: pymysql.Connection[Any], times: int = 200) -> None:
    """Look up rows by random keys, through each index in turn."""
    chooser = random.Random()
    with connection.cursor() as cursor:
        for number in range(times):
            key = f"k{number % INDEXES + 1}"
            cursor.execute(
                f"SELECT id FROM {SCHEMA}.{EVENTS} FORCE INDEX ({key}) WHERE {key} >= {chooser.randint(0, 2147483647)}"
                f" ORDER BY {key} LIMIT 1"
            )
            cursor.fetchall()


def delete_rows(connection: pymysql.Connection[Any], most: int, rows: int = 20) -> None:
    """Delete rows by random primary keys up to ``most``, one a statement."""
    chooser = random.Random()
    for _ in range(rows):
        execute_on(connection, f"DELETE FROM {SCHEMA}.{EVENTS} WHERE id = {chooser.randint(1, most)}")


def _inserting(server: Server, *, warm_up: float, read_back: bool) -> Iterator[Step]:
    with server.connect() as connection:
        make_indexed_table(connection, EVENTS, ROWS, indexes=INDEXES)
    rows = 100 if read_back else 2000
    insert = partial(insert_rows, table=EVENTS, rows=rows, indexes=INDEXES, read_back=read_back, seed=None)
    with Load(server.connect) as load:
        load.repeat(insert, pause=0)
        time.sleep(warm_up)
        yield nothing


SCENARIOS = (
    CaptureScenario(
        "change-buffer-merges",
        dict.fromkeys(MYSQL, LITTLE) | dict.fromkeys(("mariadb-10.11", "mariadb-10.5"), BUFFERED),
        insertion,
        partial(change_buffer.merges, least=2.0),
    ),
    CaptureScenario(
        "change-buffer-small", {"mysql-9.7": LITTLE}, settled_insertion, partial(change_buffer.merges, most=9.0)
    ),
    CaptureScenario(
        "change-buffer-larger",
        {"mysql-9.7": LITTLE | {"innodb-change-buffer-max-size": "25"}},
        settled_insertion,
        partial(change_buffer.merges, least=4.0),
    ),
    CaptureScenario(
        "change-buffer-single-merges",
        dict.fromkeys(MYSQL, LITTLE) | {"mariadb-10.11": BUFFERED},
        insertion_read_back,
        partial(change_buffer.merges, most=1.2),
    ),
    CaptureScenario("change-buffer-off", dict.fromkeys(MYSQL, OFF), insertion, change_buffer.no_merges),
    CaptureScenario(
        "change-buffer-off-resident",
        {"mysql-9.7": DEFAULT_POOL | {"innodb-change-buffering": "none"}},
        insertion,
        change_buffer.resident,
    ),
    CaptureScenario("change-buffer-off-unique", {"mysql-9.7": OFF}, insertion_of_unique, change_buffer.read_for_unique),
    CaptureScenario("change-buffer-off-lookups", dict.fromkeys(MYSQL, OFF), lookups, change_buffer.looked_up),
    CaptureScenario("change-buffer-off-mixed", {"mysql-9.7": OFF}, insertion_and_lookups, change_buffer.mixed),
    CaptureScenario("change-buffer-off-deletes", {"mysql-9.7": OFF}, deletion, change_buffer.deleted),
    CaptureScenario("change-buffer-growing", {"mysql-9.7": SLOWLY_MERGED}, paced_insertion, change_buffer.growing),
)
