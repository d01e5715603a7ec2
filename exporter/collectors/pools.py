"""INFORMATION_SCHEMA.INNODB_BUFFER_POOL_STATS: young, old and free pages of each buffer pool instance.

The printed rates of this table are not read: on MySQL each reader resets them for all readers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from exporter.anonymisation import numbers
from exporter.collectors.base import Collector, SectionMetric, amount, counter, fixed, gauge, optional
from exporter.exposition import LabelledValue
from exporter.midpoint import old_target
from exporter.rows import Rows, count
from exporter.snapshot import Snapshot

_COLUMNS = (
    "pool_id",
    "pool_size",
    "free_buffers",
    "database_pages",
    "old_database_pages",
    "modified_database_pages",
    "pages_made_young",
    "pages_not_made_young",
    "number_pages_read",
    "number_pages_created",
    "number_pages_written",
    "number_pages_get",
    "number_pages_read_ahead",
    "number_read_ahead_evicted",
)
"""In the order of BufferPool's fields."""
SQL = f"SELECT {', '.join(_COLUMNS).upper()} FROM information_schema.INNODB_BUFFER_POOL_STATS ORDER BY POOL_ID"


@dataclass(frozen=True, slots=True)
class BufferPool:
    """One buffer pool instance."""

    pool: int
    """The instance's number."""
    size_pages: int
    free_pages: int
    database_pages: int
    """In the LRU list."""
    old_pages: int
    modified_pages: int
    # Cumulative counts since the server's start:
    made_young: int
    not_made_young: int
    pages_read: int
    pages_created: int
    pages_written: int
    gets: int
    read_ahead: int
    read_ahead_evicted: int

    @property
    def young_pages(self) -> int | None:
        """In the young sublist; None where the server read the two counts at moments that do not fit."""
        return self.database_pages - self.old_pages if self.old_pages <= self.database_pages else None


def parse(results: Sequence[Rows]) -> tuple[BufferPool, ...]:
    """One BufferPool an instance, in the order of their numbers: columns and fields have the same order."""
    pools = tuple(BufferPool(*[count(row[column]) for column in _COLUMNS]) for row in results[0])
    if not pools:
        raise ValueError("INNODB_BUFFER_POOL_STATS is empty")
    return pools


def _items(pools: Sequence[BufferPool]) -> Iterator[tuple[tuple[str], BufferPool]]:
    return (((str(pool.pool),), pool) for pool in pools)


def _bytes(setting: str) -> SectionMetric:
    return gauge(f"{setting}_bytes", f"{setting}.", values=lambda snapshot: optional(amount(snapshot, setting)))


def _old_target(snapshot: Snapshot) -> Iterator[LabelledValue]:
    pct = amount(snapshot, "innodb_old_blocks_pct")
    if pct is not None:
        for pool in snapshot[POOLS] or ():
            yield (str(pool.pool),), old_target(pool.database_pages, int(pct))


def _counter(field: str, text: str) -> SectionMetric:
    return counter(f"innodb_buffer_pool_{field}_total", text, field, ("pool",))


POOLS = Collector(
    "pools",
    fixed(SQL),
    parse,
    privilege="PROCESS ON *.*",
    quick=True,
    anonymise=numbers,
    items=_items,
    metrics=(
        _bytes("innodb_buffer_pool_size"),
        _bytes("innodb_page_size"),
        gauge(
            "innodb_buffer_pool_size_pages",
            "Pages that a buffer pool instance has room for. Its control blocks take the rest of its memory.",
            "size_pages",
            ("pool",),
        ),
        gauge(
            "innodb_buffer_pool_pages",
            "Pages of a buffer pool instance in the young or old sublist of its LRU list, or on the free list.",
            "{}_pages",
            ("pool", "sublist"),
            words=("young", "old", "free"),
        ),
        gauge("innodb_buffer_pool_modified_pages", "Dirty pages.", "modified_pages", ("pool",)),
        gauge(
            "innodb_buffer_pool_old_target_pages",
            "Length that innodb_old_blocks_pct steers the old sublist to, give or take 20 pages.",
            labels=("pool",),
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
