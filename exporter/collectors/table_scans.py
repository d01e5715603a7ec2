"""Rows fetched without an index, by table: the trace of serial full scans in performance_schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from exporter.anonymisation import Pseudonyms, columns
from exporter.collectors.base import OF_TABLE, TOP, Collector, counter, counts_by_table, with_performance_schema
from exporter.rows import Rows
from exporter.snapshot import Table
from exporter.table_names import SYSTEM_SCHEMAS

SQL = (
    "SELECT OBJECT_SCHEMA AS object_schema, OBJECT_NAME AS object_name, COUNT_FETCH AS count_fetch"
    " FROM performance_schema.table_io_waits_summary_by_index_usage"
    f" WHERE INDEX_NAME IS NULL AND COUNT_FETCH > 0 AND OBJECT_SCHEMA NOT IN {SYSTEM_SCHEMAS}"
    f" ORDER BY COUNT_FETCH DESC LIMIT {TOP}"
)


def parse(results: Sequence[Rows]) -> Mapping[Table, int]:
    """Rows fetched since the start, by table."""
    return counts_by_table(results[0], "count_fetch")


def _items(scans: Mapping[Table, int]) -> Iterator[tuple[tuple[str, str], int]]:
    return (((table.schema, table.table), rows) for table, rows in scans.items())


TABLE_SCANS = Collector(
    "table_scans",
    with_performance_schema(SQL),
    parse,
    privilege="SELECT ON performance_schema.*",
    instruments=("global_instrumentation", "wait/io/table/sql/handler"),
    anonymise=columns(object_schema=Pseudonyms.schema, object_name=Pseudonyms.table),
    items=_items,
    metrics=(
        counter(
            "innodb_table_scan_rows_total",
            "Rows fetched without an index: the trace of serial full scans.",
            "",
            OF_TABLE,
        ),
    ),
)
