"""Rows read and written by table and index in performance_schema, and the time that statements spent on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from exporter.anonymisation import Pseudonyms, columns
from exporter.collectors.base import MOST_ROWS, Collector, summed, with_performance_schema
from exporter.rows import Rows, count, seconds, text
from exporter.snapshot import Index
from exporter.table_names import SYSTEM_SCHEMAS

SQL = (
    "SELECT OBJECT_SCHEMA AS object_schema, OBJECT_NAME AS object_name, INDEX_NAME AS index_name,"
    " COUNT_FETCH AS count_fetch, COUNT_INSERT AS count_insert, COUNT_UPDATE AS count_update,"
    " COUNT_DELETE AS count_delete, SUM_TIMER_FETCH AS timer_fetch, SUM_TIMER_WRITE AS timer_write"
    " FROM performance_schema.table_io_waits_summary_by_index_usage"
    f" WHERE COUNT_STAR > 0 AND OBJECT_SCHEMA NOT IN {SYSTEM_SCHEMAS}"
    f" ORDER BY SUM_TIMER_WAIT DESC LIMIT {MOST_ROWS}"
)

NO_INDEX = ""
"""The index name of rows that were inserted, and of rows that a full scan fetched."""


@dataclass(frozen=True, slots=True)
class IndexIo:
    """Rows and time since the start. Updates and deletes count under the index that found the row.

    A statement may read many pages for a row fetched: InnoDB prefetches the rows that the optimizer expects
    (9.7.4: 600 rows for ``WHERE k >= … ORDER BY k LIMIT 1``, counted as one).
    """

    fetched: int
    inserted: int
    updated: int
    deleted: int
    fetch_seconds: float
    write_seconds: float
    """Inserts, updates and deletes."""

    @property
    def written(self) -> int:
        """Rows inserted, updated and deleted."""
        return self.inserted + self.updated + self.deleted


def parse(results: Sequence[Rows]) -> Mapping[Index, IndexIo]:
    """The MOST_ROWS indexes on which most time was spent; rows without an index under the name ``NO_INDEX``."""
    indexes: dict[Index, IndexIo] = {}
    for row in results[0]:
        name = NO_INDEX if row["index_name"] is None else text(row["index_name"])
        index = Index(text(row["object_schema"]), text(row["object_name"]), name)
        io = IndexIo(
            count(row["count_fetch"]),
            count(row["count_insert"]),
            count(row["count_update"]),
            count(row["count_delete"]),
            seconds(row["timer_fetch"]),
            seconds(row["timer_write"]),
        )
        indexes[index] = summed(indexes[index], io) if index in indexes else io  # names that are not UTF-8 may be equal
    return indexes


TABLE_IO = Collector(
    "table_io",
    with_performance_schema(SQL),
    parse,
    privilege="SELECT ON performance_schema.*",
    instruments=("global_instrumentation", "wait/io/table/sql/handler"),
    anonymise=columns(object_schema=Pseudonyms.schema, object_name=Pseudonyms.table, index_name=Pseudonyms.index),
)
