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
from advisor.facts.spare import SpareFacts
from advisor.observe.limits import MAY_READ
from advisor.observe.window import Window, total
from advisor.pool.curve import Curve
from advisor.pool.settings import size_as_set
from exporter.collectors.pools import POOLS
from exporter.collectors.status import STATUS
from exporter.recording.bounds import EARLIEST, LATEST
from exporter.rows import number
from exporter.snapshot import Snapshot

LONGEST = 35 * 86_400.0
"""Seconds that are remembered: a job of the month is among them."""
WARM_UP = 2 * 3600.0
"""Seconds after a start, or a change of the pool's size, that tell nothing of the reads of later hours."""
DAYS = 3.0
"""Days on which each hour of the day must have been watched."""
MOST_HOURS = 2_000
"""Hours that are kept: LONGEST has less than half as many, but a restart or a new setting begins another one."""
_HOUR = 3600.0
_WATCHED = 0.8
"""Part of an hour of the day that counts as all of it: curves do not come to the second."""
_STILL = 0.01
"""Part of the pool: one that gains fewer pages over its window no longer fills."""
_FULL = 0.02
"""Part of the pool: with fewer free pages it is full."""
_BESIDE, _LEAST_BESIDE = 0.05, 16 * 2.0**20
"""What a pool is to be larger than the curve says, as a share and in bytes at least: undo logs and the data dictionary
take pages beside the tables. A pool that only just holds a hot set falls off a cliff without them: on MySQL 9.7, 3,000
pages needed 3,550."""
_RECENT = 86_400.0
"""Seconds: with no hour as new as this, the memory is of a load that may be gone."""
_CLOCK_SLACK = 60.0
"""Seconds by which the server's start, computed from Uptime, may seem to move."""
_MIB = 2.0**20
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
_Length = Annotated[float, Field(ge=0, le=LONGEST)]
_Count = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class Reads:
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
    sizes: tuple[Reads, ...]

    @property
    def began(self) -> float:
        """Its begin, Unix seconds."""
        return self.at - self.seconds

    def of(self, size: float) -> Reads | None:
        """The reads with a pool of this size: those with the next smaller one, which are no fewer."""
        if size >= self.pool_bytes:
            return Reads(size, self.reads, self.reads)
        return next((each for each in reversed(self.sizes) if each.bytes <= size), None)

    def rise(self, size: float, today: float) -> float:
        """Pages a second that would be read more with a pool of ``size`` than with today's, at most.

        Infinite where the curve does not reach so far. With a pool that was smaller than today's, the hour does not
        tell how few reads today's would have: none is the most cautious guess.
        """
        found = self.of(size)
        return math.inf if found is None else max(0.0, found.most - self.before(today))

    def before(self, today: float) -> float:
        """The reads with today's pool, at least."""
        return self.reads if self.pool_bytes >= today else 0.0


@dataclass(frozen=True, slots=True)
class Memory:
    """The hours of the last days, oldest first. Immutable: it may be handed to threads."""

    hours: tuple[Hour, ...] = ()

    def with_hour(self, hour: Hour) -> Memory:
        """The memory with one more hour. Hours that are too old, or not over yet by this clock, are forgotten.

        So is the last one where the hour before it and the new one leave no time between them: curves may come more
        often than once an hour.
        """
        kept = [each for each in self.hours if hour.at - LONGEST <= each.at < hour.at]
        if len(kept) > 1 and hour.began <= kept[-2].at and _of_one_run(*kept[-2:], hour):
            kept.pop()
        return Memory((*kept, hour)[-MOST_HOURS:])


def hour(window: Window, curve: Curve | None) -> Hour | None:
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
    sizes: tuple[Reads, ...]
    if enough < size:
        sizes = (Reads(enough, reads, reads),)
    else:
        sizes = tuple(
            Reads(found, each.reads.expected, each.reads.high)
            for each in (curve.sizes if curve else ())
            if (found := with_room(each.bytes)) < size and math.isfinite(each.reads.high)
        )
    if not sizes:
        return None
    settled = _settled(window)
    return Hour(latest.at, window.seconds, booted, float(size), settings_digest(latest), settled, reads, sizes)


