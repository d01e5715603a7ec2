"""The buffer pool, all instances together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.facts.base import over_pools, ratio
from advisor.facts.scans import Scan
from advisor.observe.window import Window, total
from exporter.midpoint import old_target
from exporter.rows import number

HEADROOM = 0.8
"""The part of the available memory that a pool may grow by: its pages need control blocks and hash tables, about a
twentieth of them, and connections and the page cache of the logs go on growing."""
_GIB = 2.0**30
LARGEST_PCT = 95


@dataclass(frozen=True, slots=True)
class Pool:
    """The buffer pool, all instances together.

    Attributes:
        pages: Size, in pages.
        list_pages: Pages in the LRU lists.
        old_pages: Pages in the old sublists.
        old_target_pages: Length that innodb_old_blocks_pct steers the old sublists to, in pages.
        old_most_pages: Length that the largest innodb_old_blocks_pct would steer the old sublists to, in pages: a
            scanned table larger than this cannot be held.
        free_pages: Pages on the free lists.
        instances: Number of instances.
        page_bytes: Bytes of a page.
        pages_read: Pages read from disk over the window.
        pages_read_since_start: Pages read from disk since the server started.
        made_young: Pages made young over the window.
        gets: Pages asked for over the window.
        pages_read_per_second: Pages read from disk per second.
        read_by_scans: Part, 0 to 1, of the pages read that full scans account for.
        most_bytes: The largest innodb_buffer_pool_size that the server's machine or container has memory for, in bytes.
    """

    pages: float | None = None
    list_pages: float | None = None
    old_pages: float | None = None
    old_target_pages: float | None = None
    old_most_pages: float | None = None
    free_pages: float | None = None
    instances: float | None = None
    page_bytes: float | None = None
    pages_read: float | None = None
    pages_read_since_start: float | None = None
    made_young: float | None = None
    gets: float | None = None
    pages_read_per_second: float | None = None
    read_by_scans: float | None = None
    most_bytes: float | None = None


def pool(window: Window, scans: Sequence[Scan]) -> Pool:
    """From INNODB_BUFFER_POOL_STATS.

    Args:
        window: What has been watched.
        scans: What is known of the scanned tables in it.
    """
    latest = window.latest
    page_bytes = number(latest.setting("innodb_page_size"))
    if latest.pools is None:
        return Pool(page_bytes=page_bytes)
    pct = number(latest.setting("innodb_old_blocks_pct"))
    free = total(each.free_pages for each in latest.pools)
    pages_read = window.delta(over_pools("pages_read"))
    return Pool(
        pages=total(each.size_pages for each in latest.pools),
        list_pages=total(each.database_pages for each in latest.pools),
        old_pages=total(each.old_pages for each in latest.pools),
        old_target_pages=(
            None if pct is None else total(old_target(each.database_pages, int(pct)) for each in latest.pools)
        ),
        old_most_pages=total(old_target(each.database_pages, LARGEST_PCT) for each in latest.pools),
        free_pages=free,
        instances=float(len(latest.pools)),
        page_bytes=page_bytes,
        pages_read=pages_read,
        pages_read_since_start=total(each.pages_read for each in latest.pools),
        made_young=window.delta(over_pools("made_young")),
        gets=window.delta(over_pools("gets")),
        pages_read_per_second=ratio(pages_read, window.seconds),
        read_by_scans=_by_scans(window, scans, pages_read),
        most_bytes=_most_bytes(window, None if page_bytes is None else free * page_bytes),
    )


def _by_scans(window: Window, scans: Sequence[Scan], pages_read: float | None) -> float | None:
    """Reads of a table beyond what its passes could read at most are lookups."""
    if pages_read is None or window.latest.index_sizes is None or window.latest.table_files is None:
        return None
    scanned = total(min(scan.pages_read or 0.0, (scan.pages or 0.0) * (scan.passes or 0.0)) for scan in scans)
    return min(1.0, scanned / max(pages_read, 1.0))


def _most_bytes(window: Window, free_bytes: float | None) -> float | None:
    """From the memory that is still to be had, and where only its size is known the share that the server would take.

    That share is innodb_dedicated_server's of MySQL: half of up to 4 GiB, three quarters of more.
    """
    size, machine = number(window.latest.setting("innodb_buffer_pool_size")), window.latest.machine
    if machine is None or size is None:
        return None
    if machine.memory_available_bytes is not None and free_bytes is not None:
        # Pages that were never filled may be no memory in use yet, but will be.
        return float(size) + HEADROOM * max(0.0, machine.memory_available_bytes - free_bytes)
    if machine.memory_bytes is None:
        return None
    return max(float(size), machine.memory_bytes * (0.5 if machine.memory_bytes <= 4 * _GIB else 0.75))
