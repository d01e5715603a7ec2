"""Proofs of count-has-no-small-index, the rule of tables counted without a small index."""

from __future__ import annotations

import random

from lab.harness.measure import CPU, PAGES, Figures, counting, measure, medians, wait_until
from lab.harness.watch import snapshots
from lab.harness.workloads import SCHEMA, ask, count, make_table, with_connection
from lab.proofs.proof import ComparedFigure, CounterProof, EvidenceFigure, PredictedFigure, Proof
from lab.proofs.trial import RuleTrial
from lab.servers import PrivateServer
from lab.servers.sql import execute, global_status, query_number

RULE = "count-has-no-small-index"
TABLE, SUBJECT = "`or``ders`", "or`ders"
"""A name that needs its quotes, as the key's does."""
TABLE_PAGES, COUNTS, TIMED = 1_500, 4, 150
INDEX_SIZE = "SELECT stat_value FROM mysql.innodb_index_stats WHERE index_name = 'count_rows' AND stat_name = 'size'"
SESSIONS, COME, TIMED_SESSIONS, LARGEST_KEY = 40_000, 5_000, 50, 2**62
FLUSHING_SECONDS = 20.0
WATCHED_POOL = {"innodb-buffer-pool-size": "64M", "performance-schema": "ON"}


_SESSIONS_MADE = f"{COME:,} new sessions and as many that end"


@Proof(
    RULE,
    dict.fromkeys(("mysql-9.7", "mysql-5.6", "mariadb-10.11"), WATCHED_POOL),
    condition=f"A table of {{rows:,.0f}} rows, whose only index is its key, a BIGINT, was counted {COUNTS} times.",
    facts=(
        EvidenceFigure("counts", "counts", "counts", within=0.0),
        EvidenceFigure("table_pages", "table_pages", "pages"),
        EvidenceFigure("rows", "rows", "rows"),
        EvidenceFigure("index_pages", "index_pages", "index", within=0.2),  # of a dozen pages, of which one is the root
    ),
    effect=PredictedFigure("pages"),
    measures=(
        ComparedFigure("pages read by one COUNT(*)", "pages", "pages"),
        ComparedFigure("CPU time of one COUNT(*) that reads nothing", "ms", "cpu", times=1000.0),
    ),
    notes="The pages of a count are those read by one right after a restart, the way to the index included.",
)
def _counted_without_index(trial: RuleTrial) -> None:
    server = trial.server
    with server.connect() as connection:
        make_table(connection, "source", TABLE_PAGES)
    execute(
        server,
        f"CREATE TABLE {SCHEMA}.{TABLE} (`the id` BIGINT NOT NULL PRIMARY KEY, filler VARCHAR(1830)) ENGINE=InnoDB",
        f"INSERT INTO {SCHEMA}.{TABLE} SELECT id, REPEAT('x', 1830) FROM {SCHEMA}.source ORDER BY id",
        f"DROP TABLE {SCHEMA}.source",
        f"ANALYZE TABLE {SCHEMA}.{TABLE}",
    )
    one_count = with_connection(server, count, TABLE)
    trial.record(_count_cost(server))
    trial.fires(snapshots(server, one_count, COUNTS), schema=SCHEMA, table=SUBJECT)
    trial.follow()
    trial.silent(snapshots(server, one_count, COUNTS))
    trial.before |= {"counts": COUNTS, "index": query_number(server, INDEX_SIZE)}
    trial.record(_count_cost(server))
    trial.before["rows"] = query_number(server, f"SELECT COUNT(*) FROM {SCHEMA}.{TABLE}")
    trial.take_back()


def _count_cost(server: PrivateServer) -> Figures:
    """One COUNT(*): all its pages, read with an empty pool, and CPU milliseconds with a full one."""
    execute(server, "SET GLOBAL innodb_fast_shutdown = 0")  # else purge reads the table after the start
    server.restart()
    with server.connect() as connection:
        ask(connection, f"SELECT `the id` FROM {SCHEMA}.{TABLE} LIMIT 0")  # reads the dictionary before the count
        pages = measure(server, lambda: count(connection, TABLE), counters=PAGES)["pages"]
        return {"pages": pages, "cpu": measure(server, lambda: count(connection, TABLE), TIMED, counters=CPU)["cpu"]}


