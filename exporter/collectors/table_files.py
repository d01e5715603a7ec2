"""Reads of each table's own data file (innodb_file_per_table): which table the disk reads are for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath

from exporter.collectors.base import KEPT, Collector, with_performance_schema
from exporter.collectors.data_files import INSTRUMENT
from exporter.rows import Rows, count, seconds, text
from exporter.snapshot import FileReads, Table
from exporter.table_names import from_filename

_TABLE_FILE = "SUBSTRING_INDEX(SUBSTRING_INDEX(SUBSTRING_INDEX(FILE_NAME, '.ibd', 1), '#p#', 1), '#P#', 1)"
"""Without the name of a partition, which has #P# before MySQL 8: what a table has read must not depend on which of its
partitions are among the most read."""
# As bytes: other collations take Con and con for one.
SQL = (
    f"SELECT CAST(CONCAT({_TABLE_FILE}, '.ibd') AS BINARY) AS file_name, SUM(COUNT_READ) AS read_count,"
    " SUM(SUM_NUMBER_OF_BYTES_READ) AS bytes, SUM(SUM_TIMER_READ) AS picoseconds, @@datadir AS datadir"
    " FROM performance_schema.file_summary_by_instance"
    f" WHERE EVENT_NAME = '{INSTRUMENT}' AND COUNT_STAR > 0 AND FILE_NAME LIKE '%.ibd'"
    f" GROUP BY 1 ORDER BY bytes DESC LIMIT {KEPT}"
)


def parse(results: Sequence[Rows]) -> Mapping[Table, FileReads]:
    """Reads since the file was first opened, by table, the KEPT most read; 0 for one that was never read."""
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
            before.seconds + seconds(row["picoseconds"]),
        )
    return found


COLLECTOR = Collector(
    "table_files",
    with_performance_schema(SQL),
    parse,
    privilege="SELECT ON performance_schema.*",
    instruments=("global_instrumentation", INSTRUMENT),
)
