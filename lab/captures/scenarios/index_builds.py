"""Index builds."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pymysql

from exporter.collectors.ddl import DDL
from exporter.snapshot import Index
from lab.captures.scenarios.base import (
    DEFAULT_POOL,
    Numbers,
    Snapshots,
    Step,
    leaf_pages,
    nothing,
    require,
    scenario,
)
from lab.harness.records import NotShown
from lab.harness.workloads import SCHEMA, ask, make_indexed_table
from lab.servers import PrivateServer

EVENTS = "events"
NOTES, NOTES_ROWS = "notes", 200_000
FEW_ROWS = 20_000
BY_TEXT = Index(SCHEMA, NOTES, "by_text")
_FOUR = DEFAULT_POOL | {"innodb-parallel-read-threads": "4", "innodb-ddl-threads": "4"}
_THIRTY_TWO = DEFAULT_POOL | {"innodb-parallel-read-threads": "32", "innodb-ddl-threads": "32"}


def make_notes(connection: pymysql.Connection[Any], rows: int, *, key: str = "INT") -> None:
    """Create a table with a secondary index on a random text of 250 bytes, about 66 entries a leaf page.

    ``key`` is the type of its primary key.
    """
    ask(connection, f"CREATE DATABASE IF NOT EXISTS {SCHEMA}")
    ask(
        connection,
        f"CREATE TABLE {SCHEMA}.{NOTES} (id {key} NOT NULL PRIMARY KEY,"
        " text CHAR(250) CHARACTER SET latin1 NOT NULL, other INT NOT NULL) ENGINE=InnoDB",
    )
    random_text = "RPAD(LPAD(FLOOR(RAND() * 1000000000), 10, '0'), 250, 'x')"
    ask(connection, f"INSERT INTO {SCHEMA}.{NOTES} SELECT 1, {random_text}, 0")
    have = 1
    while have < rows:
        more = min(have, rows - have)
        ask(
            connection,
            f"INSERT INTO {SCHEMA}.{NOTES} SELECT id + {have}, {random_text}, 0"
            f" FROM {SCHEMA}.{NOTES} WHERE id <= {more} ORDER BY id",
        )
        have += more
    ask(connection, f"ALTER TABLE {SCHEMA}.{NOTES} ADD INDEX {BY_TEXT.index} (text)")
    ask(connection, f"ANALYZE TABLE {SCHEMA}.{NOTES}")


def rebuild(connection: pymysql.Connection[Any]) -> None:
    """Build an index like the table's own, and drop it."""
    ask(connection, f"ALTER TABLE {SCHEMA}.{NOTES} ADD INDEX again (text, other)")
    ask(connection, f"ALTER TABLE {SCHEMA}.{NOTES} DROP INDEX again")


def built(snapshots: Snapshots, *, least_pages: int = 2_500, most_pages: int = 1 << 32) -> Numbers:
    """Index builds ended between all collections, and the table has an index of the expected size."""
    first, last = snapshots[0][DDL], snapshots[-1][DDL]
    if first is None or last is None:
        raise NotShown("no index builds are known")
    builds = (last.builds or 0) - (first.builds or 0)
    require(builds >= len(snapshots) - 1, f"{builds} ALTER TABLE and CREATE INDEX")
    pages = leaf_pages(snapshots, BY_TEXT)
    require(least_pages <= pages <= most_pages, f"{pages} leaf pages")
    seconds = (last.build_seconds or 0.0) - (first.build_seconds or 0.0)
    return {"statements": builds, "statement_seconds": round(seconds, 1), "leaf_pages": pages}


@scenario("index-builds", {"mysql-9.7": _FOUR}, built, collections=5)
@scenario("index-builds-followed", {"mysql-9.7": _FOUR | {"innodb-ddl-buffer-size": "64M"}}, built, collections=5)
@scenario("index-builds-many-readers", {"mysql-9.7": _THIRTY_TWO}, built, collections=5)
@contextmanager
def index_builds(server: PrivateServer) -> Iterator[Step]:
    """ALTER TABLE shop.notes ADD INDEX on a text of 250 bytes, and DROP INDEX, between two collections.

    The table has an index on that text already, of 200,000 entries.
    """
    with server.connect() as connection:
        make_notes(connection, NOTES_ROWS)
        yield partial(rebuild, connection)


@scenario(
    "small-index-builds",
    {"mysql-9.7": _FOUR},
    partial(built, least_pages=100, most_pages=500),
    collections=5,
)
@contextmanager
def small_index_builds(server: PrivateServer) -> Iterator[Step]:
    """As index-builds, of 20,000 entries."""
    with server.connect() as connection:
        make_notes(connection, FEW_ROWS)
        yield partial(rebuild, connection)


def building(snapshots: Snapshots) -> Numbers:
    """An index build begins in the capture, and still runs at its end."""
    seen = [ddl for snapshot in snapshots if (ddl := snapshot[DDL]) is not None and ddl.stages]
    last = snapshots[-1][DDL]
    require(len(seen) >= 3, f"a stage in {len(seen)} snapshots only")
    require(last is not None and bool(last.stages), "the build was over at the last snapshot")
    threads = max(ddl.threads or 0 for ddl in seen)
    memory = max(ddl.memory_bytes or 0 for ddl in seen)
    require(threads > 0, "no thread of the build was seen")
    require(memory > 0, "no memory of the build was seen")
    return {
        "snapshots_with_stages": len(seen),
        "ddl_threads": threads,
        "ddl_memory_bytes": memory,
        "stages": sorted({stage.name for ddl in seen for stage in ddl.stages or ()}),
    }


@scenario("index-build", {"mysql-9.7": {}}, building, period=0.8)
@contextmanager
def index_build(server: PrivateServer) -> Iterator[Step]:
    """ALTER TABLE … ADD INDEX of six indexes on 1,000,000 rows, begun after the first two collections.

    The consumer events_stages_current was enabled before.
    """
    with server.connect() as connection:
        make_indexed_table(connection, EVENTS, 1_000_000, indexes=1)
        ask(
            connection,
            "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME = 'events_stages_current'",
        )
    added = ", ".join(f"ADD INDEX built_{n} (filler(24), k1, id)" for n in range(1, 7))

    def build() -> None:
        with contextlib.suppress(pymysql.MySQLError), server.connect() as connection:
            ask(connection, f"ALTER TABLE {SCHEMA}.{EVENTS} {added}")

    builder = threading.Thread(target=build, daemon=True)
    steps = iter((nothing, builder.start))

    def step() -> None:
        next(steps, nothing)()

    yield step
    server.kill()  # its data is not needed: do not wait for the end of the build
    builder.join()
