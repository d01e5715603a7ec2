"""INNODB_BUFFER_PAGE_LRU: old and young pages of each index. Off by default: docs/page-level-detail.md says why.

For every statement the server copies each instance's whole LRU list under the list's lock (i_s.cc,
i_s_innodb_fill_buffer_lru; WHERE and LIMIT come later), and then looks up the names. The grouping only reduces the rows
that are sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from exporter.anonymisation import Pseudonyms, columns
from exporter.collectors.base import OTHER, TOP, Collector, SourceUnavailable, exact, gauge, index_labels, summed
from exporter.collectors.pools import POOLS
from exporter.rows import LARGE, Rows, Value, count, number, text
from exporter.server import Server
from exporter.snapshot import Index, Snapshot
from exporter.table_names import from_quoted

# MariaDB's IS_OLD is always NULL (seen on 10.5, 10.11 and 11.8). A page is old there if it lies between the tail and
# the midpoint. MariaDB has one instance.
SQL = (
    f"SELECT {exact('TABLE_NAME', 341)} AS table_name, {exact('INDEX_NAME', 341)} AS index_name,"
    " COUNT(*) AS pages, {old} AS old_pages FROM information_schema.INNODB_BUFFER_PAGE_LRU GROUP BY 1, 2"
)
_OLD_MYSQL = "SUM(IS_OLD = 'YES')"
_OLD_MARIADB = (
    "SUM(LRU_POSITION < (SELECT OLD_DATABASE_PAGES FROM information_schema.INNODB_BUFFER_POOL_STATS LIMIT 1))"
)

LARGEST_POOL: Final = 10 << 30
"""Bytes. The list of a larger pool is not read without --collect-lru-pages-anyway."""
LONGEST_LIST: Final = LARGEST_POOL >> 14
"""Pages of a pool of that size with the default page size of 16 KiB: the time grows with pages."""
_TEMPORARY = "#sql"
"""Prefix of the names of temporary tables, and of tables that an ALTER TABLE builds: these names come and go."""


@dataclass(frozen=True, slots=True)
class SublistPages:
    """Pages in the two sublists of the LRU list, all instances together."""

    young: int
    old: int


@dataclass(frozen=True, slots=True)
class LruPages:
    """The pages of the LRU list."""

    pages: Mapping[Index, SublistPages]
    """The largest indexes."""
    other: SublistPages
    """All others, and pages that belong to no index."""


def queries(server: Server) -> tuple[str, ...]:
    """One statement, with this server's test for old pages."""
    return (SQL.format(old=_OLD_MARIADB if server.mariadb else _OLD_MYSQL),)


def parse(results: Sequence[Rows]) -> LruPages:
    """The TOP largest indexes, partitions summed; the others, and pages without an index, together."""
    indexes: dict[Index, SublistPages] = {}
    other = SublistPages(0, 0)
    for row in results[0]:
        pages = _sublists(row)
        schema, table = from_quoted(text(row["table_name"]))
        if row["table_name"] is None or row["index_name"] is None or table.startswith(_TEMPORARY):
            other = summed(other, pages)
        else:
            index = Index(schema, table, text(row["index_name"]))
            indexes[index] = summed(indexes[index], pages) if index in indexes else pages
    ranked = sorted(indexes, key=lambda index: -(indexes[index].young + indexes[index].old))
    for index in ranked[TOP:]:
        other = summed(other, indexes[index])
    return LruPages({index: indexes[index] for index in ranked[:TOP]}, other)


def _sublists(row: dict[str, Value]) -> SublistPages:
    pages, old = count(row["pages"]), count(row["old_pages"])
    if old > pages:
        raise ValueError(f"{old} old pages of {pages}")
    return SublistPages(pages - old, old)


def require_small_pool(known: Snapshot) -> None:
    """Raises SourceUnavailable if the pool is too large for its pages to be read, or of unknown size."""
    anyway = "restart the sidecar with --collect-lru-pages-anyway"
    size = number(known.setting("innodb_buffer_pool_size"))
    pools = known[POOLS]
    pages = None if pools is None else sum(pool.size_pages for pool in pools)
    if size is None and pages is None:
        raise SourceUnavailable("failed", "the size of the buffer pool is not known, so its pages are not read", anyway)
    if (size or 0) > LARGEST_POOL or (pages or 0) > LONGEST_LIST:
        actual = f"{size / 2**30:,.1f} GiB" if size is not None else f"{pages:,} pages"
        raise SourceUnavailable(
            "disabled",
            f"the buffer pool is larger than {LARGEST_POOL >> 30} GiB or {LONGEST_LIST:,} pages ({actual}): reading its"
            " LRU list would hold up the server's own work for too long",
            anyway,
        )


def _items(lru: LruPages) -> Iterator[tuple[tuple[str, ...], SublistPages]]:
    return ((index_labels(index), pages) for index, pages in (*lru.pages.items(), (OTHER, lru.other)))


LRU_PAGES = Collector(
    "lru_pages",
    queries,
    parse,
    bound=LARGE,
    privilege="PROCESS ON *.*",
    every=600.0,
    precondition=require_small_pool,
    anonymise=columns(table_name=Pseudonyms.quoted, index_name=Pseudonyms.index),
    items=_items,
    metrics=(
        gauge(
            "innodb_index_lru_pages",
            "Pages of an index in the LRU list's sublists, for the largest indexes; index __other__ sums the others."
            " Only with --collect-lru-pages.",
            "{}",
            ("schema", "table", "index", "sublist"),
            words=("young", "old"),
        ),
    ),
)
LRU_PAGES_OF_ANY_POOL = replace(LRU_PAGES, precondition=None)
"""Whatever the pool's size."""
