"""The work of E1: COUNT(*) of a table that is not in the pool, by 1 to 32 threads, and of its copy in key order."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from lab.harness.measure import leaf_pages
from lab.harness.records import Data, Part
from lab.harness.workloads import SCHEMA
from lab.processes.usage import cpu_seconds
from lab.servers import Server
from lab.servers.sql import execute, query_number

Say = Callable[[str], None]

THREADS = (1, 2, 4, 8, 16, 32)

ROWS = 2**20
ROUNDS = 5
GROWN, ORDERED = "item", "item_in_order"
PARALLEL, SERIAL = "mysql-9.7", "mysql-5.6"
OPTIONS = {
    "innodb-buffer-pool-size": "256M",  # holds both tables: no count reads a page twice
    "innodb-flush-method": "O_DIRECT",
    "innodb-doublewrite": "OFF",
}
_THREAD = "SELECT THREAD_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()"
_COUNTERS = {
    "pages": "Innodb_pages_read",
    "waited_for": "Innodb_buffer_pool_reads",
    "read_ahead": "Innodb_buffer_pool_read_ahead",
}


def make_items(server: Server) -> None:
    """Create the published table in the published way: doubled with only its key, then filled.

    The rows grow, so that every page splits, and the new halves go to the end of the file.
    """
    execute(
        server,
        f"CREATE DATABASE {SCHEMA}",
        f"CREATE TABLE {SCHEMA}.{GROWN} (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(10), description VARCHAR(30),"
        " price INT UNSIGNED, created_at DATETIME) ENGINE=InnoDB",
        f"INSERT INTO {SCHEMA}.{GROWN} (id) VALUES (1)",
    )
    have = 1
    while have < ROWS:
        execute(server, f"INSERT INTO {SCHEMA}.{GROWN} (id) SELECT id + {have} FROM {SCHEMA}.{GROWN} ORDER BY id")
        have *= 2
    execute(
        server,
        f"UPDATE {SCHEMA}.{GROWN} SET name = CONCAT('item', FLOOR(RAND() * 1000000)),"
        " description = CONCAT('description ', FLOOR(RAND() * 1000000000000)), price = RAND() * 1000000,"
        " created_at = '2019-01-21' - INTERVAL FLOOR(RAND() * 10000000) SECOND",
        f"ANALYZE TABLE {SCHEMA}.{GROWN}",
    )


def copy_in_order(server: Server) -> None:
    """Create a copy with pages in key order, like a table with insertions only at its end."""
    execute(
        server,
        f"CREATE TABLE {SCHEMA}.{ORDERED} LIKE {SCHEMA}.{GROWN}",
        f"INSERT INTO {SCHEMA}.{ORDERED} SELECT * FROM {SCHEMA}.{GROWN} ORDER BY id",
        f"ANALYZE TABLE {SCHEMA}.{ORDERED}",
    )


def subtrees(server: Server, table: str) -> int:
    """Subtrees of the root of its clustered index, the units of a parallel read; from the data file of an idle server.

    Counts PAGE_LEVEL (page0types.h) in pages of the type FIL_PAGE_INDEX (fil0types.h).
    """
    size, kind, level, index_page = 16384, 24, 38 + 26, 17855
    data = (server.datadir / SCHEMA / f"{table}.ibd").read_bytes()
    levels = Counter(
        int.from_bytes(data[page + level : page + level + 2])
        for page in range(0, len(data), size)
        if int.from_bytes(data[page + kind : page + kind + 2]) == index_page
    )
    return levels[max(levels) - 1]


def counted(server: Server, table: str, threads: int) -> dict[str, float]:
    """One COUNT(*) of an open table.

    Returns:
        ``seconds``; ``threads_made``, the created threads; ``load``, the machine's load average (tasks that run or wait
        for a core or a disk, over a minute); ``cpu_seconds`` of the server; ``pages`` read, and among them
        ``waited_for`` and ``read_ahead``; ``wait_seconds`` of all threads for reads of the table's file, without
        read-ahead.
    """
    with server.connect() as connection, connection.cursor() as cursor:
        if server.name == PARALLEL:
            cursor.execute(f"SET SESSION innodb_parallel_read_threads = {threads}")
        cursor.execute(f"SELECT id FROM {SCHEMA}.{table} WHERE id = 1")
        cursor.fetchall()
        before, threads_before = _counters(server, table), query_number(server, _THREAD)
        began = time.perf_counter()
        cursor.execute(f"SELECT COUNT(*) FROM {SCHEMA}.{table}")
        cursor.fetchall()
        took = time.perf_counter() - began
    threads_made = query_number(server, _THREAD) - threads_before - 1  # without the one of this query
    after = _counters(server, table)
    spent = {name: round(after[name] - before[name], 4) for name in after}
    return {"seconds": round(took, 4), "threads_made": threads_made, "load": os.getloadavg()[0]} | spent


def _counters(server: Server, table: str) -> dict[str, float]:
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL STATUS LIKE 'Innodb%'")
        status = dict(cursor.fetchall())
    found = {name: float(status[variable]) for name, variable in _COUNTERS.items()}
    found["cpu_seconds"] = round(cpu_seconds(server.pid), 2)
    found["wait_seconds"] = query_number(
        server,
        "SELECT SUM(SUM_TIMER_READ) / 1e12 FROM performance_schema.file_summary_by_instance"
        f" WHERE FILE_NAME LIKE '%{SCHEMA}/{table}.ibd'",
    )
    return found


def measure(server: Server, say: Say, tables: Sequence[str], threads: Sequence[int]) -> Data:
    """Count every table with every number of threads, in rounds, each time after a restart."""
    say("filling the table")
    make_items(server)
    if ORDERED in tables:
        copy_in_order(server)
    execute(server, "SET GLOBAL innodb_fast_shutdown = 0")  # so that no purge runs during the counts
    counts: dict[str, dict[str, list[dict[str, float]]]] = {
        table: {str(each): [] for each in threads} for table in tables
    }
    for number in range(1, ROUNDS + 1):
        for each in threads:
            say(f"round {number} of {ROUNDS}, {each} threads")
            server.restart()
            for table in tables:
                counts[table][str(each)].append(counted(server, table, each))
    return {
        "cores": len(os.sched_getaffinity(0)),
        "tables": {
            table: {
                "leaf_pages": leaf_pages(server, SCHEMA, table),
                "subtrees": subtrees(server, table),
                "counts": counts[table],
            }
            for table in tables
        },
    }


PARTS = (
    Part(
        "experiments/E1",
        PARALLEL,
        PARALLEL,
        OPTIONS | {"innodb-redo-log-capacity": "512M"},
        partial(measure, tables=(GROWN, ORDERED), threads=THREADS),
        takes=170.0,
    ),
    Part(
        "experiments/E1",
        SERIAL,
        SERIAL,
        OPTIONS | {"innodb-log-file-size": "256M"},
        partial(measure, tables=(GROWN,), threads=(1,)),
        takes=60.0,
    ),
)
