"""How long a pool takes to settle after a change: until what the change displaces was read, or nothing is read."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from advisor.facts.base import over_pools
from advisor.ledger.entry import Changed, Outcome
from advisor.ledger.reading import PER_PASS, READ, WINDOW_SECONDS, PromisedQuantity, Reading
from advisor.observe.limits import MAY_READ
from advisor.observe.window import Window
from exporter.rows import number
from exporter.snapshot import Snapshot

LIMIT = 12
"""Windows after which a change is measured all the same, and said to be unsettled."""
_PCT, _SIZE = "innodb_old_blocks_pct", "innodb_buffer_pool_size"


@dataclass(frozen=True, slots=True)
class _Steady:
    """When a pool no longer changes.

    Attributes:
        fell: Share by which reads fall from one window to the next while a pool still settles.
        passes: Passes after which what a pass reads is known.
        full: Share of the pool: with fewer free pages it is full.
        still: Share of the pool: one that reads or gains fewer pages in a window no longer changes.
    """

    fell: float = 0.2
    passes: float = 2.0
    full: float = 0.02
    still: float = 0.01


_STEADY = _Steady()


@dataclass(frozen=True, slots=True)
class Settling:
    """How far a pool has settled.

    Attributes:
        warms: Whether it starts cold or has grown, so that reads that rise are its warm-up.
        since: From when on it is settled, Unix seconds; None while it is not.
        why: What is waited for, in words.
    """

    warms: bool
    since: float | None
    why: str = ""


def settling(outcome: Outcome, window: Window, window_seconds: float = WINDOW_SECONDS) -> Settling:
    """How far the pool has settled after a change.

    A pool that is cold or has grown settles once it is full, or gains hardly a page. Another midpoint displaces as many
    pages as it moves by: so many have to be read or created. Where hardly a page is read, there is nothing to wait for.

    Args:
        outcome: Says what changed.
        window: Since the change, or since a restart that came later.
        window_seconds: Length of a window that counts as one.
    """
    snapshots = window.snapshots
    restarted = _restarted(snapshots[0], outcome, window_seconds)
    warms = restarted or any(change.setting == _SIZE and _grew(change) for change in outcome.changes)
    if warms:
        return Settling(warms, _filled(snapshots, window_seconds), "the pool fills")
    pages = max((_displaced(change, snapshots[0]) for change in outcome.changes), default=0.0)
    return Settling(warms, _replaced(snapshots, pages, window_seconds), f"{pages:,.0f} pages are displaced")


def is_steady(reading: Reading, promised: Collection[PromisedQuantity], window_seconds: float = WINDOW_SECONDS) -> bool:
    """Whether reads no longer fall from one window to the next, and promises on passes saw enough of them.

    Args:
        reading: Since the pool settled.
        promised: Quantities that are promised.
        window_seconds: Length of a window that counts as one.
    """
    measures = [reading.measure(quantity, subject) for quantity, subject in promised if quantity in PER_PASS]
    if any(measure is not None and sum(measure.bases) < _STEADY.passes for measure in measures):
        return False
    amounts = [measure.amounts for measure in reading.measures if measure.quantity == READ]
    reads = [sum(slice_) for slice_ in zip(*amounts, strict=True)]
    rates = [read / seconds for read, seconds in zip(reads, reading.seconds, strict=True)]
    count = min(round(window_seconds / reading.seconds[-1]), len(rates) // 2)
    if count < 2:
        return True
    before, last = rates[-2 * count : -count], rates[-count:]
    fell = statistics.fmean(before) - statistics.fmean(last)
    noise = 2.0 * ((statistics.variance(before) + statistics.variance(last)) / count) ** 0.5
    return bool(fell <= max(noise, _STEADY.fell * statistics.fmean(before), MAY_READ))


def _restarted(first: Snapshot, outcome: Outcome, window_seconds: float) -> bool:
    """Whether the server started after the change, or shortly before it was seen."""
    uptime = _uptime(first)
    return uptime is not None and first.at - uptime > outcome.at - window_seconds


def _grew(change: Changed) -> bool:
    return not (
        isinstance(change.before, int | float)
        and isinstance(change.after, int | float)
        and change.after <= change.before
    )


def _uptime(snapshot: Snapshot) -> float | None:
    return (snapshot.sections.get("status") or {}).get("uptime")


def _displaced(change: Changed, first: Snapshot) -> float:
    """Pages that leave the young or the old sublist."""
    before, after = number(change.before), number(change.after)
    pages = over_pools("database_pages")(first)
    if change.setting != _PCT or before is None or after is None or pages is None:
        return 0.0
    return abs(after - before) / 100.0 * pages


def _replaced(snapshots: Sequence[Snapshot], pages: float, window_seconds: float) -> float | None:
    """When so many pages had come in, or when hardly one did in a window."""
    size = over_pools("size_pages")(snapshots[-1]) or 0.0
    came = [(snapshot.at, _came(snapshot)) for snapshot in snapshots]
    known = [(at, count) for at, count in came if count is not None]
    start = 0
    for at, count in known:
        if count - known[0][1] >= pages:
            return at
        while at - known[start][0] >= window_seconds:
            if count - known[start][1] < _STEADY.still * size:
                return known[start][0]
            start += 1
    return None


def _came(snapshot: Snapshot) -> float | None:
    read, created = over_pools("pages_read")(snapshot), over_pools("pages_created")(snapshot)
    return None if read is None or created is None else read + created


def _filled(snapshots: Sequence[Snapshot], window_seconds: float) -> float | None:
    """When the pool was full, or gained hardly a page in a window."""
    known = [
        (snapshot.at, size, free)
        for snapshot in snapshots
        if (size := over_pools("size_pages")(snapshot)) and (free := over_pools("free_pages")(snapshot)) is not None
    ]
    start = 0
    for at, size, free in known:
        if free <= max(_STEADY.full * size, _kept_free(snapshots[-1])):
            return at
        while at - known[start][0] >= window_seconds:
            began, size_then, free_then = known[start]
            if (size - free) - (size_then - free_then) < _STEADY.still * size:
                return began
            start += 1
    return None


def _kept_free(snapshot: Snapshot) -> float:
    """Pages that the page cleaner keeps free in a full pool, at most."""
    depth, instances = number(snapshot.setting("innodb_lru_scan_depth")), snapshot.sections.get("pools") or ()
    return (depth or 0.0) * len(instances)
