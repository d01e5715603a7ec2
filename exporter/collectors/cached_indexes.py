"""INNODB_CACHED_INDEXES (MySQL 8.0+): leaf pages in the buffer pool by index.

The server keeps these counts itself (buf_stat_per_index), so the cost grows with indexes, not with pages.
INNODB_INDEXES names no index of a partitioned table (seen on 9.7.4), so that these are missing here.
"""

from __future__ import annotations

from collections.abc import Sequence

from exporter.collectors.base import TOP, Collector, Unavailable
from exporter.collectors.names import from_filename
from exporter.rows import Rows, count, text
from exporter.server import Server
from exporter.snapshot import CachedIndexes, Index

SQL = (
    "SELECT t.NAME AS table_name, i.NAME AS index_name, c.N_CACHED_PAGES AS pages"
    " FROM information_schema.INNODB_CACHED_INDEXES c"
    " JOIN information_schema.INNODB_INDEXES i ON i.INDEX_ID = c.INDEX_ID"
    " JOIN information_schema.INNODB_TABLES t ON t.TABLE_ID = i.TABLE_ID"
)


def queries(server: Server) -> tuple[str, ...] | Unavailable:
    """The one statement, where there is such a table."""
    if not server.data_dictionary:
        return Unavailable("absent", "INNODB_CACHED_INDEXES came with MySQL 8.0; there is no cheap source before")
    return (SQL,)


def parse(results: Sequence[Rows]) -> CachedIndexes:
    """The TOP largest by name, the rest summed."""
    pages: dict[Index, int] = {}
    for row in results[0]:
        schema, table = from_filename(text(row["table_name"]))
        index = Index(schema, table, text(row["index_name"]))
        pages[index] = pages.get(index, 0) + count(row["pages"])
    ranked = sorted(pages.items(), key=lambda item: -item[1])
    return CachedIndexes(dict(ranked[:TOP]), sum(n for _, n in ranked[TOP:]))


COLLECTOR = Collector("cached_indexes", queries, parse, privilege="PROCESS ON *.*", every=30.0)
