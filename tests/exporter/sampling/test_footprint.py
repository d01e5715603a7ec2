"""The sidecar's statements write nothing: no temporary table on disk, no InnoDB row, no page."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from exporter.collectors import COLLECTORS
from exporter.collectors.metric_kinds import METRIC_KINDS
from exporter.connection.target import from_dsn
from exporter.sampling.sampler import Sampler
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
COLLECTIONS = 4
ATTEMPTS = 4
"""The server's own threads write now and then; the sidecar would write in every attempt."""

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
    sampler = watch(
        from_dsn(server.dsn),
        interval=0.1,
        collectors=[replace(each, every=0.0) for each in (*COLLECTORS, METRIC_KINDS)],
    )
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
