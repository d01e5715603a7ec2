"""INFORMATION_SCHEMA.INNODB_BUFFER_POOL_STATS: young, old and free pages of each buffer pool instance.

The printed rates of this table are not read: on MySQL each reader resets them for everyone.
"""

from __future__ import annotations

from collections.abc import Sequence

from exporter.collectors.base import Collector, fixed
from exporter.rows import Rows, count
from exporter.snapshot import BufferPool

SQL = (
    "SELECT POOL_ID, POOL_SIZE, FREE_BUFFERS, DATABASE_PAGES, OLD_DATABASE_PAGES, MODIFIED_DATABASE_PAGES,"
    " PAGES_MADE_YOUNG, PAGES_NOT_MADE_YOUNG, NUMBER_PAGES_READ, NUMBER_PAGES_CREATED, NUMBER_PAGES_WRITTEN,"
    " NUMBER_PAGES_GET, NUMBER_PAGES_READ_AHEAD, NUMBER_READ_AHEAD_EVICTED"
    " FROM information_schema.INNODB_BUFFER_POOL_STATS ORDER BY POOL_ID"
)


def parse(results: Sequence[Rows]) -> tuple[BufferPool, ...]:
    """One BufferPool an instance, in the order of their numbers."""
    pools = tuple(
        BufferPool(
            pool=count(row["pool_id"]),
            size_pages=count(row["pool_size"]),
            free_pages=count(row["free_buffers"]),
            database_pages=count(row["database_pages"]),
            old_pages=count(row["old_database_pages"]),
            modified_pages=count(row["modified_database_pages"]),
            made_young=count(row["pages_made_young"]),
            not_made_young=count(row["pages_not_made_young"]),
            pages_read=count(row["number_pages_read"]),
            pages_created=count(row["number_pages_created"]),
            pages_written=count(row["number_pages_written"]),
            gets=count(row["number_pages_get"]),
            read_ahead=count(row["number_pages_read_ahead"]),
            read_ahead_evicted=count(row["number_read_ahead_evicted"]),
        )
        for row in results[0]
    )
    if not pools:
        raise ValueError("INNODB_BUFFER_POOL_STATS is empty")
    return pools


COLLECTOR = Collector("pools", fixed(SQL), parse, privilege="PROCESS ON *.*", quick=True)
