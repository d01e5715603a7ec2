"""INNODB_INDEXES (INNODB_SYS_INDEXES before MySQL 8.0, and on MariaDB): the type of each secondary index."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from exporter.anonymisation import Pseudonyms, columns
from exporter.collectors.base import Collector, SourceUnavailable, index_labels, info
from exporter.collectors.index_sizes import largest_indexes, require_room_for_tables
from exporter.exposition import LabelledValue
from exporter.rows import LARGE, Rows, count, text
from exporter.server import Server
from exporter.snapshot import Index, Snapshot
from exporter.table_names import SYSTEM_SCHEMAS, from_filename

MOST = 30_000
"""Indexes that are read: they take 16 MB, the memory included that reading them leaves unused."""
# Clustered indexes are left out, and with them the tables of a full-text index: there may be many.
SQL = (
    "SELECT t.NAME AS table_name, i.NAME AS index_name, i.TYPE AS type"
    " FROM information_schema.{prefix}INDEXES i STRAIGHT_JOIN {tables} t ON t.TABLE_ID = i.TABLE_ID"
    " WHERE i.TYPE & 1 = 0"
    f" LIMIT {MOST + 1}"
)

TYPES = {"full-text": 32, "spatial": 64, "unique": 2, "virtual": 128, "non-unique": 0}
"""The bits of TYPE for each kind of secondary index; an index is of the first kind all of whose bits it has."""
_QUOTED_COLUMN = re.compile(r"`((?:[^`]|``)*)`|([^,]+)")


def named_tables(prefix: str) -> str:
    """SQL for a derived table of InnoDB's tables: id and name.

    A derived table gets a key; two tables of INFORMATION_SCHEMA are joined row by row (9.7.4, 10,000 tables: 24 s, not
    0.7). LIMIT keeps it from being merged into the query, as DISTINCT would, but DISTINCT names of 655 characters are a
    temporary table on disk (seen on 5.6, 10.5 and 11.8). Two names in a path of the file system have 511 at most.
    """
    return f"(SELECT TABLE_ID, LEFT(NAME, 512) AS NAME FROM information_schema.{prefix}TABLES LIMIT {2**64 - 1})"


def queries(server: Server) -> tuple[str, ...]:
    """One statement, with the tables' names on this server."""
    prefix = "INNODB_" if server.data_dictionary else "INNODB_SYS_"
    return (SQL.format(prefix=prefix, tables=named_tables(prefix)),)


def parse(results: Sequence[Rows]) -> Mapping[Index, int]:
    """TYPE of each secondary index: 0 is a non-unique one; the bits are 2 unique, 32 full-text, 64 spatial.

    MySQL 8.0 and later name no index of a partitioned table here (seen on 9.7.4).

    Raises:
        SourceUnavailable: There are more than MOST. A part of them would be taken for all of a table's.
    """
    if len(results[0].rows) > MOST:
        raise SourceUnavailable(
            "disabled",
            f"there are more than {MOST:,} secondary indexes, the most that the sidecar reads",
            "drop secondary indexes that nothing uses;"
            " performance_schema.table_io_waits_summary_by_index_usage counts uses",
        )
    types: dict[Index, int] = {}
    named = cache(from_filename)  # indexes of a table share its names
    for row in results[0]:
        schema, table = named(text(row["table_name"]))
        if schema and schema not in SYSTEM_SCHEMAS:
            types[Index(schema, table, text(row["index_name"]))] = count(row["type"])
    return types


def kind(index: Index, types: Mapping[Index, int] | None) -> str:
    """``clustered``, ``unique``, ``non-unique``, ``full-text``, ``spatial`` or ``virtual``; empty if not known.

    Args:
        index: The index.
        types: The section INDEXES; None if it is not known.
    """
    if index.clustered:
        return "clustered"
    bits = (types or {}).get(index)
    return "" if bits is None else next(name for name, of_kind in TYPES.items() if bits & of_kind == of_kind)


def columns_text(names: Sequence[str]) -> str:
    """Columns as a label has them: with commas, and quoted as in SQL where a name holds a comma or a backtick."""
    return ",".join("`" + name.replace("`", "``") + "`" if re.search("[,`]", name) else name for name in names)


def columns_of_text(label: str) -> tuple[str, ...]:
    """The columns of a label that ``columns_text`` made."""
    return tuple(plain or quoted.replace("``", "`") for quoted, plain in _QUOTED_COLUMN.findall(label))


def _info(snapshot: Snapshot) -> Iterator[LabelledValue]:
    types = snapshot[INDEXES]
    for index, size in largest_indexes(snapshot):
        yield (*index_labels(index), kind(index, types), columns_text(size.columns or ())), 1.0


INDEXES = Collector(
    "indexes",
    queries,
    parse,
    bound=LARGE,
    privilege="PROCESS ON *.*",
    every=60.0,
    precondition=require_room_for_tables,
    anonymise=columns(table_name=Pseudonyms.dictionary, index_name=Pseudonyms.index),
    metrics=(
        info(
            "innodb_index_info",
            "An index of innodb_index_pages. kind is clustered, unique, non-unique, full-text, spatial, or virtual for "
            "one on a virtual column; columns are its own, without those of the primary key that InnoDB adds. Either "
            "is empty where it is not known.",
            labels=("schema", "table", "index", "kind", "columns"),
            values=_info,
        ),
    ),
)
