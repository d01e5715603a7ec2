"""Reads of each table's own data file (innodb_file_per_table)."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from exporter.anonymisation import Pseudonyms, Row, each_row
from exporter.collectors.base import (
    MOST_ROWS,
    OF_TABLE,
    TOP,
    Collector,
    counter,
    exact,
    summed,
    with_performance_schema,
)
from exporter.collectors.data_files import INSTRUMENT, FileReads
from exporter.rows import Rows, count, seconds, text
from exporter.snapshot import Table
from exporter.table_names import from_filename

_TABLE_FILE = "SUBSTRING_INDEX(SUBSTRING_INDEX(SUBSTRING_INDEX(FILE_NAME, '.ibd', 1), '#p#', 1), '#P#', 1)"
"""The file name without its ending and without the partition (#P# before MySQL 8): a table's sum must hold all its
partitions, not only the ones among the most read files. A table's own # is @0023 in its file's name."""
SQL = (
    f"SELECT {exact(_TABLE_FILE, 512)} AS file_name, SUM(COUNT_READ) AS read_count,"
    " SUM(SUM_NUMBER_OF_BYTES_READ) AS bytes, SUM(SUM_TIMER_READ) AS picoseconds, @@datadir AS datadir"
    " FROM performance_schema.file_summary_by_instance"
    f" WHERE EVENT_NAME = '{INSTRUMENT}' AND COUNT_STAR > 0 AND FILE_NAME LIKE '%.ibd'"
    f" GROUP BY 1 ORDER BY bytes DESC LIMIT {MOST_ROWS}"
)

ANONYMOUS_DATADIR = "/var/lib/mysql"


def parse(results: Sequence[Rows]) -> Mapping[Table, FileReads]:
    """Reads since the file was first opened, by table: the MOST_ROWS most read tables."""
    files: dict[Table, FileReads] = {}
    for row in results[0]:
        path = PurePath(text(row["file_name"]))
        if path.parent == PurePath(text(row["datadir"])):
            continue  # mysql.ibd and general tablespaces: not of one table
        table = Table(*from_filename(f"{path.parent.name}/{path.stem}"))
        reads = FileReads(count(row["read_count"]), count(row["bytes"]), seconds(row["picoseconds"]))
        files[table] = summed(files[table], reads) if table in files else reads
    return files


def reads_since(first: Mapping[Table, FileReads], last: Mapping[Table, FileReads]) -> dict[Table, int]:
    """Reads of each file between two snapshots, roughly, to rank tables by.

    A count that is new, or fell at a restart or with the table, began at 0.
    """
    reads: dict[Table, int] = {}
    for table, files in last.items():
        before = first[table].reads if table in first else 0
        reads[table] = files.reads - (before if before <= files.reads else 0)
    return reads


def _most_read(files: Mapping[Table, FileReads]) -> Iterator[tuple[tuple[str, str], FileReads]]:
    for table, reads in heapq.nlargest(TOP, files.items(), key=lambda item: item[1].bytes):
        yield (table.schema, table.table), reads


def _anonymous(pseudonyms: Pseudonyms, row: Row) -> Row | None:
    path = PurePath(text(row["file_name"]))
    if path.parent == PurePath(text(row["datadir"])):
        return None  # general tablespaces and the like: not of one table
    folder, _, table = pseudonyms.dictionary(f"{path.parent.name}/{path.stem}").partition("/")
    file = PurePath(ANONYMOUS_DATADIR, folder, table) if folder else PurePath("/", table)
    return {**row, "file_name": f"{file}{path.suffix}", "datadir": f"{ANONYMOUS_DATADIR}/"}


TABLE_FILES = Collector(
    "table_files",
    with_performance_schema(SQL),
    parse,
    privilege="SELECT ON performance_schema.*",
    instruments=("global_instrumentation", INSTRUMENT),
    anonymise=each_row(_anonymous),
    items=_most_read,
    metrics=(
        counter(
            "innodb_table_file_read_bytes_total",
            "Bytes read from a table's own data file, for the most read files.",
            "bytes",
            OF_TABLE,
        ),
        counter(
            "innodb_table_file_reads_total",
            "Reads of a table's own data file, for the most read files.",
            "reads",
            OF_TABLE,
        ),
        counter(
            "innodb_table_file_read_seconds_total",
            "Time waited in reads of a table's own data file, for the most read files. Of read-ahead it holds only "
            "the time of handing the reads to the kernel.",
            "seconds",
            OF_TABLE,
        ),
    ),
)
