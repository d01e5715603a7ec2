"""INFORMATION_SCHEMA.INNODB_BUFFER_POOL_STATS: young, old and free pages of each buffer pool instance.

The printed rates of this table are not read: on MySQL each reader resets them for all readers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter

from exporter.anonymisation import numbers
from exporter.collectors.base import Collector, LabelledValue, SnapshotMetric, amount, fixed, optional
from exporter.midpoint import old_target
from exporter.rows import Rows, count
from exporter.snapshot import Snapshot, ToldCount

SQL = (
    "SELECT POOL_ID, POOL_SIZE, FREE_BUFFERS, DATABASE_PAGES, OLD_DATABASE_PAGES, MODIFIED_DATABASE_PAGES,"
    " PAGES_MADE_YOUNG, PAGES_NOT_MADE_YOUNG, NUMBER_PAGES_READ, NUMBER_PAGES_CREATED, NUMBER_PAGES_WRITTEN,"
    " NUMBER_PAGES_GET, NUMBER_PAGES_READ_AHEAD, NUMBER_READ_AHEAD_EVICTED"
    " FROM information_schema.INNODB_BUFFER_POOL_STATS ORDER BY POOL_ID"
)


@dataclass(frozen=True, slots=True)
class BufferPool:
    """One buffer pool instance."""

    pool: int
    """The instance's number."""
    size_pages: int
    free_pages: int
    database_pages: int
    """In the LRU list."""
    old_pages: ToldCount
    modified_pages: ToldCount
    # Cumulative counts since the server's start:
    made_young: ToldCount
    not_made_young: ToldCount
    pages_read: ToldCount
    pages_created: ToldCount
    pages_written: ToldCount
    gets: ToldCount
    read_ahead: ToldCount
    read_ahead_evicted: ToldCount


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


def _size(setting: str, text: str) -> SnapshotMetric:
    return SnapshotMetric(
        f"{setting}_bytes",
        "gauge",
        text,
        unit="bytes",
        values=lambda snapshot: optional(amount(snapshot, setting)),
    )


def _of_each(value: Callable[[BufferPool], float]) -> Callable[[Snapshot], Iterator[LabelledValue]]:
    return lambda snapshot: (((str(pool.pool),), value(pool)) for pool in snapshot[POOLS] or ())


def _counter(field: str, text: str) -> SnapshotMetric:
    name = f"innodb_buffer_pool_{field}_total"
    return SnapshotMetric(name, "counter", text, ("pool",), values=_of_each(attrgetter(field)))


def _sublists(snapshot: Snapshot) -> Iterator[LabelledValue]:
    for pool in snapshot[POOLS] or ():
        name = str(pool.pool)
        if pool.old_pages <= pool.database_pages:  # the server reads the two at different moments
            yield (name, "young"), pool.database_pages - pool.old_pages
        yield (name, "old"), pool.old_pages
        yield (name, "free"), pool.free_pages


def _old_target(snapshot: Snapshot) -> Iterator[LabelledValue]:
    pct = amount(snapshot, "innodb_old_blocks_pct")
    if pct is not None:
        yield from _of_each(lambda pool: old_target(pool.database_pages, int(pct)))(snapshot)


POOLS = Collector(
    "pools",
    fixed(SQL),
    parse,
    privilege="PROCESS ON *.*",
    quick=True,
    anonymise=numbers,
    metrics=(
        _size("innodb_buffer_pool_size", "innodb_buffer_pool_size."),
        _size("innodb_page_size", "innodb_page_size."),
        SnapshotMetric(
            "innodb_buffer_pool_size_pages",
            "gauge",
            "Pages that a buffer pool instance has room for. Its control blocks take the rest of its memory.",
            ("pool",),
            "pages",
            values=_of_each(attrgetter("size_pages")),
        ),
        SnapshotMetric(
            "innodb_buffer_pool_pages",
            "gauge",
            "Pages of a buffer pool instance in the young or old sublist of its LRU list, or on the free list.",
            ("pool", "sublist"),
            "pages",
            values=_sublists,
        ),
        SnapshotMetric(
            "innodb_buffer_pool_modified_pages",
            "gauge",
            "Dirty pages.",
            ("pool",),
            "pages",
            values=_of_each(attrgetter("modified_pages")),
        ),
        SnapshotMetric(
            "innodb_buffer_pool_old_target_pages",
            "gauge",
            "Length that innodb_old_blocks_pct steers the old sublist to, give or take 20 pages.",
            ("pool",),
            "pages",
            values=_old_target,
        ),
        _counter("made_young", "Pages moved from the old sublist to the head."),
        _counter(
            "not_made_young",
            "Accesses to old pages that did not move them, within innodb_old_blocks_time of the first.",
        ),
        _counter("pages_read", "Pages read from disk, read-ahead included."),
        _counter("pages_created", "Pages created in the buffer pool."),
        _counter("pages_written", "Pages written from the buffer pool."),
        _counter("gets", "Logical page reads."),
        _counter("read_ahead", "Pages read ahead."),
        _counter("read_ahead_evicted", "Pages read ahead and evicted without an access."),
    ),
)
