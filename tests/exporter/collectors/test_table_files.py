from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exporter.collectors import data_files, table_files
from exporter.collectors.base import TOP
from exporter.collectors.data_files import FileReads
from exporter.rows import Rows
from exporter.sampling.sampler import Sampler
from exporter.server import identify
from exporter.snapshot import Snapshot, Table
from lab.harness import workloads
from lab.servers import PrivateServer
from tests.exporter.exposition import exposed

Ask = Callable[..., list[tuple[Any, ...]]]
Fetch = Callable[[PrivateServer, str], Rows]
COLUMNS = ("file_name", "read_count", "bytes", "picoseconds", "datadir")


def parsed(*rows: tuple[object, ...]) -> dict[Table, FileReads]:
    return dict(table_files.parse([Rows.of(COLUMNS, rows)]))


def test_partitions_are_summed() -> None:
    assert parsed(
        ("/data/shop/t#p#p0.ibd", 2, 32768, 5 * 10**11, "/data/"),
        ("/data/shop/t#p#p1.ibd", 1, 16384, 10**12, "/data/"),
        ("/data/shop/u.ibd", 1, 16384, 0, "/data/"),
    ) == {Table("shop", "t"): FileReads(3, 49152, 1.5), Table("shop", "u"): FileReads(1, 16384, 0.0)}


@pytest.mark.parametrize("directory", ["/data", "/data/", "/var/lib/mysql/"])
def test_a_tablespace_of_no_one_table_is_left_out(directory: str) -> None:
    path = directory.rstrip("/")
    assert parsed((f"{path}/mysql.ibd", 2, 32768, 0, directory), (f"{path}/t/mysql.ibd", 1, 1, 0, directory)) == {
        Table("t", "mysql"): FileReads(1, 1, 0.0)
    }


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
def test_a_general_tablespace_of_a_real_server_is_left_out(server: PrivateServer, ask: Ask, fetch: Fetch) -> None:
    ask(
        server,
        "CREATE DATABASE IF NOT EXISTS shop",
        "CREATE TABLESPACE general ADD DATAFILE 'general.ibd'",
        "CREATE TABLE shop.housed (id INT PRIMARY KEY) TABLESPACE general",
    )
    rows = fetch(server, table_files.SQL)
    files = {Path(str(row["file_name"])).name for row in rows}
    tables = table_files.parse([rows])
    ask(server, "DROP TABLE shop.housed", "DROP TABLESPACE general")
    assert {"mysql", "general"} <= files
    assert not [table for table in tables if table.table in ("mysql", "general", "housed")]


@pytest.mark.parametrize("server", ["mariadb-10.11"], indirect=True)
def test_a_table_in_another_directory_has_its_name(
    server: PrivateServer, ask: Ask, fetch: Fetch, tmp_path: Path
) -> None:
    ask(
        server,
        "CREATE DATABASE IF NOT EXISTS shop",
        f"CREATE TABLE shop.`far-away` (id INT PRIMARY KEY) ENGINE=InnoDB DATA DIRECTORY='{tmp_path}'",
    )
    tables = table_files.parse([fetch(server, table_files.SQL)])
    ask(server, "DROP TABLE shop.`far-away`")
    assert Table("shop", "far-away") in tables


@pytest.mark.parametrize("server", ["mysql-9.7", "mysql-5.6", "mariadb-10.11"], indirect=True)
def test_a_new_table_without_reads_has_zero_reads(server: PrivateServer, ask: Ask, fetch: Fetch) -> None:
    ask(
        server,
        "CREATE DATABASE IF NOT EXISTS shop",
        "CREATE TABLE shop.fresh (id INT PRIMARY KEY) ENGINE=InnoDB",
        "INSERT INTO shop.fresh VALUES (1), (2)",
    )
    tables = table_files.parse([fetch(server, table_files.SQL)])
    ask(server, "DROP TABLE shop.fresh")
    assert tables[Table("shop", "fresh")].reads == 0


def test_of_many_tables_those_read_most_have_series() -> None:
    known = Snapshot(1.0, identify({"version": "9.7.4", "performance_schema": "ON"}), "a@b")
    read = {Table("shop", f"t{n}"): FileReads(2000 - n, n, 1.0) for n in range(2000)}
    metrics = exposed(known.with_section(table_files.TABLE_FILES, read))
    most = {("shop", f"t{n}") for n in range(2000 - TOP, 2000)}
    for name in ("reads", "read_bytes", "read_seconds"):
        assert set(metrics[f"innodb_table_file_{name}_total"]) == most
    assert metrics["innodb_table_file_reads_total"]["shop", "t1999"] == 1


async def test_the_bytes_that_a_real_server_reads_from_a_tables_file_are_exposed(
    server: PrivateServer, ask: Ask, fetch: Fetch, watch: Callable[..., Sampler]
) -> None:
    [(pool,)] = ask(server, "SELECT @@innodb_buffer_pool_size DIV @@innodb_page_size")
    with server.connect() as connection:
        workloads.make_table(connection, "cold", pool + 200)  # so that a scan finds not all of it in the pool
        before, whole_before = await _bytes_read(server, watch), data_files.parse([fetch(server, data_files.SQL)])
        workloads.scan(connection, "cold")
        after, whole_after = await _bytes_read(server, watch), data_files.parse([fetch(server, data_files.SQL)])
    [(written,)] = ask(
        server,
        "SELECT SUM_NUMBER_OF_BYTES_READ FROM performance_schema.file_summary_by_instance"
        " WHERE FILE_NAME LIKE '%/cold.ibd'",
    )
    cold = workloads.SCHEMA, "cold"
    assert after[cold] == written
    assert after[cold] - before[cold] >= 200 * 16384
    assert whole_after.bytes - whole_before.bytes >= after[cold] - before[cold]
    assert whole_after.reads > whole_before.reads
    assert whole_after.seconds > whole_before.seconds
    assert not [labels for labels in after if labels[0] == server.datadir.name]


async def _bytes_read(server: PrivateServer, watch: Callable[..., Sampler]) -> dict[tuple[str, ...], float]:
    return dict(exposed(await watch(server).collect())["innodb_table_file_read_bytes_total"])
