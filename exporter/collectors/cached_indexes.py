"""INNODB_CACHED_INDEXES (MySQL 8.0+): leaf pages in the buffer pool by index.

The server keeps these counts itself (buf_stat_per_index), so the cost grows with indexes, not with pages.
INNODB_INDEXES names no index of a partitioned table (seen on 9.7.4); their pages are in ``other_pages``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from exporter.anonymisation import Pseudonyms, columns
from exporter.collectors.base import OF_INDEX, OTHER, TOP, Collector, SourceUnavailable, gauge, index_labels
from exporter.collectors.index_sizes import require_room_for_tables
from exporter.collectors.indexes import named_tables
from exporter.rows import Rows, count, text
from exporter.server import Server
from exporter.snapshot import Index
from exporter.table_names import from_filename

SQL = (
    "SELECT t.NAME AS table_name, i.NAME AS index_name, c.pages AS pages"
    " FROM information_schema.INNODB_INDEXES i"
    " STRAIGHT_JOIN (SELECT INDEX_ID, SUM(N_CACHED_PAGES) AS pages"
    " FROM information_schema.INNODB_CACHED_INDEXES GROUP BY INDEX_ID) c ON c.INDEX_ID = i.INDEX_ID"
    f" STRAIGHT_JOIN {named_tables('INNODB_')} t ON t.TABLE_ID = i.TABLE_ID"
    f" ORDER BY pages DESC LIMIT {TOP}"
)
ALL_SQL = "SELECT SUM(N_CACHED_PAGES) AS pages FROM information_schema.INNODB_CACHED_INDEXES"


@dataclass(frozen=True, slots=True)
class CachedIndexes:
    """Leaf pages in the buffer pool."""

    pages: Mapping[Index, int]
    """The largest indexes."""
    other_pages: int
    """All others."""


def queries(server: Server) -> tuple[str, ...]:
    """The largest indexes by name, and the sum of all."""
    if not server.data_dictionary:
        raise SourceUnavailable("absent", "INNODB_CACHED_INDEXES came with MySQL 8.0; there is no cheap source before")
    return SQL, ALL_SQL


def parse(results: Sequence[Rows]) -> CachedIndexes:
    """The TOP largest indexes; the others, and indexes without a name, summed."""
    pages: dict[Index, int] = {}
    for row in results[0]:
        schema, table = from_filename(text(row["table_name"]))
        index = Index(schema, table, text(row["index_name"]))
        pages[index] = pages.get(index, 0) + count(row["pages"])
    ranked = sorted(pages.items(), key=lambda item: -item[1])
    total = max(sum(pages.values()), count(results[1].rows[0][0] or 0))
    return CachedIndexes(dict(ranked[:TOP]), total - sum(n for _, n in ranked[:TOP]))


def _items(cached: CachedIndexes) -> Iterator[tuple[tuple[str, ...], int]]:
    for index, pages in cached.pages.items():
        yield index_labels(index), pages
    yield index_labels(OTHER), cached.other_pages


CACHED_INDEXES = Collector(
    "cached_indexes",
    queries,
    parse,
    privilege="PROCESS ON *.*",
    every=30.0,
    precondition=require_room_for_tables,
    anonymise=columns(table_name=Pseudonyms.dictionary, index_name=Pseudonyms.index),
    items=_items,
    metrics=(
        gauge(
            "innodb_index_resident_pages",
            "Leaf pages of an index in the buffer pool, for the largest indexes; index __other__ sums the others.",
            "",
            OF_INDEX,
        ),
    ),
)
