"""The memory of days: the miss curve of each hour, over restarts too."""

from __future__ import annotations

import hashlib
import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, TypeAdapter

from advisor.facts.base import over_pools
from advisor.files.stored import StoredItems
from advisor.observe.window import Window, total
from advisor.pool.curve import MissCurve
from advisor.pool.settings import POOL_SIZE
from exporter.collectors.pools import POOLS
from exporter.collectors.status import STATUS
from exporter.recording.bounds import EARLIEST, LATEST
from exporter.rows import number
from exporter.snapshot import Snapshot
from exporter.state_file import StateFile

log = logging.getLogger(__name__)

HOUR_SECONDS, MIB = 3600.0, 2.0**20


@dataclass(frozen=True, slots=True)
class _MemoryOfDays:
    """What is remembered of days, and what of it counts.

    Attributes:
        longest: Seconds that are remembered: a job of the month is among them.
        most_hours: Hours that are kept: ``longest`` has less than half as many, but a restart or a new setting begins
            another one.
        warm_up: Seconds after a start, or a change of the pool's size, whose reads are no measure of later hours.
        days: Days on which each hour of the day must have been watched.
        watched: Part of an hour of the day that counts as all of it: curves do not come to the second.
        still: Part of the pool: one that gains fewer pages over its window no longer fills.
        full: Part of the pool: with fewer free pages it is full.
        beside, least_beside: What a pool is to be larger than the curve says, as a share and in bytes at least: undo
            logs and the data dictionary take pages beside the tables. A pool that only just holds a hot set falls off a
            cliff without them: on MySQL 9.7, 3,000 pages needed 3,550.
        recent: Seconds: with no hour as new as this, the memory is of a load that may be gone.
        clock_slack: Seconds by which the server's start, computed from Uptime, may seem to move.
    """

    longest: float = 35 * 86_400.0
    most_hours: int = 2_000
    warm_up: float = 2 * HOUR_SECONDS
    days: float = 3.0
    watched: float = 0.8
    still: float = 0.01
    full: float = 0.02
    beside: float = 0.05
    least_beside: float = 16 * MIB
    recent: float = 86_400.0
    clock_slack: float = 60.0


MEMORY = _MemoryOfDays()
_OF_READS = (
    "innodb_page_size",
    "innodb_old_blocks_pct",
    "innodb_old_blocks_time",
    "innodb_lru_scan_depth",
    "innodb_read_ahead_threshold",
    "innodb_random_read_ahead",
    "innodb_change_buffering",
    "innodb_change_buffer_max_size",
    "innodb_parallel_read_threads",
)
"""Settings that decide what is read, beside the pool's size."""


_Time = Annotated[float, Field(ge=EARLIEST, lt=LATEST)]
_Length = Annotated[float, Field(ge=0, le=MEMORY.longest)]
_Count = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class ReadsAtSize:
    """Pages read a second with a pool of so many bytes: expected, and at most."""

    bytes: _Count
    expected: _Count
    most: _Count


@dataclass(frozen=True, slots=True)
class Hour:
    """An hour as its curve saw it.

    Attributes:
        at: Its end, Unix seconds.
        seconds: Length of the curve's window.
        started: When the server had started, Unix seconds.
        pool_bytes: innodb_buffer_pool_size.
        settings: Digest of the server's version and of the other settings that decide what is read.
        settled: Whether the pool was full, or gained no more pages over the window.
        reads: Pages read a second, as measured.
        sizes: Smaller pools, ascending.
    """

    at: _Time
    seconds: _Length
    started: _Time
    pool_bytes: _Count
    settings: str
    settled: bool
    reads: _Count
    sizes: tuple[ReadsAtSize, ...]

    @property
    def began(self) -> float:
        """Its begin, Unix seconds."""
        return self.at - self.seconds

    def of(self, size: float) -> ReadsAtSize | None:
        """The reads with a pool of this size: those with the next smaller one, which are no fewer."""
        if size >= self.pool_bytes:
            return ReadsAtSize(size, self.reads, self.reads)
        return next((smaller for smaller in reversed(self.sizes) if smaller.bytes <= size), None)

    def rise(self, size: float, today: float) -> float:
        """Pages a second that would be read more with a pool of ``size`` than with today's, at most.

        Infinite where the curve does not reach so far. With a pool that was smaller than today's, the hour does not
        tell how few reads today's would have: none is the most cautious guess.
        """
        reads = self.of(size)
        return math.inf if reads is None else max(0.0, reads.most - self.before(today))

    def before(self, today: float) -> float:
        """The reads with today's pool, at least."""
        return self.reads if self.pool_bytes >= today else 0.0


STORED_HOUR = TypeAdapter(Hour)


class StoredHours:
    """The hours of a server in its state file: each is on the disk before the next one begins.

    Attributes:
        hours: As they are now, oldest first, whether they could be written or not.
    """

    def __init__(self, state: StateFile) -> None:
        """Read what the last sidecar stored."""
        self._items = StoredItems(state, "hours", STORED_HOUR)
        self.hours = tuple(self._items.load())
        if self.hours:
            log.info("found a memory of %d hours", len(self.hours))

    def remember(self, window: Window, curve: MissCurve | None) -> None:
        """Remember an hour. This waits for the disk.

        Args:
            window: What was watched, about an hour after the last one.
            curve: The miss curve of this window; None where it cannot be computed.
        """
        newest = hour(window, curve)
        if newest is not None:
            self.hours = with_hour(self.hours, newest)
            self._items.keep({repr(remembered.at): remembered for remembered in self.hours})


