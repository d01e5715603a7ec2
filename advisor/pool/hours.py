"""The memory of days: the miss curve of each hour, and the memory of the pool that none of these hours needs."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated

from pydantic import Field

from advisor.facts.base import over_pools
from advisor.facts.beyond_window import SpareFacts
from advisor.observe.limits import MAY_READ
from advisor.observe.window import Window, total
from advisor.pool.curve import MissCurve
from advisor.pool.settings import size_as_set
from exporter.collectors.pools import POOLS
from exporter.collectors.status import STATUS
from exporter.recording.bounds import EARLIEST, LATEST
from exporter.rows import number
from exporter.snapshot import Snapshot

_HOUR, _MIB = 3600.0, 2.0**20


@dataclass(frozen=True, slots=True)
class _MemoryOfDays:
    """What is remembered of days, and what of it counts.

    Attributes:
        longest: Seconds that are remembered: a job of the month is among them.
        most_hours: Hours that are kept: ``longest`` has less than half as many, but a restart or a new setting begins
            another one.
        warm_up: Seconds after a start, or a change of the pool's size, that tell nothing of the reads of later hours.
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
    warm_up: float = 2 * _HOUR
    days: float = 3.0
    watched: float = 0.8
    still: float = 0.01
    full: float = 0.02
    beside: float = 0.05
    least_beside: float = 16 * _MIB
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
    booted, size = started(latest), number(latest.setting("innodb_buffer_pool_size"))
    pools, read = latest[POOLS], window.delta(over_pools("pages_read"))
    if booted is None or size is None or pools is None or read is None or not window.seconds:
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
    return Hour(latest.at, window.seconds, booted, float(size), settings_digest(latest), settled, reads, sizes)


def spare(hours: Sequence[Hour] | None, window: Window, may_read: float = MAY_READ) -> SpareFacts:
    """The memory of the pool that could go.

    The answer is the smallest size for which, at the high end of the interval, no hour reads more than ``may_read``
    pages a second above what it read. Every remembered hour outside of a warm-up may object, also those with other
    settings. Only hours with today's settings, in which the pool did not fill, count as watched.

    Args:
        hours: The hours of the server, oldest first; None where none are stored.
        window: Its newest snapshot tells today's settings.
        may_read: Pages a second that may be read more.
    """
    if hours is None:
        return SpareFacts(may_read=may_read)
    latest = window.latest
    today, booted = number(latest.setting("innodb_buffer_pool_size")), started(latest)
    warm = [hour for hour in _warm(hours) if latest.at - MEMORY.longest <= hour.at <= latest.at + MEMORY.clock_slack]
    settings = settings_digest(latest)
    watched = [hour for hour in warm if hour.settled and hour.settings == settings]
    days, least = _least_watched(watched)
    facts = SpareFacts(
        kept=True,
        days=days,
        least_watched=least,
        hours=float(len(warm)),
        settled=any(
            hour.pool_bytes == today and _same_start(hour.started, booted) and latest.at - hour.at <= MEMORY.recent
            for hour in watched
        ),
        may_read=may_read,
        cure=f"wait: the hour that began at {least} was watched least",
    )
    if today is None or not warm:
        return facts
    size = _smallest(warm, window, float(today), may_read)
    # Of hours that read no more, the one that reads most.
    worst = max(warm, key=lambda hour: (hour.rise(size, float(today)), hour.reads))
    reads, now = worst.of(size), worst.before(float(today))
    if reads is None:  # only today's size is chosen then, which every hour of it knows
        return facts
    return replace(
        facts,
        value=size,
        freed_bytes=today - size,
        unfilled_bytes=_unfilled(latest, today - size),
        worst_hour=datetime.fromtimestamp(worst.began, UTC).strftime("%Y-%m-%d %H:%M UTC"),
        reads_now=now,
        reads_expected=reads.expected,
        reads_most=max(now, reads.most),
        rise=worst.rise(size, float(today)),
    )


def _smallest(hours: Sequence[Hour], window: Window, today: float, may_read: float) -> float:
    """The smallest size that the server would set with which no hour reads too much; nor with any larger one."""
    asked = {reads.bytes for hour in hours for reads in hour.sizes}
    sizes = {size_as_set(window, math.ceil(size / _MIB) * _MIB) for size in asked}
    smallest = today
    for size in sorted((size for size in sizes if size < today), reverse=True):
        if any(hour.rise(size, today) > may_read for hour in hours):
            break
        smallest = size
    return smallest


def _warm(hours: Sequence[Hour]) -> Iterator[Hour]:
    """The hours that began long enough after the server's start and after a change of the pool's size."""
    size, since = None, 0.0
    for hour in hours:
        if hour.pool_bytes != size:
            size, since = hour.pool_bytes, hour.began
        if hour.began >= max(since, hour.started) + MEMORY.warm_up:
            yield hour


def _least_watched(hours: Sequence[Hour]) -> tuple[float, str]:
    """Of the 24 hours of the day the one that was watched on the fewest days, and these days."""
    watched: dict[int, float] = {}
    until = -math.inf
    for hour in hours:
        since = max(hour.began, until)
        until = max(hour.at, until)
        while since < until:
            end = min(until, (since // _HOUR + 1) * _HOUR)
            watched[int(since // _HOUR)] = watched.get(int(since // _HOUR), 0.0) + end - since
            since = end
    days = [0] * 24
    for begin, seconds in watched.items():
        days[begin % 24] += seconds >= MEMORY.watched * _HOUR
    least = min(range(24), key=days.__getitem__)
    return float(days[least]), f"{least:02}:00 UTC"


def _of_one_run(*hours: Hour) -> bool:
    """Whether neither a restart nor another setting came between them."""
    first, *others = hours
    return all(
        (other.pool_bytes, other.settings) == (first.pool_bytes, first.settings)
        and _same_start(other.started, first.started)
        for other in others
    )


def _same_start(one: float, other: float | None) -> bool:
    return other is not None and abs(one - other) <= MEMORY.clock_slack


def started(snapshot: Snapshot) -> float | None:
    """When the server started, Unix seconds; None where that is not known."""
    status = snapshot[STATUS]
    return None if status is None else snapshot.at - status["uptime"]


def _settled(window: Window) -> bool:
    """Whether the pool is full, or gained hardly a page: a pool that is larger than the data never fills."""
    known = [held for snapshot in window.snapshots if (held := _held(snapshot)) is not None]
    pages = over_pools("size_pages")(window.latest) or 0.0
    kept = _kept_free(window.latest) if window.latest.server.has("free_list_kept") else MEMORY.full * pages
    return known[-1] + kept >= pages or known[-1] - min(known) < MEMORY.still * pages


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


def _unfilled(latest: Snapshot, freed: float) -> float | None:
    pools, page_bytes = latest[POOLS], number(latest.setting("innodb_page_size"))
    if pools is None or page_bytes is None:
        return None
    return min(freed, page_bytes * total(pool.free_pages for pool in pools))


def with_room(size: float) -> float:
    """Bytes of a pool that has room for others beside what the curve says."""
    return size + max(MEMORY.beside * size, MEMORY.least_beside)


def settings_digest(snapshot: Snapshot) -> str:
    """A digest of the server's version and of the settings that decide what is read, beside the pool's size."""
    values = [str(snapshot.server), *(f"{name}={snapshot.setting(name)}" for name in _OF_READS)]
    return hashlib.sha256("\n".join(values).encode()).hexdigest()[:16]
