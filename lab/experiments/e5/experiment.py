"""The work of E5: the same load under innodb_change_buffering none and all, in turn, with counters.

There are three parts. In the first the whole table is in the pool, as in the published experiment. In the others
secondary indexes with keys in random order are several times as large as the pool, and some settings are scaled down
with the pool. At their defaults, 128 rollback segments in each of two undo tablespaces fill a pool of 512 pages, a page
cleaner that keeps 1,024 pages free (innodb_lru_scan_depth) empties it, and a master thread that merges 500 pages a
second (innodb_io_capacity / 20) keeps a buffer of 25 pages empty.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from lab.captures.scenarios.change_buffer import EVENTS, INDEXES, make_random_table
from lab.harness.measure import pages_read, pool_statistic
from lab.harness.records import Data, NotShown, Part
from lab.harness.workloads import SCHEMA, insert_rows
from lab.programs import sysbench
from lab.servers import Server
from lab.servers.sql import execute, query_number

SETTINGS = ("none", "all")
ORDER = ("none", "all", "all", "none", "none", "all")
"""Three pairs, so that growth from run to run affects both settings alike."""
THREADS = 4
WRITE_ONLY, INSERT = "oltp_write_only", "oltp_insert"
FIT_ROWS, FIT_POOL = 150_000, "160M"
"""The pool is about four times as large as the table, as in the published experiment."""
LARGE_KEYS, LARGE_POOL = 200_000, "8M"
"""There are four rows per key."""
FILLING = {"none": 2_000, "all": 8_000}
"""Transactions before a run: until the pool is full, and until as many changes are merged as are buffered."""
RANDOM_ROWS, RANDOM_POOL = 240_000, "16M"
RANDOM_INSERTED = 5_000
"""Rows of a run; as many are inserted before it, until as many changes are merged as are buffered."""
COMPACT_HEADER = 5  # bytes of a record in the compact format, REC_N_NEW_EXTRA_BYTES in rem0types.h
K_ENTRY = COMPACT_HEADER + 4 + 6.0  # k INT, DB_ROW_ID
RANDOM_ENTRY = COMPACT_HEADER + 1 + 4 + 24 + 4.0  # length of the prefix, k INT, filler(24), id INT
EMPTY_SECONDS = 60.0

_OPTIONS = {"innodb-stats-auto-recalc": "OFF"}  # new statistics would read pages at any time
_SCALED = _OPTIONS | {
    "innodb-lru-scan-depth": "100",
    "innodb-rollback-segments": "4",
    "innodb-io-capacity": "200",
}
_COUNTERS = {
    "merges": "ibuf_merges",
    "merged_inserts": "ibuf_merges_insert",
    "merged_delete_marks": "ibuf_merges_delete_mark",
    "merged_deletes": "ibuf_merges_delete",
}
RunNumbers = dict[str, float]
"""The numbers of one run: seconds, transactions, pages_read, the counters' growth; change_buffer_pages at its end."""


def fits(server: Server, say: Callable[[str], None]) -> Data:
    """The published commands, on a new table each time; then the same load on all rows of the last table."""
    runs: dict[str, dict[str, list[RunNumbers]]] = {
        load: {setting: [] for setting in SETTINGS} for load in ("typed", "whole")
    }
    indexes: dict[str, int] = {}
    for number, setting in enumerate(ORDER, 1):
        say(f"{setting}, run {number} of {len(ORDER)}")
        _switch(server, setting)
        execute(server, f"DROP DATABASE IF EXISTS {sysbench.SCHEMA}")
        sysbench.prepare(server, WRITE_ONLY, table_size=FIT_ROWS, secondary=True)
        indexes = _leaf_pages(server, sysbench.SCHEMA)
        # As published: without --table-size, so that the load goes to the first 10,000 rows (see README.md).
        typed = _sysbench(server, WRITE_ONLY, seconds=5)
        runs["typed"][setting].append(typed | {"built_leaf_pages": indexes["k_1"]})
    for number, setting in enumerate(2 * ORDER, 1):
        say(f"{setting}, all rows, run {number} of {2 * len(ORDER)}")
        _switch(server, setting)
        runs["whole"][setting].append(_sysbench(server, WRITE_ONLY, seconds=2, table_size=FIT_ROWS))
    return _found(server, runs, indexes, "k_1", K_ENTRY)


