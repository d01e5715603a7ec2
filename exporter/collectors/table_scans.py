"""Rows fetched without an index, by table: the trace of serial full scans in performance_schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from exporter.collectors.base import SYSTEM_SCHEMAS, TOP, Collector, with_performance_schema
from exporter.rows import Rows, count, text
from exporter.snapshot import Table

SQL = (
    "SELECT OBJECT_SCHEMA AS object_schema, OBJECT_NAME AS object_name, COUNT_FETCH AS count_fetch"
    " FROM performance_schema.table_io_waits_summary_by_index_usage"
    f" WHERE INDEX_NAME IS NULL AND COUNT_FETCH > 0 AND OBJECT_SCHEMA NOT IN {SYSTEM_SCHEMAS}"
    f" ORDER BY COUNT_FETCH DESC LIMIT {TOP}"
)


def parse(results: Sequence[Rows]) -> Mapping[Table, int]:
    """Rows fetched since the start, by table."""
    found: dict[Table, int] = {}
    for row in results[0]:
        table = Table(text(row["object_schema"]), text(row["object_name"]))
        found[table] = found.get(table, 0) + count(row["count_fetch"])  # names that are no UTF-8 may read the same
    return found


COLLECTOR = Collector(
    "table_scans",
    with_performance_schema(SQL),
    parse,
    privilege="SELECT ON performance_schema.*",
    instruments=("global_instrumentation", "wait/io/table/sql/handler"),
)
