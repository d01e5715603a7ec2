"""INNODB_TABLESPACES (INNODB_SYS_TABLESPACES before MySQL 8.0, and on MariaDB): the size of each table's data file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from exporter.anonymisation import Pseudonyms, columns
from exporter.collectors.base import MOST_ROWS, Collector, SourceUnavailable, of_dictionary
from exporter.collectors.index_sizes import require_room_for_tables
from exporter.rows import Rows, count, text
from exporter.server import Server
from exporter.snapshot import Table
from exporter.table_names import SYSTEM_SCHEMAS, from_filename

# Names of 655 characters would be a temporary table on disk. Two names in a path have 511 at most.
SQL = (
    "SELECT LEFT(NAME, 512) AS file_name, FILE_SIZE AS bytes FROM information_schema.{prefix}TABLESPACES"
    f" WHERE NAME LIKE '%/%' ORDER BY FILE_SIZE DESC LIMIT {MOST_ROWS}"
)


def queries(server: Server) -> tuple[str, ...]:
    """One statement, with the table's name on this server."""
    if not (server.data_dictionary or server.mariadb):
        raise SourceUnavailable("absent", "MySQL 5.6 has no FILE_SIZE, and 5.7 would make a temporary table on disk")
    return of_dictionary(SQL)(server)


def parse(results: Sequence[Rows]) -> Mapping[Table, int]:
    """Bytes by table, partitions summed: of the MOST_ROWS largest files. A file may have free pages."""
    sizes: dict[Table, int] = {}
    for row in results[0]:
        table = Table(*from_filename(text(row["file_name"])))
        if table.schema and table.schema not in SYSTEM_SCHEMAS:
            sizes[table] = sizes.get(table, 0) + count(row["bytes"])
    return sizes


FILE_SIZES = Collector(
    "file_sizes",
    queries,
    parse,
    privilege="PROCESS ON *.*",
    every=60.0,
    precondition=require_room_for_tables,
    anonymise=columns(file_name=Pseudonyms.dictionary),
)
