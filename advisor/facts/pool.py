"""The buffer pool, all instances together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.facts.base import file_reads, maybe, over_pools, ratio
from advisor.facts.scans import ScanFacts
from advisor.observe.window import Window, total
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.machine import MACHINE
from exporter.collectors.pools import POOLS
from exporter.collectors.table_files import TABLE_FILES
from exporter.midpoint import old_target
from exporter.rows import number

HEADROOM = 0.8
"""Share of the available memory that a pool may grow by. Control blocks and hash tables need about a twentieth of its
pages, and connections and the page cache of the logs keep growing."""
_GIB = 2.0**30
LARGEST_PCT = 95


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """The buffer pool, all instances together."""

    pages: float | None = maybe("Size of the pool.", unit="pages")
    list_pages: float | None = maybe("Pages in the LRU lists.", unit="pages")
    old_pages: float | None = maybe("Pages in the old sublists.", unit="pages")
    old_target_pages: float | None = maybe(
        "Length that innodb_old_blocks_pct steers the old sublists to.", unit="pages"
    )
    old_most_pages: float | None = maybe(
        "Length that the largest innodb_old_blocks_pct would steer the old sublists to: a larger scanned table "
        "cannot be held.",
        unit="pages",
    )
    free_pages: float | None = maybe("Pages on the free lists.", unit="pages")
    instances: float | None = maybe("Number of instances.", unit="instances")
    page_bytes: float | None = maybe("Size of a page.", unit="bytes")
    pages_read: float | None = maybe("Pages read from disk over the window.", unit="pages")
    pages_read_since_start: float | None = maybe("Pages read from disk since the server started.", unit="pages")
    made_young: float | None = maybe("Pages made young over the window.", unit="pages")
    gets: float | None = maybe("Page gets over the window, from memory or from disk.", unit="gets")
    pages_read_per_second: float | None = maybe("Pages read from disk.", unit="pages/s")
    read_by_scans: float | None = maybe("Share of the pages read that full scans account for.", unit="0 to 1")
    read_again: float | None = maybe(
        "Share of the pages read that had been read before for certain: a table's file can give no more first "
        "reads than the table has pages.",
        unit="0 to 1",
    )
    most_bytes: float | None = maybe(
        "Largest innodb_buffer_pool_size that the server's machine or container has memory for.", unit="bytes"
    )


def pool(window: Window, scans: Sequence[ScanFacts]) -> PoolFacts:
    """From INNODB_BUFFER_POOL_STATS.

    Args:
        window: What has been watched.
        scans: What is known of the scanned tables in it.
    """
    latest, pools = window.latest, window.latest[POOLS]
    page_bytes = number(latest.setting("innodb_page_size"))
    if pools is None:
        return PoolFacts(page_bytes=page_bytes)
    pct = number(latest.setting("innodb_old_blocks_pct"))
    free = total(instance.free_pages for instance in pools)
    pages_read = window.delta(over_pools("pages_read"))
    return PoolFacts(
        pages=total(instance.size_pages for instance in pools),
        list_pages=total(instance.database_pages for instance in pools),
        old_pages=over_pools("old_pages")(latest),
        old_target_pages=(
            None if pct is None else total(old_target(instance.database_pages, int(pct)) for instance in pools)
        ),
        old_most_pages=total(old_target(instance.database_pages, LARGEST_PCT) for instance in pools),
        free_pages=free,
        instances=float(len(pools)),
        page_bytes=page_bytes,
        pages_read=pages_read,
        pages_read_since_start=over_pools("pages_read")(latest),
        made_young=window.delta(over_pools("made_young")),
        gets=window.delta(over_pools("gets")),
        pages_read_per_second=ratio(pages_read, window.seconds),
        read_by_scans=_by_scans(window, scans, pages_read),
        read_again=_read_again(window, pages_read),
        most_bytes=_most_bytes(window, None if page_bytes is None else free * page_bytes),
    )


def _by_scans(window: Window, scans: Sequence[ScanFacts], pages_read: float | None) -> float | None:
    """Share of the pages read by scans; reads of a table beyond the most that its passes could read are lookups."""
    if pages_read is None or window.latest[INDEX_SIZES] is None or window.latest[TABLE_FILES] is None:
        return None
    if any(scan.parallel_passes and scan.pages_read is None for scan in scans):
        return None
    if any(scan.in_doubt for scan in scans):
        return None
    scanned = total(min(scan.pages_read or 0.0, (scan.pages or 0.0) * (scan.passes or 0.0)) for scan in scans)
    return min(1.0, scanned / max(pages_read, 1.0))


def _read_again(window: Window, pages_read: float | None) -> float | None:
    """Share of the pages read that cannot be first reads; None where reads by file or sizes are not known."""
    sizes, files = window.latest[INDEX_SIZES], window.latest[TABLE_FILES]
    if pages_read is None or sizes is None or files is None:
        return None
    again = 0.0
    for table, size_pages in sizes.pages.items():
        read = file_reads(window, table)
        if read and table in files:
            unread = max(0.0, size_pages - (files[table].reads - read))
            again += max(0.0, read - unread)
    return min(1.0, again / max(pages_read, 1.0))


def _most_bytes(window: Window, free_bytes: float | None) -> float | None:
    """From the available memory, or else from a share of all memory.

    The share is that of MySQL's innodb_dedicated_server: half of up to 4 GiB, three quarters of more.
    """
    size, machine = number(window.latest.setting("innodb_buffer_pool_size")), window.latest[MACHINE]
    if machine is None or size is None:
        return None
    if machine.memory_available_bytes is not None and free_bytes is not None:
        # Pages that were never filled may not use memory yet, but they will.
        return float(size) + HEADROOM * max(0.0, machine.memory_available_bytes - free_bytes)
    if machine.memory_bytes is None:
        return None
    return max(float(size), machine.memory_bytes * (0.5 if machine.memory_bytes <= 4 * _GIB else 0.75))