def too_large(server: Server, say: Callable[[str], None]) -> Data:
    """Sysbench inserts rows; its index on k, with keys in random order, is more than twice as large as the pool."""
    say("making the table")
    _make_large(server)
    indexes = _leaf_pages(server, sysbench.SCHEMA)
    runs: dict[str, dict[str, list[RunNumbers]]] = {INSERT: {setting: [] for setting in SETTINGS}}
    for number, setting in enumerate(ORDER, 1):
        say(f"{setting}, run {number} of {len(ORDER)}")
        _switch(server, setting)
        load = partial(_sysbench, server, INSERT, table_size=LARGE_KEYS, rand_type="uniform")
        load(events=FILLING[setting])
        runs[INSERT][setting].append(load(seconds=4) | {"cached": _cached(server, "k_1")})
    return _found(server, runs, indexes, "k_1", K_ENTRY)


def random_keys(server: Server, say: Callable[[str], None]) -> Data:
    """Rows are inserted, 200 a statement, into a table with three random indexes that are larger than the pool."""
    say("making the table")
    make_random_table(server, RANDOM_ROWS, RANDOM_POOL)
    indexes = _leaf_pages(server, SCHEMA)
    runs: dict[str, dict[str, list[RunNumbers]]] = {"insert_rows": {setting: [] for setting in SETTINGS}}

    def insert(rows: int) -> None:
        with server.connect() as connection:
            insert_rows(connection, EVENTS, rows, indexes=INDEXES, read_back=False, seed=None)

    for number, setting in enumerate(ORDER, 1):
        say(f"{setting}, run {number} of {len(ORDER)}")
        _switch(server, setting)
        insert(RANDOM_INSERTED)
        run = _measured(server, partial(insert, RANDOM_INSERTED))
        cached = sum(_cached(server, index) for index in indexes if index != "PRIMARY")
        runs["insert_rows"][setting].append(run | {"transactions": RANDOM_INSERTED, "cached": cached})
    return _found(server, runs, indexes, "k", RANDOM_ENTRY)


def _make_large(server: Server) -> None:
    """Sysbench fills a quarter; the server doubles it twice, which is faster and leaves the index as inserts do."""
    sysbench.prepare(server, INSERT, table_size=LARGE_KEYS, secondary=True, rand_type="uniform")
    table = f"{sysbench.SCHEMA}.sbtest1"
    doubled = f"INSERT INTO {table} (k, c, pad) SELECT 1 + FLOOR(RAND() * {LARGE_KEYS}), c, pad FROM {table}"
    execute(server, doubled, doubled, f"ANALYZE TABLE {table}", "SET GLOBAL innodb_fast_shutdown = 0")
    server.restart({"innodb-buffer-pool-size": LARGE_POOL})


def _sysbench(server: Server, test: str, *, seconds: int = 0, events: int = 0, **options: str | int) -> RunNumbers:
    found: list[sysbench.SysbenchReport] = []

    def work() -> None:
        schema = sysbench.SCHEMA
        found.append(
            sysbench.run(server, test, threads=THREADS, seconds=seconds, events=events, schema=schema, **options)
        )

    run = _measured(server, work)
    result = found[0]
    return run | {
        "seconds": result.seconds,
        "transactions": result.transactions,
        "ignored_errors": result.ignored_errors,
        "latency_p95_ms": result.latency_p95,
    }


