"""The state of performance_schema's instruments and consumers: the table of one that is off is empty, not zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from exporter.anonymisation import columns, unchanged
from exporter.collectors.base import Collector, with_performance_schema
from exporter.rows import Rows, text

SQL = (
    "SELECT NAME AS name, ENABLED AS enabled, 'setup_instruments' AS setup FROM performance_schema.setup_instruments"
    " WHERE NAME IN ('wait/io/file/innodb/innodb_data_file', 'wait/io/table/sql/handler',"
    " 'wait/lock/table/sql/handler', 'statement/sql/select')"
    " UNION ALL SELECT NAME, ENABLED, 'setup_consumers' FROM performance_schema.setup_consumers"
    " WHERE NAME IN ('global_instrumentation', 'statements_digest')"
)


def parse(results: Sequence[Rows]) -> Mapping[str, str | None]:
    """None for each that is on, and for each that is off the statement that switches it on."""
    return {
        text(row["name"]): None
        if text(row["enabled"]).upper() == "YES"
        else f"UPDATE performance_schema.{row['setup']} SET ENABLED = 'YES' WHERE NAME = '{row['name']}'"
        for row in results[0]
    }


INSTRUMENTATION = Collector(
    "instrumentation",
    with_performance_schema(SQL),
    parse,
    privilege="SELECT ON performance_schema.*",
    every=10.0,
    anonymise=columns(name=unchanged, enabled=unchanged, setup=unchanged),
)