@CounterProof(
    RULE,
    {"mysql-9.7": {"innodb-buffer-pool-size": "128M"}},
    folklore="give every table that is counted a small secondary index",
    source="answers to slow COUNT(*) since MySQL 5.0",
    condition=f"A small table, {SESSIONS:,} sessions with random keys, was counted {COUNTS} times. Sessions come"
    " and go all the time.",
    measures=(
        ComparedFigure(f"redo log of {_SESSIONS_MADE}", "bytes", "logged"),
        ComparedFigure(f"pages written by {_SESSIONS_MADE}", "pages", "written"),
        ComparedFigure("CPU time of one COUNT(*)", "ms", "cpu", times=1000.0),
    ),
    notes="Counting takes less CPU, of which a small table takes little; what every change writes is more.",
)
def _small_table(trial: RuleTrial) -> None:
    server, chooser = trial.server, random.Random(1)
    execute(
        server,
        f"CREATE DATABASE {SCHEMA}",
        f"CREATE TABLE {SCHEMA}.sessions (id BIGINT NOT NULL PRIMARY KEY,"
        " data VARCHAR(100) CHARACTER SET latin1 NOT NULL) ENGINE=InnoDB",
    )
    _insert_sessions(server, SESSIONS, chooser)
    execute(server, f"ANALYZE TABLE {SCHEMA}.sessions")
    trial.silent(snapshots(server, with_connection(server, count, "sessions"), COUNTS))
    trial.record(_sessions_cost(server, chooser))
    trial.follow_folklore(f"ALTER TABLE {SCHEMA}.sessions ADD INDEX count_rows (id)")
    trial.record(_sessions_cost(server, chooser))


def _sessions_cost(server: PrivateServer, chooser: random.Random, rounds: int = 3) -> Figures:
    """Redo log and pages written by a round of new and ended sessions, until all is on disk, and CPU of a COUNT(*)."""

    def come_and_go() -> None:
        """Insert sessions and delete as many, those with the lowest keys, which are random, too."""
        _insert_sessions(server, COME, chooser)
        execute(server, f"DELETE FROM {SCHEMA}.sessions ORDER BY id LIMIT {COME}")
        _flush(server)

    spent = []
    for _ in range(rounds):
        _flush(server)
        counters = counting(logged="Innodb_redo_log_current_lsn", written="Innodb_pages_written")
        spent.append(measure(server, come_and_go, counters=counters))
    with server.connect() as connection:
        cpu = measure(server, lambda: count(connection, "sessions"), TIMED_SESSIONS, counters=CPU)["cpu"]
    return medians(spent) | {"cpu": cpu}


def _insert_sessions(server: PrivateServer, rows: int, chooser: random.Random) -> None:
    """Insert rows with random keys, 500 a statement."""
    with server.connect() as connection:
        for first in range(0, rows, 500):
            keys = [chooser.randrange(LARGEST_KEY) for _ in range(min(500, rows - first))]
            values = ", ".join(f"({key}, REPEAT('x', 100))" for key in keys)
            ask(connection, f"INSERT INTO {SCHEMA}.sessions VALUES {values}")


def _flush(server: PrivateServer) -> None:
    """Let the server write all dirty pages."""
    execute(server, "SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0", "SET GLOBAL innodb_max_dirty_pages_pct = 0")
    wait_until(
        lambda: not global_status(server, "Innodb_buffer_pool_pages_dirty"),
        FLUSHING_SECONDS,
        "the server has dirty pages",
    )
    execute(server, "SET GLOBAL innodb_max_dirty_pages_pct = 90")


PROOFS = (_counted_without_index,)
COUNTER_PROOFS = (_small_table,)
