"""The sidecar's statements write nothing: no temporary table on disk, no InnoDB row, no page.

MariaDB's SYSTEM_VARIABLES is such a table whatever is asked of it: VARIABLE_ORIGINS reads it once in five minutes.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import pytest

from exporter.collectors import COLLECTORS
from exporter.collectors.metric_kinds import METRIC_KINDS
from exporter.collectors.variable_origins import VARIABLE_ORIGINS
from exporter.sampling.sampler import Sampler
from lab.servers import PrivateServer
from tests.waiting import until

COUNTERS = (
    "Created_tmp_disk_tables",
    "Innodb_buffer_pool_write_requests",
    "Innodb_pages_written",
    "Innodb_rows_deleted",
    "Innodb_rows_inserted",
    "Innodb_rows_updated",
)
ALWAYS = [replace(collector, every=0.0) for collector in (*COLLECTORS, METRIC_KINDS)]
"""Each source is read in each collection."""
SMALL: dict[str, object] = {"tmp_table_size": 1024}
ON_DISK: dict[str, object] = SMALL | {"big_tables": 1}
SETTINGS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "temptable": ("mysql-9.7", SMALL | {"temptable_max_ram": 8 << 20, "temptable_max_mmap": 0}),
    "memory": ("mysql-9.7", ON_DISK | {"internal_tmp_mem_storage_engine": "MEMORY"}),
    "mysql-5.6": ("mysql-5.6", ON_DISK),
    "mariadb-11.8": ("mariadb-11.8", SMALL),
    "mariadb-10.11": ("mariadb-10.11", SMALL),
    "mariadb-10.5": ("mariadb-10.5", ON_DISK),
}
"""Settings that put temporary tables on disk early."""


@contextmanager
def prepared(server: PrivateServer, settings: Mapping[str, object]) -> Iterator[None]:
    """The server with such settings, and tables of each kind that a statement names, with statistics."""
    columns = "(id INT PRIMARY KEY, a INT, b INT, KEY (a), KEY (b, a)) ENGINE=InnoDB"
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE footprint")
        for table in ("plain", "Plain", "`x#p#y`"):
            cursor.execute(f"CREATE TABLE footprint.{table} {columns}")
            cursor.execute(f"INSERT INTO footprint.{table} VALUES (1, 1, 1), (2, 2, 2)")
        cursor.execute(f"CREATE TABLE footprint.parts {columns} PARTITION BY HASH (id) PARTITIONS 3")
        cursor.execute("ANALYZE TABLE footprint.plain, footprint.parts")
        cursor.execute(f"SELECT {', '.join(f'@@GLOBAL.{name}' for name in settings)}")
        [before] = cursor.fetchall()
        try:
            for name, value in settings.items():
                cursor.execute(f"SET GLOBAL {name} = %s", (value,))
            yield
        finally:
            for name, value in zip(settings, before, strict=True):
                cursor.execute(f"SET GLOBAL {name} = %s", (value,))
            cursor.execute("DROP DATABASE footprint")


def counters(server: PrivateServer) -> dict[str, int]:
    """The server's counters, read without a temporary table on disk."""
    source = "performance_schema" if server.name == "mysql-9.7" else "information_schema"
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION tmp_table_size = 16777216, SESSION big_tables = OFF")
        cursor.execute(f"SELECT * FROM {source}.global_status WHERE VARIABLE_NAME IN {COUNTERS}")
        return {name: int(value) for name, value in cursor.fetchall()}


@pytest.mark.parametrize(("server", "settings"), SETTINGS.values(), ids=SETTINGS, indirect=["server"])
async def test_collections_leave_no_trace(
    server: PrivateServer, settings: Mapping[str, object], watch: Callable[..., Sampler]
) -> None:
    """The server's own threads write now and then; the sidecar would write in every collection."""
    with prepared(server, settings):
        on_disk = {VARIABLE_ORIGINS.name} if server.name.startswith("mariadb") else set()
        frequent = [collector for collector in ALWAYS if collector.name not in on_disk]
        sampler = watch(server, interval=0.1, collectors=frequent)
        snapshot = await sampler.collect()
        assert {outcome.failure for outcome in snapshot.outcomes.values()} <= {None, "absent"}

        async def untouched() -> dict[str, int] | None:
            before = counters(server)
            await sampler.collect()
            return before if before == counters(server) else None

        same: dict[str, int] = await until(untouched)
        assert same
