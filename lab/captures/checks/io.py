"""Checks of captures of reads and writes: warm pools, read-ahead, flushing."""

from __future__ import annotations

from collections.abc import Callable

from exporter.collectors.innodb_status import checkpoint_age
from exporter.collectors.pools import POOLS, BufferPool
from exporter.snapshot import Snapshot
from lab.captures.checks.base import Numbers, Snapshots, pages_read, require


def warm(snapshots: Snapshots) -> Numbers:
    """The pool is full, its young pages are in use, and hardly any page is read."""
    last = snapshots[-1]
    young = _sum(last, lambda pool: pool.database_pages - pool.old_pages)
    free, gets, read = _sum(last, lambda pool: pool.free_pages), _growth(snapshots, "gets"), pages_read(snapshots)
    require(young >= 2000, f"{young} young pages")
    require(free < 0.1 * _sum(last, lambda pool: pool.size_pages), f"{free} pages are free")
    require(gets >= young * (last.at - snapshots[0].at) / 3600, f"{gets} pages were asked for")
    require(sum(read) < 0.05 * young, f"{sum(read)} pages were read")
    return {"young_pages": young, "free_pages": free, "gets": gets, "pages_read": sum(read)}


def wasted(snapshots: Snapshots, *, counted: bool = True) -> Numbers:
    """Many pages are read ahead; if the server counts it, most of them are evicted without an access."""
    ahead, evicted = _growth(snapshots, "read_ahead"), _growth(snapshots, "read_ahead_evicted")
    read = sum(pages_read(snapshots))
    require(ahead >= 500, f"{ahead} pages were read ahead")
    require(not counted or (evicted >= 0.5 * ahead and evicted >= 0.1 * read), f"{evicted} of {ahead} were evicted")
    return {"pages_read": read, "read_ahead": ahead, "evicted_without_access": evicted}


def flushing(snapshots: Snapshots) -> Numbers:
    """Pages are written throughout, and the checkpoint age is known."""
    written = _growth(snapshots, "pages_written")
    known = [age for snapshot in snapshots if (age := checkpoint_age(snapshot)) is not None]
    require(written >= 200, f"{written} pages were written")
    require(len(known) == len(snapshots), "the checkpoint's age is not known")
    return {
        "pages_written": written,
        "dirty_pages": [_sum(snapshot, lambda pool: pool.modified_pages) for snapshot in snapshots],
        "checkpoint_age_bytes": [int(age) for age in known],
    }


def _sum(snapshot: Snapshot, value: Callable[[BufferPool], int]) -> int:
    return sum(value(pool) for pool in snapshot[POOLS] or ())


def _growth(snapshots: Snapshots, counter: str) -> int:
    first, last = (_sum(snapshots[end], lambda pool: int(getattr(pool, counter))) for end in (0, -1))
    return last - first
