"""Proofs of count-has-no-small-index, the rule of tables counted without a small index."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from lab.harness.measure import pages_read
from lab.harness.records import Data, NotShown
from lab.harness.watch import snapshots
from lab.harness.workloads import SCHEMA, count, make_table
from lab.proofs.base import CounterProof, Proof
from lab.proofs.cpu import cpu_milliseconds
from lab.proofs.record import Comparison, CounterProofRecord, EvidenceCheck
from lab.proofs.trial import Trial
from lab.servers import Server
from lab.servers.sql import execute, query_number

_RULE = "count-has-no-small-index"
_TABLE = "`or``ders`"  # a name that needs its quotes, as the key's does
_PAGES, _COUNTS = 1_500, 4
_INDEX_WITHIN = 0.2  # of a dozen pages, of which one is the root
_WATCHED = {"innodb-buffer-pool-size": "64M", "performance-schema": "ON"}
_INDEX_SIZE = "SELECT stat_value FROM mysql.innodb_index_stats WHERE index_name = 'count_rows' AND stat_name = 'size'"


@dataclass(frozen=True)
class _Count:
    """The cost of one COUNT(*): all its pages, read with an empty pool, and CPU with a full one."""

    pages: float
    cpu_milliseconds: float


def _fill(server: Server) -> None:
    """Create a table of ``_PAGES`` pages with a BIGINT key and no other index."""
    with server.connect() as connection:
        make_table(connection, "source", _PAGES)
    execute(
        server,
        f"CREATE TABLE {SCHEMA}.{_TABLE} (`the id` BIGINT NOT NULL PRIMARY KEY, filler VARCHAR(1830)) ENGINE=InnoDB",
        f"INSERT INTO {SCHEMA}.{_TABLE} SELECT id, REPEAT('x', 1830) FROM {SCHEMA}.source ORDER BY id",
        f"DROP TABLE {SCHEMA}.source",
        f"ANALYZE TABLE {SCHEMA}.{_TABLE}",
    )


def _counted(server: Server, times: int = 150) -> _Count:
    execute(server, "SET GLOBAL innodb_fast_shutdown = 0")  # else purge reads the table after the start
    server.restart()
    with server.connect() as connection:
        with connection.cursor() as cursor:  # reads the dictionary before the count
            cursor.execute(f"SELECT `the id` FROM {SCHEMA}.{_TABLE} LIMIT 0")
        one = partial(count, connection, _TABLE)
        before = pages_read(server)
        one()
        pages = pages_read(server) - before
        return _Count(pages, cpu_milliseconds(server, one, times))


def _counts(server: Server, table: str) -> Callable[[], None]:
    def one() -> None:
        with server.connect() as connection:
            count(connection, table)

    return one


def _prove(trial: Trial) -> Data:
    server = trial.server
    trial.say("the table is made")
    _fill(server)
    before = _counted(server)
    trial.fires(snapshots(server, _counts(server, _TABLE), _COUNTS), schema=SCHEMA, table="or`ders")
    trial.follow()
    trial.silent(snapshots(server, _counts(server, _TABLE), _COUNTS))
    size = query_number(server, _INDEX_SIZE)
    after = _counted(server)
    rows = query_number(server, f"SELECT COUNT(*) FROM {SCHEMA}.{_TABLE}")
    trial.take_back()
    return trial.proved(
        condition=f"A table of {rows:,.0f} rows, whose only index is its key, a BIGINT, was counted {_COUNTS} times.",
        facts=[
            EvidenceCheck(name="counts", said=trial.evidence("counts"), known=_COUNTS, within=0),
            EvidenceCheck(name="table_pages", said=trial.evidence("table_pages"), known=before.pages),
            EvidenceCheck(name="rows", said=trial.evidence("rows"), known=rows),
            EvidenceCheck(name="index_pages", said=trial.evidence("index_pages"), known=size, within=_INDEX_WITHIN),
        ],
        effects=[trial.effect(before.pages, after.pages)],
        measures=[
            Comparison(what="pages read by one COUNT(*)", unit="pages", before=before.pages, after=after.pages),
            Comparison(
                what="CPU time of one COUNT(*) that reads nothing",
                unit="ms",
                before=before.cpu_milliseconds,
                after=after.cpu_milliseconds,
            ),
        ],
        notes="The pages of a count are those read by one right after a restart, the way to the index included.",
    )


_SESSIONS, _COME = 40_000, 5_000
_LARGEST_KEY = 2**62
_ADDED = f"ALTER TABLE {SCHEMA}.sessions ADD INDEX count_rows (id)"
_STATUS = "SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = "


def _insert_sessions(server: Server, rows: int, chooser: random.Random) -> None:
    """Insert rows with random keys, 500 a statement."""
    with server.connect() as connection, connection.cursor() as cursor:
        for first in range(0, rows, 500):
            keys = [chooser.randrange(_LARGEST_KEY) for _ in range(min(500, rows - first))]
            values = ", ".join(f"({key}, REPEAT('x', 100))" for key in keys)
            cursor.execute(f"INSERT INTO {SCHEMA}.sessions VALUES {values}")


def _flush(server: Server, patience: float = 20.0) -> None:
    """Let the server write all dirty pages.

    Raises:
        NotShown: Some are left after ``patience`` seconds.
    """
    execute(server, "SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0", "SET GLOBAL innodb_max_dirty_pages_pct = 0")
    deadline = time.monotonic() + patience
    while query_number(server, f"{_STATUS} 'Innodb_buffer_pool_pages_dirty'"):
        if time.monotonic() > deadline:
            raise NotShown("the server does not write its dirty pages")
        time.sleep(0.05)
    execute(server, "SET GLOBAL innodb_max_dirty_pages_pct = 90")


@dataclass(frozen=True)
class _Sessions:
    """The writes of a round of new and ended sessions, and the CPU time of one COUNT(*)."""

    logged_bytes: float
    written_pages: float
    cpu_milliseconds: float


def _round(server: Server, chooser: random.Random) -> tuple[float, float]:
    """Insert sessions and delete as many, those with the lowest keys, which are random, too.

    Returns:
        Bytes of redo log, and pages written until all of it is on disk.
    """
    logged, written = (f"{_STATUS} '{name}'" for name in ("Innodb_redo_log_current_lsn", "Innodb_pages_written"))
    _flush(server)
    before = query_number(server, logged), query_number(server, written)
    _insert_sessions(server, _COME, chooser)
    execute(server, f"DELETE FROM {SCHEMA}.sessions ORDER BY id LIMIT {_COME}")
    _flush(server)
    return query_number(server, logged) - before[0], query_number(server, written) - before[1]


def _sessions(server: Server, chooser: random.Random, rounds: int = 3) -> _Sessions:
    spent = [_round(server, chooser) for _ in range(rounds)]
    with server.connect() as connection:
        cpu = cpu_milliseconds(server, partial(count, connection, "sessions"), 50)
    logged, written = map(statistics.median, zip(*spent, strict=True))
    return _Sessions(logged, written, cpu)


def _counter(trial: Trial) -> CounterProofRecord:
    server, chooser = trial.server, random.Random(1)
    execute(
        server,
        f"CREATE DATABASE {SCHEMA}",
        f"CREATE TABLE {SCHEMA}.sessions (id BIGINT NOT NULL PRIMARY KEY,"
        " data VARCHAR(100) CHARACTER SET latin1 NOT NULL) ENGINE=InnoDB",
    )
    _insert_sessions(server, _SESSIONS, chooser)
    execute(server, f"ANALYZE TABLE {SCHEMA}.sessions")
    trial.silent(snapshots(server, _counts(server, "sessions"), _COUNTS))
    before = _sessions(server, chooser)
    execute(server, _ADDED)
    after = _sessions(server, chooser)
    made = f"{_COME:,} new sessions and as many that end"
    return CounterProofRecord(
        folklore="give every table that is counted a small secondary index",
        source="answers to slow COUNT(*) since MySQL 5.0",
        condition=f"A small table, {_SESSIONS:,} sessions with random keys, was counted {_COUNTS} times. Sessions come"
        " and go all the time.",
        followed=(_ADDED,),
        measures=(
            Comparison(what=f"redo log of {made}", unit="bytes", before=before.logged_bytes, after=after.logged_bytes),
            Comparison(
                what=f"pages written by {made}", unit="pages", before=before.written_pages, after=after.written_pages
            ),
            Comparison(
                what="CPU time of one COUNT(*)",
                unit="ms",
                before=before.cpu_milliseconds,
                after=after.cpu_milliseconds,
            ),
        ),
        notes="Counting takes less CPU, of which a small table takes little; what every change writes is more.",
    )


PROOFS = (
    Proof(
        _RULE,
        dict.fromkeys(("mysql-9.7", "mysql-5.6", "mariadb-10.11"), _WATCHED),
        _prove,
        takes=20.0,
    ),
)
COUNTER_PROOFS = (CounterProof(_RULE, "mysql-9.7", {"innodb-buffer-pool-size": "128M"}, _counter, takes=20.0),)
