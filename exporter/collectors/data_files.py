"""Reads of InnoDB's data files and the time waited in them."""

from __future__ import annotations

from collections.abc import Sequence

from exporter.collectors.base import Collector, with_performance_schema
from exporter.rows import Rows, count, seconds
from exporter.snapshot import FileReads

INSTRUMENT = "wait/io/file/innodb/innodb_data_file"
SQL = (
    "SELECT COUNT_READ AS read_count, SUM_NUMBER_OF_BYTES_READ AS bytes, SUM_TIMER_READ AS picoseconds"
    f" FROM performance_schema.file_summary_by_event_name WHERE EVENT_NAME = '{INSTRUMENT}'"
)


def parse(results: Sequence[Rows]) -> FileReads:
    """Sums over all data files since the start."""
    row = next(iter(results[0]))
    return FileReads(count(row["read_count"]), count(row["bytes"]), seconds(row["picoseconds"]))


COLLECTOR = Collector(
    "data_files",
    with_performance_schema(SQL),
    parse,
    privilege="SELECT ON performance_schema.*",
    instruments=("global_instrumentation", INSTRUMENT),
)
