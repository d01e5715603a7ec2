"""Reads and writes of data files, read-ahead, flushing and the redo log over the window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from advisor.facts.base import maybe, over_pools, ratio
from advisor.observe.window import Window
from exporter.collectors.innodb_status import checkpoint_age, checkpoint_age_limit
from exporter.collectors.status import STATUS
from exporter.collectors.variables import VARIABLES
from exporter.rows import number
from exporter.snapshot import Snapshot

_DIRECT = ("O_DIRECT", "O_DIRECT_NO_FSYNC", "ALL_O_DIRECT", "unbuffered", "async_unbuffered")
_BUFFERED = ("", "fsync", "fdatasync", "O_DSYNC", "littlesync", "nosync", "normal")


@dataclass(frozen=True, slots=True)
class IoFacts:
    """Reads and writes of data files over the window."""

    through_page_cache: bool | None = maybe(
        "Whether reads and writes of data files go through the operating system's page cache."
    )
    pages_read: float | None = maybe("Pages that the buffer pool read from data files.", unit="pages")
    pages_written: float | None = maybe("Pages that the buffer pool wrote to data files.", unit="pages")
    pages_written_per_second: float | None = maybe("Pages that the buffer pool wrote to data files.", unit="pages/s")
    read_ahead: float | None = maybe(
        "Pages that linear and random read-ahead read before anything asked for them.", unit="pages"
    )
    random_read_ahead: float | None = maybe(
        "Pages that random read-ahead read; 0 on MariaDB 11.8, which counts them as linear.", unit="pages"
    )
    read_ahead_evicted: float | None = maybe(
        "Pages read ahead and evicted without an access. A lower bound: evictions by the page cleaner are not "
        "counted. Not known on MariaDB 10.6 and later, where the page cleaner does all evictions.",
        unit="pages",
    )
    wasted_share: float | None = maybe(
        "Share of the pages read ahead that were evicted without an access.", unit="0 to 1"
    )
    dirty_pages: float | None = maybe("Dirty pages of the buffer pool, as a mean over the window.", unit="pages")
    dirty_share: float | None = maybe(
        "Share of the buffer pool that is dirty, as a mean over the window.", unit="0 to 1"
    )
    checkpoint_age_bytes: float | None = maybe(
        "Redo log written since the last checkpoint, as a mean over the window.", unit="bytes"
    )
    checkpoint_age_limit_bytes: float | None = maybe(
        "Age of the checkpoint at which writers wait for page writes.", unit="bytes"
    )
    checkpoint_age_share: float | None = maybe(
        "Age of the checkpoint as a share of its limit, as a mean over the window.", unit="0 to 1"
    )
    dump_share: float | None = maybe(
        "Share of the LRU list, from its head, that a dump of the buffer pool names.", unit="0 to 1"
    )


def io(window: Window) -> IoFacts:
    """From INNODB_BUFFER_POOL_STATS, SHOW GLOBAL STATUS, SHOW ENGINE INNODB STATUS and the settings."""
    latest = window.latest
    read_ahead, written = window.delta(read_ahead_pages), window.delta(over_pools("pages_written"))
    evicted = None
    if latest.server.has("read_ahead_evictions_counted"):
        evicted = window.delta(over_pools("read_ahead_evicted"))
    dirty, age, limit = (
        _mean(window, over_pools("modified_pages")),
        _mean(window, checkpoint_age),
        checkpoint_age_limit(latest),
    )
    return IoFacts(
        through_page_cache=through_page_cache(latest),
        pages_read=window.delta(over_pools("pages_read")),
        pages_written=written,
        pages_written_per_second=ratio(written, window.seconds),
        read_ahead=read_ahead,
        random_read_ahead=window.delta(_random_read_ahead),
        read_ahead_evicted=evicted,
        wasted_share=ratio(evicted, read_ahead),
        dirty_pages=dirty,
        dirty_share=ratio(dirty, over_pools("size_pages")(latest)),
        checkpoint_age_bytes=age,
        checkpoint_age_limit_bytes=limit,
        checkpoint_age_share=ratio(age, limit),
        dump_share=_dump_share(latest),
    )


def read_ahead_pages(snapshot: Snapshot) -> float | None:
    """Pages read ahead since the start. INNODB_BUFFER_POOL_STATS does not count random read-ahead (seen)."""
    linear, random = over_pools("read_ahead")(snapshot), _random_read_ahead(snapshot)
    return None if linear is None or random is None else linear + random


def through_page_cache(snapshot: Snapshot) -> bool | None:
    """Whether data files are read and written through the operating system's page cache, by the settings.

    None where that is not known: other values of innodb_flush_method.
    """
    setting = _page_cache_setting(snapshot)
    value = None if setting is None else snapshot.setting(setting)
    if setting == "innodb_data_file_buffering":
        return value in ("ON", "1")
    if value in _DIRECT:
        return False
    return True if value in _BUFFERED else None


def _page_cache_setting(snapshot: Snapshot) -> str | None:
    """The setting that is in effect. MariaDB 11 still shows the other one, which has no effect (seen on 11.8)."""
    names = ("innodb_data_file_buffering", "innodb_flush_method")
    return next((name for name in names if snapshot.setting(name) is not None), None)


def _random_read_ahead(snapshot: Snapshot) -> float | None:
    return (snapshot[STATUS] or {}).get("innodb_buffer_pool_read_ahead_rnd")


def _mean(window: Window, value: Callable[[Snapshot], float | None]) -> float | None:
    known = [number for snapshot in window.snapshots if (number := value(snapshot)) is not None]
    return sum(known) / len(known) if known else None


def _dump_share(snapshot: Snapshot) -> float | None:
    """Share of the list that is dumped; a server without innodb_buffer_pool_dump_pct dumps all: MySQL 5.6."""
    if snapshot[VARIABLES] is None:
        return None
    pct = number(snapshot.setting("innodb_buffer_pool_dump_pct"))
    return 1.0 if pct is None else pct / 100.0
