"""Statements by table, from performance_schema's table locks: each statement locks each of its tables once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from exporter.anonymisation import Pseudonyms, columns
from exporter.collectors.base import MOST_ROWS, Collector, counts_by_table, with_performance_schema
from exporter.rows import Rows
from exporter.snapshot import Table
from exporter.table_names import SYSTEM_SCHEMAS

# External locks are those of the storage engine. MySQL 5.6 counts locks of the server beside them.
SQL = (
    "SELECT OBJECT_SCHEMA AS object_schema, OBJECT_NAME AS object_name,"
    " COUNT_READ_EXTERNAL + COUNT_WRITE_EXTERNAL AS statements"
    " FROM performance_schema.table_lock_waits_summary_by_table"
    f" WHERE COUNT_STAR > 0 AND OBJECT_SCHEMA NOT IN {SYSTEM_SCHEMAS}"
    f" ORDER BY COUNT_STAR DESC LIMIT {MOST_ROWS}"
)


def parse(results: Sequence[Rows]) -> Mapping[Table, int]:
    """Statements that read or wrote a table, since the start: the MOST_ROWS tables with the most."""
    return counts_by_table(results[0], "statements")


TABLE_STATEMENTS = Collector(
    "table_statements",
    with_performance_schema(SQL),
    parse,
    privilege="SELECT ON performance_schema.*",
    instruments=("global_instrumentation", "wait/lock/table/sql/handler"),
    anonymise=columns(object_schema=Pseudonyms.schema, object_name=Pseudonyms.table),
)
