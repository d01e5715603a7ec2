"""Reads of InnoDB's data files, and the time waited in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exporter.anonymisation import numbers
from exporter.collectors.base import Collector, counter, with_performance_schema
from exporter.rows import Rows, count, seconds

INSTRUMENT = "wait/io/file/innodb/innodb_data_file"
SQL = (
    "SELECT COUNT_READ AS read_count, SUM_NUMBER_OF_BYTES_READ AS bytes, SUM_TIMER_READ AS picoseconds"
    f" FROM performance_schema.file_summary_by_event_name WHERE EVENT_NAME = '{INSTRUMENT}'"
)


@dataclass(frozen=True, slots=True)
class FileReads:
    """Reads since the server's start."""

    reads: int
    bytes: int
    seconds: float
    """Time waited in all reads."""


def parse(results: Sequence[Rows]) -> FileReads:
    """Sums over all data files."""
    row = next(iter(results[0]))
    return FileReads(count(row["read_count"]), count(row["bytes"]), seconds(row["picoseconds"]))


DATA_FILES = Collector(
    "data_files",
    with_performance_schema(SQL),
    parse,
    privilege="SELECT ON performance_schema.*",
    instruments=("global_instrumentation", INSTRUMENT),
    anonymise=numbers,
    metrics=(
        counter("innodb_data_file_reads_total", "Reads of InnoDB data files.", "reads"),
        counter("innodb_data_file_read_seconds_total", "Time waited in reads of data files.", "seconds"),
    ),
)