def with_hour(hours: Sequence[Hour], hour: Hour) -> tuple[Hour, ...]:
    """The hours with one more, oldest first. Hours that are too old, or not over yet by this clock, are forgotten.

    So is the last one where the hour before it and the new one leave no time between them: curves may come more often
    than once an hour.
    """
    recent = [earlier for earlier in hours if hour.at - MEMORY.longest <= earlier.at < hour.at]
    if len(recent) > 1 and hour.began <= recent[-2].at and _of_one_run(*recent[-2:], hour):
        recent.pop()
    return (*recent, hour)[-MEMORY.most_hours :]


def hour(window: Window, curve: MissCurve | None) -> Hour | None:
    """What is to be remembered of an hour; None where no smaller pool can be answered for.

    While a pool has free pages, nothing was evicted from it. A smaller one that holds as much reads as much, whatever
    was asked for: that takes no model, and holds where the model has no answer. Of still smaller ones such a pool tells
    nothing: without evictions no page is made young (freed_page_clock, buf0lru.cc), and none is read again.

    Args:
        window: What was watched.
        curve: The miss curve of this window; None where it cannot be computed.
    """
    latest = window.latest
    begin, size = started(latest), number(latest.setting(POOL_SIZE))
    pools, read = latest[POOLS], window.delta(over_pools("pages_read"))
    if begin is None or size is None or pools is None or read is None or not window.seconds:
        return None
    reads = read / window.seconds
    enough = _enough(window, float(size))
    sizes: tuple[ReadsAtSize, ...]
    if enough < size:
        sizes = (ReadsAtSize(enough, reads, reads),)
    else:
        sizes = tuple(
            ReadsAtSize(smaller, point.pages_read_per_second.expected, point.pages_read_per_second.high)
            for point in (curve.sizes if curve else ())
            if (smaller := with_room(point.bytes)) < size
        )
    if not sizes:
        return None
    settled = _settled(window)
    return Hour(latest.at, window.seconds, begin, float(size), settings_digest(latest), settled, reads, sizes)


def _of_one_run(*hours: Hour) -> bool:
    """Whether neither a restart nor another setting came between them."""
    first, *others = hours
    return all(
        (other.pool_bytes, other.settings) == (first.pool_bytes, first.settings)
        and same_start(other.started, first.started)
        for other in others
    )


def same_start(one: float, other: float | None) -> bool:
    """Whether two times of a start are of one."""
    return other is not None and abs(one - other) <= MEMORY.clock_slack


def started(snapshot: Snapshot) -> float | None:
    """When the server started, Unix seconds; None where that is not known."""
    status = snapshot[STATUS]
    return None if status is None else snapshot.at - status["uptime"]


def _settled(window: Window) -> bool:
    """Whether the pool is full, or gained hardly a page: a pool that is larger than the data never fills."""
    used = [held for snapshot in window.snapshots if (held := _held(snapshot)) is not None]
    pages = over_pools("size_pages")(window.latest) or 0.0
    free = _kept_free(window.latest) if window.latest.server.has("free_list_kept") else MEMORY.full * pages
    return used[-1] + free >= pages or used[-1] - min(used) < MEMORY.still * pages


def _enough(window: Window, size: float) -> float:
    """Bytes of a pool that would have held everything, too; infinite where pages may have been evicted."""
    pages = over_pools("size_pages")(window.latest)
    held = [used for snapshot in window.snapshots if (used := _held(snapshot)) is not None]
    needed = max(held, default=math.inf) + _kept_free(window.latest)
    return math.inf if not pages or needed >= pages else math.ceil(needed * size / pages)


def _held(snapshot: Snapshot) -> float | None:
    """Pages that are not free: data, and what the server keeps in the pool beside them."""
    size, free = over_pools("size_pages")(snapshot), over_pools("free_pages")(snapshot)
    return None if size is None or free is None else size - free


def _kept_free(snapshot: Snapshot) -> float:
    """The most free pages that the page cleaner may keep in a full pool."""
    pools, depth = snapshot[POOLS] or (), number(snapshot.setting("innodb_lru_scan_depth"))
    return math.inf if depth is None else depth * len(pools) + MEMORY.full * total(pool.size_pages for pool in pools)


def with_room(size: float) -> float:
    """Bytes of a pool that has room for others beside what the curve says."""
    return size + max(MEMORY.beside * size, MEMORY.least_beside)


def settings_digest(snapshot: Snapshot) -> str:
    """A digest of the server's version and of the settings that decide what is read, beside the pool's size."""
    values = [str(snapshot.server), *(f"{name}={snapshot.setting(name)}" for name in _OF_READS)]
    return hashlib.sha256("\n".join(values).encode()).hexdigest()[:16]
