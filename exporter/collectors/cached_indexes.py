"""INNODB_CACHED_INDEXES (MySQL 8.0+): leaf pages in the buffer pool by index, at most.

The server keeps these counts itself (buf_stat_per_index), so the cost grows with indexes, not with pages. It counts a
page out when it evicts it, but not when it frees it: a table that rows come to and go from is counted with more and
more pages (MySQL 9.7.4, TPC-C: 3,431 pages of new_order, of which 357 were in the pool, in a file of 960).
INNODB_INDEXES names no index of a partitioned table (seen on 9.7.4); their pages are in ``other_pages``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from exporter.anonymisation import Pseudonyms, columns
from exporter.collectors.base import OF_INDEX, OTHER, TOP, Collector, SourceUnavailable, amount, gauge, index_labels
from exporter.collectors.file_sizes import FILE_SIZES
from exporter.collectors.index_sizes import INDEX_SIZES, require_room_for_tables
from exporter.collectors.indexes import named_tables
from exporter.collectors.pools import POOLS
from exporter.exposition import LabelledValue
from exporter.rows import Rows, count, text
from exporter.server import Server
from exporter.snapshot import Index, Snapshot, Table
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


def bounded(snapshot: Snapshot) -> CachedIndexes | None:
    """The counts, cut to what there can be: of a table no more than its file has, of all no more than the LRU lists."""
    cached, pools = snapshot[CACHED_INDEXES], snapshot[POOLS]
    if cached is None:
        return None
    counts, limits = Counter[Table](), _file_pages(snapshot)
    for index, pages in cached.pages.items():
        counts[index.of_table] += pages
    of_files = {
        index: pages * min(1.0, limits.get(index.of_table, math.inf) / max(counts[index.of_table], 1))
        for index, pages in cached.pages.items()
    }
    whole = math.fsum(of_files.values()) + cached.other_pages
    most = math.inf if pools is None else sum(pool.database_pages for pool in pools)
    share = min(1.0, most / max(whole, 1.0))
    return CachedIndexes(
        {index: round(share * pages) for index, pages in of_files.items()}, round(share * cached.other_pages)
    )


def _file_pages(snapshot: Snapshot) -> dict[Table, float]:
    """Pages of each table's file, where its size is known."""
    page_bytes, sizes = amount(snapshot, "innodb_page_size"), snapshot[INDEX_SIZES]
    compressed = {} if sizes is None else {i.of_table: s.page_bytes for i, s in sizes.sizes.items() if s.page_bytes}
    if not page_bytes:
        return {}
    return {table: size / compressed.get(table, page_bytes) for table, size in (snapshot[FILE_SIZES] or {}).items()}


def _resident(snapshot: Snapshot) -> Iterator[LabelledValue]:
    if (cached := bounded(snapshot)) is not None:
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
    metrics=(
        gauge(
            "innodb_index_resident_pages",
            "Leaf pages of an index in the buffer pool, at most: the server goes on counting pages that were freed. A "
            "table's are cut to the size of its file, and all to the LRU lists. For the largest indexes; index "
            "__other__ sums the others.",
            "",
            OF_INDEX,
            values=_resident,
        ),
    ),
)
