"""Tables of a known size, and work on them: the state of a server, and the load on it."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

import pymysql

from advisor.models.lru.scenario import Points
from lab.servers import PrivateServer

SCHEMA = "shop"
ROWS_PER_PAGE = 8
_FILLER = 1830  # bytes: eight rows of it fill the 15/16 of a 16 KiB page that an ordered insert uses

Connect = Callable[[], "pymysql.Connection[Any]"]


@contextmanager
def emptied(server: PrivateServer, tables: Mapping[str, int]) -> Iterator[pymysql.Connection[Any]]:
    """Create tables of so many pages and empty the pool; yields a connection.

    A slow shutdown leaves nothing to purge: MariaDB's purge visits every inserted row and would fill the pool with the
    rows' pages (row_purge_reset_trx_id in row0purge.cc).
    """
    with server.connect() as connection:
        for table, pages in tables.items():
            make_table(connection, table, pages)
        ask(connection, "SET GLOBAL innodb_fast_shutdown = 0")
    server.restart()
    with server.connect() as connection:
        yield connection


def ask(connection: pymysql.Connection[Any], *statements: str) -> list[tuple[Any, ...]]:
    """Run statements; the rows of the last one."""
    rows: list[tuple[Any, ...]] = []
    with connection.cursor() as cursor:
        for sql in statements:
            cursor.execute(sql)
            rows = list(cursor.fetchall())
    return rows


def with_connection(server: PrivateServer, work: Callable[..., object], *arguments: Any) -> Callable[[], None]:
    """The work on a connection of its own each time, such as over restarts of the server."""

    def step() -> None:
        with server.connect() as connection:
            work(connection, *arguments)

    return step


def make_table(connection: pymysql.Connection[Any], table: str, pages: int, *, indexes: int = 0) -> None:
    """A table whose clustered index has about ``pages`` leaf pages of 16 KiB, with random secondary indexes.

    Columns: ``id`` (1, 2, 3 … the primary key), ``k1`` … ``k<indexes>`` (random, indexed), ``filler``.
    """
    keys = [f"k{n}" for n in range(1, indexes + 1)]
    _make(connection, table, pages * ROWS_PER_PAGE, keys=keys, indexed=keys, room=_FILLER, filled=_FILLER)
    ask(connection, f"ANALYZE TABLE {SCHEMA}.{table}")


def make_outgrown_table(connection: pymysql.Connection[Any], table: str, pages: int, *, times: int = 10) -> None:
    """A table as of ``make_table``, that has grown so many times as large since its statistics were made."""
    make_table(connection, table, pages // times)
    have, name = pages // times * ROWS_PER_PAGE, f"{SCHEMA}.{table}"
    ask(connection, f"ALTER TABLE {name} STATS_AUTO_RECALC = 0")
    ask(connection, f"ANALYZE TABLE {name}")
    while have < pages * ROWS_PER_PAGE:
        more = min(have, pages * ROWS_PER_PAGE - have)
        ask(connection, f"INSERT INTO {name} SELECT id + {have}, filler FROM {name} WHERE id <= {more} ORDER BY id")
        have += more


def make_emptied_table(connection: pymysql.Connection[Any], table: str, pages: int, *, times: int = 10) -> None:
    """A table of so many pages in a file of so many times as many: all other rows were deleted."""
    make_table(connection, table, pages * times)
    ask(connection, f"DELETE FROM {SCHEMA}.{table} WHERE id > {pages * ROWS_PER_PAGE}")


def make_indexed_table(connection: pymysql.Connection[Any], table: str, rows: int, *, indexes: int = 3) -> None:
    """A table of small rows whose non-unique secondary indexes have random keys and little room left.

    Columns as in ``make_table``. Each index is on ``(k<n>, filler(24))``, some 45 bytes an entry: 340 entries a leaf
    page of 16 KiB. The indexes are built after the rows are in, sorted, so that no change to them is buffered.
    """
    keys = [f"k{n}" for n in range(1, indexes + 1)]
    _make(connection, table, rows, keys=keys, indexed=(), room=200, filled=24)
    added = ", ".join(f"ADD INDEX {key} ({key}, filler(24))" for key in keys)
    ask(connection, f"ALTER TABLE {SCHEMA}.{table} {added}")
    ask(connection, f"ANALYZE TABLE {SCHEMA}.{table}")


def _make(
    connection: pymysql.Connection[Any],
    table: str,
    rows: int,
    *,
    keys: Sequence[str],
    indexed: Sequence[str],
    room: int,
    filled: int,
) -> None:
    """Create the table and double it until it has its rows. ``room`` and ``filled`` are bytes of the filler."""
    columns = "".join(f"{key} INT NOT NULL, " for key in keys)
    randoms = "FLOOR(RAND() * 2147483647), " * len(keys)
    ask(connection, f"CREATE DATABASE IF NOT EXISTS {SCHEMA}")
    ask(connection, f"DROP TABLE IF EXISTS {SCHEMA}.{table}")
    ask(
        connection,
        f"CREATE TABLE {SCHEMA}.{table} (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, {columns}"
        f"filler VARCHAR({room}) CHARACTER SET latin1 NOT NULL"
        + "".join(f", KEY ({key})" for key in indexed)
        + ") ENGINE=InnoDB",
    )
    ask(connection, f"INSERT INTO {SCHEMA}.{table} SELECT 1, {randoms} REPEAT('x', {filled})")
    have = 1
    while have < rows:
        more = min(have, rows - have)
        ask(
            connection,
            f"INSERT INTO {SCHEMA}.{table} SELECT id + {have}, {randoms} filler"
            f" FROM {SCHEMA}.{table} WHERE id <= {more} ORDER BY id",
        )
        have += more


def scan(connection: pymysql.Connection[Any], table: str) -> None:
    """A serial full scan of the clustered index."""
    ask(connection, f"SELECT SUM(LENGTH(filler)) FROM {SCHEMA}.{table}")


def read_in_batches(
    connection: pymysql.Connection[Any], table: str, rows: int = 1000, columns: str = "id, filler"
) -> None:
    """All rows in the order of the primary key, so many with each statement."""
    last = 0
    page = f"SELECT {columns} FROM {SCHEMA}.{table} WHERE id > {{}} ORDER BY id LIMIT {rows}"
    while batch := ask(connection, page.format(last)):
        last = int(batch[-1][0])


def read_ranges(connection: pymysql.Connection[Any], table: str, pages: int, times: int, rows: int = 100) -> None:
    """Ranges of the primary key that begin at random rows of the first ``pages`` pages."""
    for _ in range(times):
        first = random.randint(1, pages * ROWS_PER_PAGE - rows)
        ask(connection, f"SELECT id, filler FROM {SCHEMA}.{table} WHERE id BETWEEN {first} AND {first + rows - 1}")


def scan_index(connection: pymysql.Connection[Any], table: str, index: str = "k1") -> None:
    """A scan of a secondary index that holds all that the statement needs."""
    ask(connection, f"SELECT SUM({index}) FROM {SCHEMA}.{table} FORCE INDEX ({index})")


def scan_slowly(connection: pymysql.Connection[Any], table: str, pages: int, seconds: float) -> None:
    """A scan as on a slower disk: the server sleeps after every 16 pages, ``seconds`` in total."""
    every = 16
    ask(
        connection,
        f"SELECT SUM(LENGTH(filler) + IF(id % {every * ROWS_PER_PAGE} = 0, SLEEP({seconds * every / pages}), 0))"
        f" FROM {SCHEMA}.{table}",
    )


def count(connection: pymysql.Connection[Any], table: str, *, force_primary: bool = False) -> None:
    """COUNT(*) of the whole table; a parallel read on MySQL 8.0.14+, a serial scan elsewhere."""
    hint = " FORCE INDEX (PRIMARY)" if force_primary else ""
    ask(connection, f"SELECT COUNT(*) FROM {SCHEMA}.{table}{hint}")


def look_up(connection: pymysql.Connection[Any], table: str, pages: int, times: int, seed: int | None = None) -> None:
    """Point lookups by primary key, uniform over the first ``pages`` pages."""
    chooser = random.Random(seed)
    for _ in range(times):
        row = chooser.randint(1, pages * ROWS_PER_PAGE)
        ask(connection, f"SELECT id FROM {SCHEMA}.{table} WHERE id = {row} AND filler <> ''")


class Draws:
    """The sequence of pages that point accesses ask for: deterministic, so that model and server see the same.

    A repeated step continues its sequence.
    """

    def __init__(self) -> None:
        self._choosers: dict[tuple[str, int], random.Random] = {}

    def of(self, points: Points) -> list[int]:
        """The pages of a step, in order; the first page is 0."""
        chooser = self._choosers.setdefault((points.points, points.seed), random.Random(points.seed))
        ranked = list(range(points.pages))
        random.Random(f"{points.points} {points.pages}").shuffle(ranked)  # the same pages are hot in each step
        weights = list(itertools.accumulate((rank + 1) ** -points.skew for rank in range(points.pages)))
        return chooser.choices(ranked, cum_weights=weights, k=points.accesses)


def look_up_pages(connection: pymysql.Connection[Any], table: str, pages: Iterable[int]) -> None:
    """Point lookups by primary key, one per leaf page, in a table from ``make_table``."""
    for page in pages:
        # Page n holds rows 8 n - 4 to 8 n + 3. A lookup of the first of them would visit the page before, too.
        row = max(1, page * ROWS_PER_PAGE)
        ask(connection, f"SELECT id FROM {SCHEMA}.{table} WHERE id = {row} AND filler <> ''")


def insert_rows(
    connection: pymysql.Connection[Any],
    table: str,
    rows: int,
    *,
    indexes: int,
    read_back: bool,
    batch: int = 200,
    seed: int | None = 1,
) -> None:
    """Insert rows with random keys at the end of the table.

    With ``read_back`` each row is looked up by each of its keys at once, like an application that reads its own writes.
    Each buffered change is then merged alone, and the change buffer saves nothing.
    """
    chooser = random.Random(seed)
    names = ", ".join(["id", *(f"k{n}" for n in range(1, indexes + 1)), "filler"])
    [(last,)] = ask(connection, f"SELECT MAX(id) FROM {SCHEMA}.{table}")
    step = 1 if read_back else batch
    for first in range(last + 1, last + rows + 1, step):
        made = [
            (n, *(chooser.randint(0, 2147483647) for _ in range(indexes)))
            for n in range(first, min(first + step, last + rows + 1))
        ]
        values = ", ".join(f"({', '.join(map(str, row))}, '{'x' * 200}')" for row in made)
        ask(connection, f"INSERT INTO {SCHEMA}.{table} ({names}) VALUES {values}")
        for n in range(1, indexes + 1 if read_back else 1):
            ask(connection, f"SELECT id FROM {SCHEMA}.{table} FORCE INDEX (k{n}) WHERE k{n} = {made[0][n]}")


class BackgroundLoad:
    """Work in background threads, each with its own connection, until it is stopped."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def repeat(self, work: Callable[[pymysql.Connection[Any]], None], pause: float) -> None:
        """Repeat ``work``, with ``pause`` seconds in between."""

        def run() -> None:
            with self._connect() as connection:
                while not self._stop.is_set():
                    try:
                        work(connection)
                    except pymysql.MySQLError:
                        if self._stop.wait(1.0):  # the server may be shutting down
                            return
                        connection.ping(reconnect=True)
                    self._stop.wait(pause)

        thread = threading.Thread(target=run, daemon=True)
        self._threads.append(thread)
        thread.start()

    def stop(self, patience: float = 10.0) -> None:
        """Let every thread finish its current work."""
        self._stop.set()
        deadline = time.monotonic() + patience
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
