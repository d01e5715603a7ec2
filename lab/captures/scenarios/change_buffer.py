"""Changes of random secondary indexes, with the change buffer on and off."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pymysql

from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.indexes import INDEXES as INDEX_KINDS
from exporter.collectors.innodb_metrics import INNODB_METRICS
from exporter.collectors.status import STATUS
from exporter.collectors.table_io import TABLE_IO
from lab.captures.scenarios.base import (
    DEFAULT_POOL,
    LITTLE,
    MYSQL,
    Numbers,
    Snapshots,
    Step,
    counter_growth,
    growths,
    in_pools,
    nothing,
    pages_read,
    require,
    scenario,
)
from lab.harness.workloads import SCHEMA, BackgroundLoad, ask, insert_rows, make_indexed_table
from lab.servers import PrivateServer

EVENTS = "events"
ROWS = 400_000  # three secondary indexes of 1,124 pages each
INDEXES = 3
BUFFERED = LITTLE | {"innodb-change-buffering": "all"}  # not the default of MySQL 8.4 and of MariaDB
OFF = LITTLE | {"innodb-change-buffering": "none"}
SMALL_BUFFER = {"innodb-change-buffer-max-size": "5"}  # the default of MySQL 9.7
LARGER_BUFFER = {"innodb-change-buffer-max-size": "25"}
# The master thread merges ten pages a second, and a buffer of half the pool takes long to fill.
SLOWLY_MERGED = BUFFERED | {"innodb-change-buffer-max-size": "50", "innodb-io-capacity": "200"}
_insert = partial(insert_rows, table=EVENTS, indexes=INDEXES, seed=None)


def _under(
    server: PrivateServer, *load: tuple[Callable[[pymysql.Connection[Any]], None], float], seconds: float
) -> Iterator[Step]:
    """A load of works and the pauses between their runs, which goes on for some seconds before the capture."""
    with BackgroundLoad(server.connect) as running:
        for work, pause in load:
            running.repeat(work, pause=pause)
        time.sleep(seconds)
        yield nothing


def _insertion(snapshots: Snapshots) -> Numbers:
    sizes = snapshots[-1][INDEX_SIZES]
    secondary = sum(size.pages for index, size in (sizes.sizes if sizes else {}).items() if not index.clustered)
    pool = in_pools(snapshots[-1], lambda pool: pool.size_pages)
    require(secondary > 1.5 * pool, f"{secondary} pages of secondary indexes in a pool of {pool}")
    return {
        "secondary_index_pages": secondary,
        "pool_pages": pool,
        "pages_read": sum(pages_read(snapshots)),
    }


def _written(snapshots: Snapshots, *, rows: int, least: int) -> Numbers:
    first, last = (int((snapshots[end][STATUS] or {})["innodb_rows_inserted"]) for end in (0, -1))
    read = sum(pages_read(snapshots))
    require(last - first >= rows, f"{last - first} rows were inserted")
    require(read >= least, f"{read} pages were read")
    require(counter_growth(snapshots, "ibuf_merges") == 0, "there were merges")
    return {"rows_inserted": last - first, "pages_read": read}


def _rows(snapshots: Snapshots, kind: str) -> list[int]:
    """Rows fetched or deleted from one snapshot to the next."""
    return growths(snapshots, lambda snapshot: sum(getattr(io, kind) for io in (snapshot[TABLE_IO] or {}).values()))


def merges(snapshots: Snapshots, *, least: float = 1.0, most: float = float("inf")) -> Numbers:
    """At least 200 merges, with ``least`` to ``most`` operations each."""
    done = counter_growth(snapshots, "ibuf_merges")
    operations = sum(counter_growth(snapshots, f"ibuf_merges_{kind}") for kind in ("insert", "delete_mark", "delete"))
    require(done >= 200, f"{done} merges")
    per_merge = operations / done
    require(least <= per_merge <= most, f"{per_merge:.2f} operations a merge")
    return _insertion(snapshots) | {"merges": done, "operations_per_merge": round(per_merge, 2)}


def no_merges(snapshots: Snapshots) -> Numbers:
    """Nothing was buffered: the changes read pages of the secondary indexes."""
    numbers = _insertion(snapshots)
    require(counter_growth(snapshots, "ibuf_merges") == 0, "there were merges")
    require(sum(pages_read(snapshots)) >= 1000, "hardly any page was read")
    return numbers


def resident(snapshots: Snapshots) -> Numbers:
    """Rows are inserted, nothing is buffered, and hardly any page is read."""
    numbers = _written(snapshots, rows=1000, least=0)
    rows, read = numbers["rows_inserted"], numbers["pages_read"]
    require(isinstance(rows, int) and isinstance(read, int) and read <= 0.1 * rows, f"{read} pages for {rows} rows")
    return numbers


@scenario(
    "change-buffer-merges",
    dict.fromkeys((*MYSQL, "mariadb-10.11", "mariadb-10.5"), BUFFERED),
    partial(merges, least=2.0),
)
@scenario("change-buffer-off", dict.fromkeys(MYSQL, OFF), no_merges)
@scenario(
    "change-buffer-off-resident",
    {"mysql-9.7": DEFAULT_POOL | {"innodb-change-buffering": "none"}},
    resident,
)
@contextmanager
def insertion(server: PrivateServer) -> Iterator[Step]:
    """Rows are inserted all the time, 200 a statement, into a table with three secondary indexes on random keys.

    The indexes together are larger than the pool. It has gone on for some seconds when the capture begins.
    """
    with server.connect() as connection:
        make_indexed_table(connection, EVENTS, ROWS, indexes=INDEXES)
    yield from _under(server, (partial(_insert, rows=2000, read_back=False), 0.0), seconds=5.0)


@scenario(
    "change-buffer-single-merges",
    dict.fromkeys((*MYSQL, "mariadb-10.11"), BUFFERED),
    partial(merges, most=1.2),
)
@contextmanager
def insertion_read_back(server: PrivateServer) -> Iterator[Step]:
    """As change-buffer-merges, but a row a statement, and each row is then read by each of its three indexes."""
    with server.connect() as connection:
        make_indexed_table(connection, EVENTS, ROWS, indexes=INDEXES)
    yield from _under(server, (partial(_insert, rows=100, read_back=True), 0.0), seconds=3.0)


@scenario("change-buffer-small", {"mysql-9.7": BUFFERED | SMALL_BUFFER}, partial(merges, most=9.0))
@scenario("change-buffer-larger", {"mysql-9.7": BUFFERED | LARGER_BUFFER}, partial(merges, least=4.0))
@contextmanager
def settled_insertion(server: PrivateServer) -> Iterator[Step]:
    """As change-buffer-merges, into indexes of 200,000 rows whose pages are as full as random insertions leave them."""
    make_random_table(server, ROWS // 2, server.options["innodb-buffer-pool-size"])
    yield from _under(server, (partial(_insert, rows=600, read_back=False), 0.0), seconds=6.0)


def read_for_unique(snapshots: Snapshots) -> Numbers:
    """Insertions read pages, and all secondary indexes are unique."""
    kinds = snapshots[-1][INDEX_KINDS] or {}
    require(bool(kinds) and all(kind & 2 for kind in kinds.values()), "there is an index that is not unique")
    return _written(snapshots, rows=300, least=1000)


@scenario("change-buffer-off-unique", {"mysql-9.7": OFF}, read_for_unique)
@contextmanager
def insertion_of_unique(server: PrivateServer) -> Iterator[Step]:
    """As change-buffer-off, but the three secondary indexes are unique ones."""
    with server.connect() as connection:
        make_indexed_table(connection, EVENTS, ROWS, indexes=INDEXES)
        make_unique(connection)
    yield from _under(server, (partial(_insert, rows=200, read_back=False), 0.0), seconds=3.0)


def looked_up(snapshots: Snapshots) -> Numbers:
    """Queries read pages, and few rows are inserted."""
    numbers = _written(snapshots, rows=1, least=1000)
    inserted = numbers["rows_inserted"]
    require(isinstance(inserted, int) and inserted < 500, f"{inserted} rows were inserted")
    return numbers


@scenario("change-buffer-off-lookups", dict.fromkeys(MYSQL, OFF), looked_up)
@contextmanager
def lookups(server: PrivateServer) -> Iterator[Step]:
    """Rows are looked up by random keys all the time, by each of the three indexes, and some ten a second inserted."""
    with server.connect() as connection:
        make_indexed_table(connection, EVENTS, ROWS, indexes=INDEXES)
    yield from _under(server, (look_up_keys, 0.0), (partial(_insert, rows=1, read_back=False), 0.1), seconds=1.0)


def mixed(snapshots: Snapshots) -> Numbers:
    """Insertions and queries read pages of the same table."""
    numbers = _written(snapshots, rows=500, least=1000)
    fetched = sum(_rows(snapshots, "fetched"))
    require(fetched >= 500, f"{fetched} rows were looked up")
    return numbers | {"rows_looked_up": fetched}


@scenario("change-buffer-off-mixed", {"mysql-9.7": OFF}, mixed)
@contextmanager
def insertion_and_lookups(server: PrivateServer) -> Iterator[Step]:
    """Some 1,000 rows a second are inserted, and rows are looked up by random keys of the same indexes all the time."""
    make_random_table(server, ROWS // 2, server.options["innodb-buffer-pool-size"])
    insert = partial(_insert, rows=50, read_back=False, batch=50)
    yield from _under(server, (insert, 0.05), (look_up_keys, 0.0), seconds=1.0)


def deleted(snapshots: Snapshots) -> Numbers:
    """Deletions read pages, and nothing is inserted."""
    numbers = _written(snapshots, rows=0, least=1000)
    gone = sum(_rows(snapshots, "deleted"))
    require(gone >= 200, f"{gone} rows were deleted")
    return numbers | {"rows_deleted": gone}


@scenario("change-buffer-off-deletes", {"mysql-9.7": OFF}, deleted)
@contextmanager
def deletion(server: PrivateServer) -> Iterator[Step]:
    """Rows are deleted by random primary keys all the time from a table with three random indexes."""
    make_random_table(server, ROWS // 2, server.options["innodb-buffer-pool-size"])
    yield from _under(server, (partial(delete_rows, most=ROWS // 2), 0.0), seconds=1.0)


def growing(snapshots: Snapshots) -> Numbers:
    """The change buffer grows throughout, and part of it is merged."""
    sizes = [(snapshot[INNODB_METRICS] or {})["ibuf_size"] for snapshot in snapshots]
    require(sizes == sorted(sizes) and sizes[-1] - sizes[0] >= 30, f"ibuf_size went {sizes}")
    merges = counter_growth(snapshots, "ibuf_merges")
    require(merges > 0, "nothing was merged")
    return {"ibuf_size_pages": sizes, "merges": merges}


@scenario("change-buffer-growing", {"mysql-9.7": SLOWLY_MERGED}, growing)
@contextmanager
def paced_insertion(server: PrivateServer) -> Iterator[Step]:
    """Some 600 rows a second are inserted into a table with three random indexes, from an empty change buffer on."""
    make_random_table(server, ROWS // 2, server.options["innodb-buffer-pool-size"])
    yield from _under(server, (partial(_insert, rows=60, read_back=False, batch=60), 0.1), seconds=0.0)


def make_random_table(server: PrivateServer, rows: int, pool: str) -> None:
    """Create a table with three secondary indexes, whose leaf pages are as full as random insertions leave them.

    Then restart the server with an empty buffer pool of the size ``pool``.
    """
    with server.connect() as connection:
        make_indexed_table(connection, EVENTS, rows // 2, indexes=INDEXES)
        randoms = "FLOOR(RAND() * 2147483647), " * INDEXES
        ask(
            connection,
            f"INSERT INTO {SCHEMA}.{EVENTS} SELECT id + {rows // 2}, {randoms} filler FROM {SCHEMA}.{EVENTS}",
            f"ANALYZE TABLE {SCHEMA}.{EVENTS}",
            "SET GLOBAL innodb_fast_shutdown = 0",
        )
    server.restart({"innodb-buffer-pool-size": pool})


def make_unique(connection: pymysql.Connection[Any]) -> None:
    """Replace the table's secondary indexes by unique ones."""
    changes = ", ".join(f"DROP KEY k{n}, ADD UNIQUE KEY u{n} (k{n}, id, filler(24))" for n in range(1, INDEXES + 1))
    ask(connection, f"ALTER TABLE {SCHEMA}.{EVENTS} {changes}", f"ANALYZE TABLE {SCHEMA}.{EVENTS}")


def look_up_keys(connection: pymysql.Connection[Any], times: int = 200) -> None:
    """Look up rows by random keys, through each index in turn."""
    chooser = random.Random()
    for number in range(times):
        key = f"k{number % INDEXES + 1}"
        ask(
            connection,
            f"SELECT id FROM {SCHEMA}.{EVENTS} FORCE INDEX ({key}) WHERE {key} >= {chooser.randint(0, 2147483647)}"
            f" ORDER BY {key} LIMIT 1",
        )


def delete_rows(connection: pymysql.Connection[Any], most: int, rows: int = 20) -> None:
    """Delete rows by random primary keys up to ``most``, one a statement."""
    chooser = random.Random()
    for _ in range(rows):
        ask(connection, f"DELETE FROM {SCHEMA}.{EVENTS} WHERE id = {chooser.randint(1, most)}")
