"""Reads of each table's own data file (innodb_file_per_table): which table the disk reads are for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath

from exporter.collectors.base import PICOSECONDS, Collector, with_performance_schema
from exporter.collectors.data_files import INSTRUMENT
from exporter.collectors.names import from_filename
from exporter.rows import Rows, count, text
from exporter.snapshot import FileReads, Table

SQL = (
    "SELECT FILE_NAME AS file_name, COUNT_READ AS read_count, SUM_NUMBER_OF_BYTES_READ AS bytes,"
    " SUM_TIMER_READ AS picoseconds, @@datadir AS datadir FROM performance_schema.file_summary_by_instance"
    f" WHERE EVENT_NAME = '{INSTRUMENT}' AND COUNT_STAR > 0 AND FILE_NAME LIKE '%.ibd'"
)


def parse(results: Sequence[Rows]) -> Mapping[Table, FileReads]:
    """Reads since the file was first opened, by table, partitions summed; 0 for one that was only written or opened."""
    found: dict[Table, FileReads] = {}
    for row in results[0]:
        path = PurePath(text(row["file_name"]))
        if path.parent == PurePath(text(row["datadir"])):
            continue  # mysql.ibd and general tablespaces: of no one table
        table = Table(*from_filename(f"{path.parent.name}/{path.stem}"))
        before = found.get(table, FileReads(0, 0, 0.0))
        found[table] = FileReads(
            before.reads + count(row["read_count"]),
            before.bytes + count(row["bytes"]),
            before.seconds + count(row["picoseconds"]) / PICOSECONDS,
        )
    return found


COLLECTOR = Collector(
    "table_files",
    with_performance_schema(SQL),
    parse,
    privilege="SELECT ON performance_schema.*",
    instruments=("global_instrumentation", INSTRUMENT),
)
