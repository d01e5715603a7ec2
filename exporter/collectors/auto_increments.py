"""INNODB_TABLESTATS (INNODB_SYS_TABLESTATS before MySQL 8.0, and on MariaDB): tables that number their rows.

Inserts with an AUTO_INCREMENT key go to the end of the index, whose last page is in the buffer pool.
"""

from __future__ import annotations

from collections.abc import Sequence

from exporter.anonymisation import Pseudonyms, columns
from exporter.collectors.base import MOST_ROWS, Collector, of_dictionary
from exporter.collectors.index_sizes import require_room_for_tables
from exporter.rows import Rows, text
from exporter.snapshot import Table
from exporter.table_names import SYSTEM_SCHEMAS, from_filename

# AUTOINC is 0 without such a column, and in tables that were not opened since the start.
SQL = (
    "SELECT NAME AS table_name FROM information_schema.{prefix}TABLESTATS"
    f" WHERE AUTOINC > 0 ORDER BY MODIFIED_COUNTER DESC, NUM_ROWS DESC LIMIT {MOST_ROWS}"
)


def parse(results: Sequence[Rows]) -> frozenset[Table]:
    """Tables in use with an AUTO_INCREMENT column: the MOST_ROWS most changed since their last statistics."""
    tables = (Table(*from_filename(text(row["table_name"]))) for row in results[0])
    return frozenset(table for table in tables if table.schema and table.schema not in SYSTEM_SCHEMAS)


AUTO_INCREMENTS = Collector(
    "auto_increments",
    of_dictionary(SQL),
    parse,
    privilege="PROCESS ON *.*",
    every=60.0,
    precondition=require_room_for_tables,
    anonymise=columns(table_name=Pseudonyms.dictionary),
)