def spare(memory: Memory | None, window: Window, may_read: float = MAY_READ) -> SpareFacts:
    """The memory of the pool that could go.

    The answer is the smallest size for which, at the high end of the interval, no hour reads more than ``may_read``
    pages a second above what it read. Every remembered hour outside of a warm-up may object, also those with other
    settings. Only hours with today's settings, in which the pool did not fill, count as watched.

    Args:
        memory: The memory of the server; None where none is kept.
        window: Its newest snapshot tells today's settings.
        may_read: Pages a second that may be read more.
    """
    if memory is None:
        return SpareFacts(may_read=may_read)
    latest = window.latest
    today, booted = number(latest.setting("innodb_buffer_pool_size")), started(latest)
    warm = [each for each in _warm(memory.hours) if latest.at - LONGEST <= each.at <= latest.at + _CLOCK_SLACK]
    settings = settings_digest(latest)
    watched = [each for each in warm if each.settled and each.settings == settings]
    days, least = _least_watched(watched)
    found = SpareFacts(
        kept=True,
        days=days,
        least_watched=least,
        hours=float(len(warm)),
        settled=any(
            each.pool_bytes == today and _same_start(each.started, booted) and latest.at - each.at <= _RECENT
            for each in watched
        ),
        may_read=may_read,
        cure=f"wait: the hour that began at {least} was watched least",
    )
    if today is None or not warm:
        return found
    size = _smallest(warm, window, float(today), may_read)
    # Of hours that read no more, the one that reads most.
    worst = max(warm, key=lambda each: (each.rise(size, float(today)), each.reads))
    reads, now = worst.of(size), worst.before(float(today))
    if reads is None:  # only today's size is chosen then, which every hour of it knows
        return found
    return replace(
        found,
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
    asked = {each.bytes for hour in hours for each in hour.sizes}
    sizes = {size_as_set(window, math.ceil(size / _MIB) * _MIB) for size in asked}
    found = today
    for size in sorted((size for size in sizes if size < today), reverse=True):
        if any(each.rise(size, today) > may_read for each in hours):
            break
        found = size
    return found


def _warm(hours: Sequence[Hour]) -> Iterator[Hour]:
    """The hours that began long enough after the server's start and after a change of the pool's size."""
    size, since = None, 0.0
    for each in hours:
        if each.pool_bytes != size:
            size, since = each.pool_bytes, each.began
        if each.began >= max(since, each.started) + WARM_UP:
            yield each


def _least_watched(hours: Sequence[Hour]) -> tuple[float, str]:
    """Of the 24 hours of the day the one that was watched on the fewest days, and these days."""
    watched: dict[int, float] = {}
    until = -math.inf
    for each in hours:
        since = max(each.began, until)
        until = max(each.at, until)
        while since < until:
            end = min(until, (since // _HOUR + 1) * _HOUR)
            watched[int(since // _HOUR)] = watched.get(int(since // _HOUR), 0.0) + end - since
            since = end
    days = [0] * 24
    for begin, seconds in watched.items():
        days[begin % 24] += seconds >= _WATCHED * _HOUR
    least = min(range(24), key=days.__getitem__)
    return float(days[least]), f"{least:02}:00 UTC"


def _of_one_run(*hours: Hour) -> bool:
    """Whether neither a restart nor another setting came between them."""
    first, *others = hours
    return all(
        (each.pool_bytes, each.settings) == (first.pool_bytes, first.settings)
        and _same_start(each.started, first.started)
        for each in others
    )


def _same_start(one: float, other: float | None) -> bool:
    return other is not None and abs(one - other) <= _CLOCK_SLACK


def started(snapshot: Snapshot) -> float | None:
    """When the server started, Unix seconds; None where that is not known."""
    status = snapshot[STATUS]
    return None if status is None else snapshot.at - status["uptime"]


def _settled(window: Window) -> bool:
    """Whether the pool is full, or gained hardly a page: a pool that is larger than the data never fills."""
    known = [held for snapshot in window.snapshots if (held := _held(snapshot)) is not None]
    pages = over_pools("size_pages")(window.latest) or 0.0
    kept = _kept_free(window.latest) if window.latest.server.has("free_list_kept") else _FULL * pages
    return known[-1] + kept >= pages or known[-1] - min(known) < _STILL * pages


def _enough(window: Window, size: float) -> float:
    """Bytes of a pool that would have held everything, too; infinite where pages may have been evicted."""
    pages = over_pools("size_pages")(window.latest)
    held = [each for snapshot in window.snapshots if (each := _held(snapshot)) is not None]
    needed = max(held, default=math.inf) + _kept_free(window.latest)
    return math.inf if not pages or needed >= pages else math.ceil(needed * size / pages)


def _held(snapshot: Snapshot) -> float | None:
    """Pages that are not free: data, and what the server keeps in the pool beside them."""
    size, free = over_pools("size_pages")(snapshot), over_pools("free_pages")(snapshot)
    return None if size is None or free is None else size - free


def _kept_free(snapshot: Snapshot) -> float:
    """The most free pages that the page cleaner may keep in a full pool."""
    pools, depth = snapshot[POOLS] or (), number(snapshot.setting("innodb_lru_scan_depth"))
    return math.inf if depth is None else depth * len(pools) + _FULL * total(each.size_pages for each in pools)


def _unfilled(latest: Snapshot, freed: float) -> float | None:
    pools, page_bytes = latest[POOLS], number(latest.setting("innodb_page_size"))
    if pools is None or page_bytes is None:
        return None
    return min(freed, page_bytes * total(each.free_pages for each in pools))


def with_room(size: float) -> float:
    """Bytes of a pool that has room for others beside what the curve says."""
    return size + max(_BESIDE * size, _LEAST_BESIDE)


def settings_digest(snapshot: Snapshot) -> str:
    """A digest of the server's version and of the settings that decide what is read, beside the pool's size."""
    values = [str(snapshot.server), *(f"{name}={snapshot.setting(name)}" for name in _OF_READS)]
    return hashlib.sha256("\n".join(values).encode()).hexdigest()[:16]
