"""The sidecar's statements write nothing: no temporary table on disk, no InnoDB row, no page."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pymysql
import pytest

from exporter.collectors import COLLECTORS
from exporter.collectors.metric_kinds import METRIC_KINDS
from exporter.sampling.sampler import Sampler
from lab import workloads
from lab.servers import Server

StartServer = Callable[..., Server]
Watch = Callable[..., Sampler]

COUNTERS = (
    "Created_tmp_disk_tables",
    "Innodb_buffer_pool_write_requests",
    "Innodb_pages_written",
    "Innodb_rows_deleted",
    "Innodb_rows_inserted",
    "Innodb_rows_updated",
)
ALWAYS = [replace(each, every=0.0) for each in (*COLLECTORS, METRIC_KINDS)]
"""Each source is read in each collection."""
COLLECTIONS = 4
ATTEMPTS = 4
"""The server's own threads write now and then; the sidecar would write in every attempt."""
ALONE, SETTLING = 4, 15
"""Passes without the sidecar that must read alike, and how many there may be until they do."""
FLAT = 0.02
"""Share by which passes may differ."""

HARD = {"tmp_table_size": "1024"}
HARDER = HARD | {"big_tables": "ON"}
SETTINGS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "mysql-9.7-temptable": ("mysql-9.7", HARD | {"temptable_max_ram": "8M", "temptable_max_mmap": "0"}),
    "mysql-9.7-memory": ("mysql-9.7", HARDER | {"internal_tmp_mem_storage_engine": "MEMORY"}),
    "mysql-5.6": ("mysql-5.6", HARDER),
    "mariadb-11.8": ("mariadb-11.8", HARD | {"performance_schema": "ON"}),
    "mariadb-10.11": ("mariadb-10.11", HARD | {"performance_schema": "ON"}),
    "mariadb-10.5": ("mariadb-10.5", HARDER | {"performance_schema": "ON"}),
}
"""Settings that put temporary tables on disk early."""


def prepare(server: Server) -> None:
    """Tables of each kind that a statement names, with statistics."""
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE shop")
        columns = "(id INT PRIMARY KEY, a INT, b INT, KEY (a), KEY (b, a)) ENGINE=InnoDB"
        for table in ("plain", "Plain", "`x#p#y`"):
            cursor.execute(f"CREATE TABLE shop.{table} {columns}")
            cursor.execute(f"INSERT INTO shop.{table} VALUES (1, 1, 1), (2, 2, 2)")
        cursor.execute(f"CREATE TABLE shop.parts {columns} PARTITION BY HASH (id) PARTITIONS 3")
        cursor.execute("ANALYZE TABLE shop.plain, shop.parts")


def counters(server: Server) -> dict[str, int]:
    """The server's counters, read without a temporary table on disk."""
    source = "performance_schema" if server.name == "mysql-9.7" else "information_schema"
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION tmp_table_size = 16777216, SESSION big_tables = OFF")
        cursor.execute(f"SELECT * FROM {source}.global_status WHERE VARIABLE_NAME IN {COUNTERS}")
        return {name: int(value) for name, value in cursor.fetchall()}


def quiet(server: Server) -> dict[str, int]:
    """The counters, once the server's own threads have left them alone for half a second."""
    before = counters(server)
    for _ in range(60):
        time.sleep(0.5)
        now = counters(server)
        if now == before:
            break
        before = now
    return before


@pytest.mark.parametrize("settings", SETTINGS)
async def test_collections_leave_no_trace(start_server: StartServer, watch: Watch, settings: str) -> None:
    name, options = SETTINGS[settings]
    server = start_server(name, **options)
    prepare(server)
    sampler = watch(server, interval=0.1, collectors=ALWAYS)
    snapshot = await sampler.collect()
    failed = {each for each, outcome in snapshot.outcomes.items() if outcome.failure not in (None, "absent")}
    assert failed == set()
    moved = {}
    for _ in range(ATTEMPTS):
        before = quiet(server)
        for _ in range(COLLECTIONS):
            await sampler.collect()
        after = counters(server)
        moved = {counter: after[counter] - before[counter] for counter in before if after[counter] != before[counter]}
        if not moved:
            break
    assert before
    assert moved == {}


async def test_passes_read_as_many_pages_beside_the_sidecar(start_server: StartServer, watch: Watch) -> None:
    """A table larger than the old sublist, in a full pool.

    A page written wakes the page cleaner, which refills the free list, so that the midpoint moves. With the statements
    of earlier versions passes read 4,557, 4,580, 3,972, 3,402, 953, 443 and then no page at all.
    """
    server = start_server("mysql-9.7", innodb_buffer_pool_size="128M", internal_tmp_mem_storage_engine="MEMORY")
    with server.connect() as connection:
        workloads.make_table(connection, "others", 9000)
        workloads.make_table(connection, "scanned", 4550)
        connection.cursor().execute("SET GLOBAL innodb_fast_shutdown = 0")  # nothing is left to purge
    server.restart()
    sampler = watch(server, interval=0.1, collectors=ALWAYS)
    with server.connect() as connection:
        workloads.scan(connection, "others")
        for _ in range(3):
            workloads.scan(connection, "scanned")
        alone: list[int] = []
        # The server writes pages for some seconds after its start, and each write moves the midpoint once.
        while len(alone) < SETTLING and not _alike(alone[-ALONE:]):
            alone.append(await _pages_read(connection))
        beside = [await _pages_read(connection, sampler) for _ in range(8)]
    assert _alike(alone[-ALONE:])
    assert min(alone[-ALONE:]) > 3000
    assert max(abs(each - alone[-1]) for each in beside) <= FLAT * alone[-1]


def _alike(passes: list[int]) -> bool:
    return len(passes) == ALONE and max(passes) - min(passes) <= FLAT * max(passes)


async def _pages_read(connection: "pymysql.Connection[Any]", sampler: Sampler | None = None) -> int:
    """Pages that a scan reads. The second in which the page cleaner looks once passes, with collections or without."""
    began, before = time.monotonic(), _all_pages_read(connection)
    workloads.scan(connection, "scanned")
    read = _all_pages_read(connection) - before
    if sampler is not None:
        for _ in range(2):
            await sampler.collect()
    await asyncio.sleep(max(0.0, 1.1 - (time.monotonic() - began)))
    return read


def _all_pages_read(connection: "pymysql.Connection[Any]") -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT NUMBER_PAGES_READ FROM information_schema.INNODB_BUFFER_POOL_STATS")
        [(pages,)] = cursor.fetchall()
        return int(pages)