def _measured(server: Server, work: Callable[[], None]) -> RunNumbers:
    """Seconds, pages read and merges during the work."""
    before, read, began = _counters(server) | _reads(server), pages_read(server), time.perf_counter()
    work()
    seconds = time.perf_counter() - began
    after = _counters(server) | _reads(server)
    grown = {name: after[name] - before[name] for name in after}
    return {
        "seconds": seconds,
        "pages_read": pages_read(server) - read,
        **grown,
        "change_buffer_pages": _metric(server, "ibuf_size"),
    }


def _counters(server: Server) -> dict[str, float]:
    return {name: _metric(server, metric) for name, metric in _COUNTERS.items()}


def _reads(server: Server) -> dict[str, float]:
    """Reads of the undo tablespaces, and of the system tablespace, which holds the change buffer."""
    files = "performance_schema.file_summary_by_instance WHERE FILE_NAME LIKE"
    return {
        name: query_number(server, f"SELECT COALESCE(SUM(COUNT_READ), 0) FROM {files} '%/{file}'")
        for name, file in (("undo_reads", "undo_00_"), ("system_reads", "ibdata1"))
    }


def _metric(server: Server, name: str) -> float:
    return query_number(server, f"SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = '{name}'")


def _switch(server: Server, setting: str) -> None:
    """Set innodb_change_buffering; for none, wait until the buffer is empty."""
    execute(server, f"SET GLOBAL innodb_change_buffering = {setting}")
    deadline = time.monotonic() + EMPTY_SECONDS
    while setting == "none" and _metric(server, "ibuf_size") > 1:
        if time.monotonic() > deadline:
            raise NotShown(f"the change buffer was not empty after {EMPTY_SECONDS:.0f} s")
        time.sleep(0.1)


def _leaf_pages(server: Server, schema: str) -> dict[str, int]:
    """Leaf pages by index, from the last statistics."""
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(
            "SELECT index_name, stat_value FROM mysql.innodb_index_stats"
            f" WHERE database_name = '{schema}' AND stat_name = 'n_leaf_pages'"
        )
        return {str(name): int(pages) for name, pages in cursor.fetchall()}


def _cached(server: Server, index: str) -> float:
    """An index's leaf pages in the pool."""
    return query_number(
        server,
        "SELECT COALESCE(SUM(N_CACHED_PAGES), 0) FROM information_schema.INNODB_CACHED_INDEXES"
        f" JOIN information_schema.INNODB_INDEXES USING (INDEX_ID) WHERE NAME = '{index}'",
    )


def _found(
    server: Server,
    runs: dict[str, dict[str, list[RunNumbers]]],
    indexes: dict[str, int],
    named: str,
    entry_bytes: float,
) -> dict[str, Any]:
    """A part's numbers; ``named`` is the prefix of the names of indexes with keys in random order."""
    return {
        "runs": runs,
        "pool_pages": pool_statistic(server, "POOL_SIZE"),
        "page_bytes": query_number(server, "SELECT @@innodb_page_size"),
        "max_size_pct": query_number(server, "SELECT @@innodb_change_buffer_max_size"),
        "io_capacity": query_number(server, "SELECT @@innodb_io_capacity"),
        "leaf_pages": indexes,
        "random_leaf_pages": sum(pages for name, pages in indexes.items() if name.startswith(named)),
        "entry_bytes": entry_bytes,
    }


FITS, TOO_LARGE, RANDOM = (
    f"mysql-9.7, {what}" for what in ("indexes in the pool", "indexes larger than the pool", "three random indexes")
)
PARTS = (
    Part("experiments/E5", FITS, "mysql-9.7", _OPTIONS | {"innodb-buffer-pool-size": FIT_POOL}, fits, takes=110.0),
    Part(
        "experiments/E5", TOO_LARGE, "mysql-9.7", _SCALED | {"innodb-buffer-pool-size": FIT_POOL}, too_large, takes=75.0
    ),
    Part(
        "experiments/E5", RANDOM, "mysql-9.7", _SCALED | {"innodb-buffer-pool-size": FIT_POOL}, random_keys, takes=60.0
    ),
)
