"""The memory of the pool that none of the remembered hours needs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from advisor.facts.beyond_window import SpareFacts
from advisor.observe.limits import MAY_READ
from advisor.observe.window import Window, total
from advisor.pool.hours import HOUR_SECONDS, MEMORY, MIB, Hour, same_start, settings_digest, started
from advisor.pool.settings import POOL_SIZE, size_as_set
from exporter.collectors.pools import POOLS
from exporter.rows import number
from exporter.snapshot import Snapshot


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
    latest, today = window.latest, number(window.latest.setting(POOL_SIZE))
    warm = [hour for hour in _warm(hours) if latest.at - MEMORY.longest <= hour.at <= latest.at + MEMORY.clock_slack]
    facts = _watched(warm, latest, today, may_read)
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


def _watched(warm: Sequence[Hour], latest: Snapshot, today: float | None, may_read: float) -> SpareFacts:
    """How much of the days was watched with today's settings."""
    booted, settings = started(latest), settings_digest(latest)
    watched = [hour for hour in warm if hour.settled and hour.settings == settings]
    days, least = _least_watched(watched)
    return SpareFacts(
        kept=True,
        days=days,
        least_watched=least,
        hours=float(len(warm)),
        settled=any(
            hour.pool_bytes == today and same_start(hour.started, booted) and latest.at - hour.at <= MEMORY.recent
            for hour in watched
        ),
        may_read=may_read,
        cure=f"wait: the hour that began at {least} was watched least",
    )


def _smallest(hours: Sequence[Hour], window: Window, today: float, may_read: float) -> float:
    """The smallest size that the server would set with which no hour reads too much; nor with any larger one."""
    asked = {reads.bytes for hour in hours for reads in hour.sizes}
    sizes = {size_as_set(window, math.ceil(size / MIB) * MIB) for size in asked}
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
            end = min(until, (since // HOUR_SECONDS + 1) * HOUR_SECONDS)
            watched[int(since // HOUR_SECONDS)] = watched.get(int(since // HOUR_SECONDS), 0.0) + end - since
            since = end
    days = [0] * 24
    for begin, seconds in watched.items():
        days[begin % 24] += seconds >= MEMORY.watched * HOUR_SECONDS
    least = min(range(24), key=days.__getitem__)
    return float(days[least]), f"{least:02}:00 UTC"


def _unfilled(latest: Snapshot, freed: float) -> float | None:
    pools, page_bytes = latest[POOLS], number(latest.setting("innodb_page_size"))
    if pools is None or page_bytes is None:
        return None
    return min(freed, page_bytes * total(pool.free_pages for pool in pools))
