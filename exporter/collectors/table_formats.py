"""INNODB_TABLES (INNODB_SYS_TABLES before MySQL 8.0, and on MariaDB): tables that index_sizes cannot tell by itself.

These are tables with compressed pages, which are smaller than innodb_page_size, and tables whose name looks like a
partition's. Only the dictionary's form of a name tells ``x#p#y`` (``x@0023p@0023y``) from the partition y of x
(``x#p#y``); innodb_index_stats has ``x#p#y`` for both (seen on all servers).
"""

from __future__ import annotations

from collections.abc import Sequence

from exporter.anonymisation import Pseudonyms, columns
from exporter.collectors.base import Collector, of_dictionary
from exporter.collectors.index_sizes import TableFormats, require_room_for_tables
from exporter.rows import LARGE, Rows, count, text
from exporter.snapshot import Table
from exporter.table_names import PARTITION, from_filename

SQL = (
    "SELECT NAME AS table_name, ZIP_PAGE_SIZE AS zip_page_bytes FROM information_schema.{prefix}TABLES"
    " WHERE ZIP_PAGE_SIZE > 0 OR NAME LIKE '%@0023p@0023%'"
)


def parse(results: Sequence[Rows]) -> TableFormats:
    """Both kinds, by the name of the table that a partition belongs to."""
    pages: dict[Table, int] = {}
    named: set[Table] = set()
    for row in results[0]:
        table = Table(*from_filename(text(row["table_name"])))
        if size := count(row["zip_page_bytes"]):
            pages[table] = size
        if PARTITION in table.table.lower():
            named.add(table)
    return TableFormats(pages, tuple(sorted(named, key=lambda table: (table.schema, table.table))))


TABLE_FORMATS = Collector(
    "table_formats",
    of_dictionary(SQL),
    parse,
    bound=LARGE,
    privilege="PROCESS ON *.*",
    every=300.0,
    precondition=require_room_for_tables,
    anonymise=columns(table_name=Pseudonyms.dictionary),
)
