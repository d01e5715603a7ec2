from collections.abc import Callable
from typing import Any

from exporter.collectors import table_statements
from exporter.rows import Rows
from exporter.snapshot import Table
from lab.harness import workloads
from lab.servers import PrivateServer

COLUMNS = ["object_schema", "object_name", "statements"]


def test_names_that_read_the_same_are_summed() -> None:
    rows = Rows.of(COLUMNS, [["shop", "caf\ufffd", 5], ["shop", "caf\ufffd", 7]])
    assert table_statements.parse([rows]) == {Table("shop", "caf\ufffd"): 12}


def test_a_real_servers_statements_are_counted_however_many_rows_they_read(
    server: PrivateServer, ask: Callable[..., list[tuple[Any, ...]]], fetch: Callable[[PrivateServer, str], Rows]
) -> None:
    name = f"{workloads.SCHEMA}.read_often"
    ask(
        server,
        f"CREATE DATABASE IF NOT EXISTS {workloads.SCHEMA}",
        f"CREATE TABLE {name} (id INT PRIMARY KEY) ENGINE=InnoDB",
        f"INSERT INTO {name} VALUES (1), (2), (3)",
        "TRUNCATE TABLE performance_schema.table_lock_waits_summary_by_table",
        f"SELECT * FROM {name}",
        f"SELECT * FROM {name} WHERE id = 2",
        f"DELETE FROM {name} WHERE id < 3",
    )
    statements = table_statements.parse([fetch(server, table_statements.SQL)])
    ask(server, f"DROP TABLE {name}")
    assert statements[Table(workloads.SCHEMA, "read_often")] == 3
    assert not [table for table in statements if table.schema in ("mysql", "performance_schema")]
