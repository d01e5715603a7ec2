"""INNODB_BUFFER_PAGE_LRU: old and young pages of each index. Off unless asked for: docs/page-level-detail.md says why.

The server copies each instance's whole LRU list under the list's lock, whatever the statement asks for (i_s.cc,
i_s_innodb_fill_buffer_lru; WHERE and LIMIT come later), and then looks up the names. The grouping only keeps down the
rows that travel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from exporter.collectors.base import TOP, Collector, Unavailable
from exporter.rows import Rows, Value, count, number, text
from exporter.server import Server
from exporter.snapshot import Index, LruPages, Snapshot, SublistPages
from exporter.table_names import from_quoted

# MariaDB's IS_OLD is always NULL (seen on 10.5, 10.11 and 11.8): there a page is old if it lies before the midpoint,
# counted from the tail. It has one instance.
SQL = (
    "SELECT TABLE_NAME AS table_name, INDEX_NAME AS index_name, COUNT(*) AS pages, {old} AS old_pages"
    " FROM information_schema.INNODB_BUFFER_PAGE_LRU GROUP BY TABLE_NAME, INDEX_NAME"
)
_OLD_MYSQL = "SUM(IS_OLD = 'YES')"
_OLD_MARIADB = (
    "SUM(LRU_POSITION < (SELECT OLD_DATABASE_PAGES FROM information_schema.INNODB_BUFFER_POOL_STATS LIMIT 1))"
)

LARGEST_POOL: Final = 10 << 30
"""Bytes. The list of a larger pool is not read unless it was said that it may."""
LONGEST_LIST: Final = LARGEST_POOL >> 14
"""Pages of a pool of that size, at the default of 16 KiB: it is pages that the reading takes its time for."""
_TEMPORARY = "#sql"
"""How the names of temporary tables, and of those that an ALTER TABLE builds, begin: theirs come and go."""


def queries(server: Server) -> tuple[str, ...]:
    """The one statement, with the server's own way to tell old pages."""
    return (SQL.format(old=_OLD_MARIADB if server.mariadb else _OLD_MYSQL),)


def parse(results: Sequence[Rows]) -> LruPages:
    """The TOP largest by name, partitions summed; the rest, and pages without an index, together."""
    indexes: dict[Index, SublistPages] = {}
    other = SublistPages(0, 0)
    for row in results[0]:
        pages = _sublists(row)
        schema, table = from_quoted(text(row["table_name"]))
        if row["table_name"] is None or row["index_name"] is None or table.startswith(_TEMPORARY):
            other = _sum(other, pages)
        else:
            index = Index(schema, table, text(row["index_name"]))
            indexes[index] = _sum(indexes.get(index, SublistPages(0, 0)), pages)
    ranked = sorted(indexes, key=lambda index: -(indexes[index].young + indexes[index].old))
    for index in ranked[TOP:]:
        other = _sum(other, indexes[index])
    return LruPages({index: indexes[index] for index in ranked[:TOP]}, other)


def _sublists(row: dict[str, Value]) -> SublistPages:
    pages, old = count(row["pages"]), count(row["old_pages"])
    if old > pages:
        raise ValueError(f"{old} old pages of {pages}")
    return SublistPages(pages - old, old)


def _sum(one: SublistPages, other: SublistPages) -> SublistPages:
    return SublistPages(one.young + other.young, one.old + other.old)


def small_enough(known: Snapshot) -> Unavailable | None:
    """Why the pool's pages are not read: it is too large, or not known to be small."""
    anyway = "restart the sidecar with --collect-lru-pages-anyway"
    size = number(known.setting("innodb_buffer_pool_size"))
    pages = None if known.pools is None else sum(pool.size_pages for pool in known.pools)
    if size is None and pages is None:
        return Unavailable("failed", "the size of the buffer pool is not known, so its pages are not read", anyway)
    if (size or 0) > LARGEST_POOL or (pages or 0) > LONGEST_LIST:
        found = f"{size / 2**30:,.1f} GiB" if size is not None else f"{pages:,} pages"
        return Unavailable(
            "disabled",
            f"the buffer pool is larger than {LARGEST_POOL >> 30} GiB or {LONGEST_LIST:,} pages ({found}): reading its"
            " LRU list would hold up the server's own work for too long",
            anyway,
        )
    return None


COLLECTOR = Collector("lru_pages", queries, parse, privilege="PROCESS ON *.*", every=600.0, allowed=small_enough)
ANYWAY = replace(COLLECTOR, allowed=None)
"""Whatever the pool's size."""
