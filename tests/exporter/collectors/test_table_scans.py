from collections.abc import Callable
from typing import Any

from exporter.collectors import table_scans
from exporter.collectors.table_scans import TABLE_SCANS
from exporter.rows import Rows
from exporter.server import identify
from exporter.snapshot import Snapshot, Table
from lab.harness import workloads
from lab.servers import PrivateServer
from tests.exporter.exposition import samples

COLUMNS = ["OBJECT_SCHEMA", "OBJECT_NAME", "COUNT_FETCH"]


def test_names_that_read_the_same_are_summed() -> None:
    rows = Rows.of(COLUMNS, [["shop", "caf\ufffd", 5], ["shop", "caf\ufffd", 7], ["shop", "orders", 1]])
    assert table_scans.parse([rows]) == {Table("shop", "caf\ufffd"): 12, Table("shop", "orders"): 1}


def test_the_rows_of_each_table_are_exposed() -> None:
    server = identify({"version": "9.7.4", "performance_schema": "ON"})
    known = Snapshot(1.0, server, "a@b").with_section(TABLE_SCANS, {Table("shop", "orders"): 7})
    assert list(samples(TABLE_SCANS, known)) == [("innodb_table_scan_rows_total", ("shop", "orders"), 7)]


def test_a_real_servers_scans_are_counted_and_lookups_are_not(
    server: PrivateServer, ask: Callable[..., list[tuple[Any, ...]]], fetch: Callable[[PrivateServer, str], Rows]
) -> None:
    with server.connect() as connection:
        workloads.make_table(connection, "read_whole", 50)
        workloads.make_table(connection, "looked_up", 50)
        ask(server, "TRUNCATE TABLE performance_schema.table_io_waits_summary_by_index_usage")
        workloads.scan(connection, "read_whole")
    ask(server, f"SELECT * FROM {workloads.SCHEMA}.looked_up WHERE id = 1")
    scans = table_scans.parse([fetch(server, table_scans.SQL)])
    ask(server, f"DROP TABLE {workloads.SCHEMA}.read_whole, {workloads.SCHEMA}.looked_up")
    # MySQL 5.6 counts the end of a scan as one row more.
    assert scans[Table(workloads.SCHEMA, "read_whole")] - 50 * workloads.ROWS_PER_PAGE in (0, 1)
    assert Table(workloads.SCHEMA, "looked_up") not in scans
    assert not [table for table in scans if table.schema in ("mysql", "performance_schema")]
