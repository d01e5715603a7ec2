from collections.abc import Callable
from typing import Any

from exporter.collectors import table_io
from exporter.collectors.table_io import NO_INDEX, IndexIo
from exporter.rows import Rows
from exporter.snapshot import Index
from lab.harness import workloads
from lab.servers import PrivateServer

COLUMNS = ["object_schema", "object_name", "index_name", "count_fetch", "count_insert", "count_update", "count_delete"]
TIMERS = ["timer_fetch", "timer_write"]


def test_names_that_read_the_same_are_summed() -> None:
    rows = [["shop", "caf\ufffd", None, 1, 2, 3, 4, 10**12, 5 * 10**11], ["shop", "caf\ufffd", None, 1, 0, 0, 0, 0, 0]]
    io = table_io.parse([Rows.of([*COLUMNS, *TIMERS], rows)])
    assert io == {Index("shop", "caf\ufffd", NO_INDEX): IndexIo(2, 2, 3, 4, 1.0, 0.5)}


def test_a_real_servers_rows_are_counted_by_index(
    server: PrivateServer, ask: Callable[..., list[tuple[Any, ...]]], fetch: Callable[[PrivateServer, str], Rows]
) -> None:
    name = f"{workloads.SCHEMA}.written"
    ask(
        server,
        f"CREATE DATABASE IF NOT EXISTS {workloads.SCHEMA}",
        f"CREATE TABLE {name} (id INT PRIMARY KEY, k INT, KEY k (k)) ENGINE=InnoDB",
        "TRUNCATE TABLE performance_schema.table_io_waits_summary_by_index_usage",
        f"INSERT INTO {name} VALUES (1, 10), (2, 20), (3, 30), (4, 40)",
        f"UPDATE {name} SET k = 11 WHERE id = 1",
        f"DELETE FROM {name} WHERE id = 2",
        f"SELECT * FROM {name} FORCE INDEX (k) WHERE k = 30",
    )
    io = table_io.parse([fetch(server, table_io.SQL)])
    ask(server, f"DROP TABLE {name}")
    inserted, by_key, by_id = (io[Index(workloads.SCHEMA, "written", name)] for name in (NO_INDEX, "k", "PRIMARY"))
    assert (inserted.inserted, inserted.updated, inserted.deleted) == (4, 0, 0)
    assert (by_id.updated, by_id.deleted) == (1, 1)
    assert by_key.fetched in (1, 2)  # some servers count the end of the range
    assert (by_key.inserted, by_key.write_seconds) == (0, 0.0)
    assert inserted.write_seconds > 0.0
    assert by_key.fetch_seconds > 0.0
    assert not [index for index in io if index.schema in ("mysql", "performance_schema")]
