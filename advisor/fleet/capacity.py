"""Memory of buffer pools that could go, by the series of thirty days: by server, and in sum.

A server's reads with a smaller pool come from its own warm-ups (advisor.fleet.warm_ups), or from its sidecar's miss
curve. They never come from free pages, which show how long a server runs, nor from the hit rate.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from advisor.contract.changes import change_on, refuses
from advisor.contract.fleet import Capacity, CapacityEstimate
from advisor.fleet import days, shards
from advisor.fleet.days import Days
from advisor.fleet.identity import ServerKey
from advisor.fleet.reader import FleetReader
from advisor.fleet.series import Grid
from advisor.fleet.warm_ups import WarmUp, warm_ups
from advisor.pool.hours import with_room
from advisor.pool.settings import in_chunks
from exporter.server import Server

SETTING = "innodb_buffer_pool_size"
WARM_UPS, MODEL = "warm-ups", "model"
ERRORS = {WARM_UPS: 0.45, MODEL: 0.94}
"""Error of the predicted reads that a tenth of the measured cases exceeds: of warm-ups as a share of the measured reads
(docs/proofs.md), of the miss curve at half the pool as a share of today's (docs/miss-curve.md)."""
SHARD = 50
"""Servers in a query: a pool that never fills has a day of points from each start."""
_KNOWN = 0.9
"""Share of the days that must be known, and of a usual day's points that make it one."""
_UNEXPLAINED = 0.5
"""Share of today's reads: where the warm-ups do not explain more than so much, their load was another one."""
_FREE = 0.02
"""Share of a full pool that is kept free, beside innodb_lru_scan_depth pages in each instance."""
_MIB = 2.0**20
_SCRAPE_SECONDS, _RAW_SERIES = 15.0, 2
ONLY_DOWNSAMPLED_DAYS = "only downsampled data of these days: keep raw data of the recording rules for as long"
YOUNG = f"known for less than {days.COUNT} days"
RESIZED = "its pool was resized in these days"
UNKNOWN = "its version, or a setting of its pool, is not known"
REFUSED = "its pool cannot be resized"
NO_CURVE = "no warm-up and no miss curve in these days"
HIDDEN = "innodb_adaptive_hash_index hides page gets, so its warm-ups do not tell its misses"
ANOTHER_LOAD = "it reads more than its warm-ups explain"
NOTHING = "no smaller pool reads so little"


async def capacity(reader: FleetReader, keys: Mapping[ServerKey, Server | None], may_read: float) -> Capacity:
    """How much memory of their buffer pools servers could give back.

    Args:
        reader: Asks; its grid ends where the days end.
        keys: The servers, each with its flavour and version; None where unknown.
        may_read: Pages a second that a server may read more (--may-read).
    """
    daily = replace(reader, grid=Grid(reader.grid.end, days.SECONDS / days.COUNT, days.COUNT))
    of_servers, not_asked = await shards.over(keys, lambda shard: days.ask(daily, shard), size=SHARD)
    estimates: list[CapacityEstimate] = []
    left_out = Counter[str]()
    recorded = {key: series for key, series in of_servers.items() if series.known or series.downsampled}
    for key, series in recorded.items():
        estimated = estimate(key.name, series, keys[key], may_read)
        if isinstance(estimated, str):
            left_out[estimated] += 1
        else:
            estimates.append(estimated)
    if unrecorded := len(of_servers) - len(recorded):
        left_out[raw_days(unrecorded)] = unrecorded
    for reason, names in not_asked.items():
        left_out[f"not asked: {reason}"] += len(names)
    estimates.sort(key=lambda server: (-server.may_go_bytes, server.server))
    return Capacity(
        may_read=may_read,
        servers=tuple(estimates),
        may_go_bytes=sum(server.may_go_bytes for server in estimates),
        left_out=dict(left_out),
    )


def raw_days(servers: int) -> str:
    """Why servers without recorded series are left out."""
    samples = servers * _RAW_SERIES * days.SECONDS / _SCRAPE_SECONDS
    return (
        f"no series of recording.rules.yaml or mysqld-exporter.rules.yaml: {days.COUNT} raw days would be"
        f" {samples / 1e6:,.0f} million samples, and are not asked for"
    )


def estimate(name: str, series: Days, server: Server | None, may_read: float) -> CapacityEstimate | str:
    """The memory of a server that could go, or why none is known.

    Args:
        name: The server's.
        series: Of its days.
        server: Its flavour and version; None where these are not known.
        may_read: Pages a second that it may read more.
    """
    known_days = _days(series.known)
    if known_days is None:
        return ONLY_DOWNSAMPLED_DAYS if series.downsampled else YOUNG
    if len(set(series.sizes)) > 1:
        return RESIZED
    pool = None if server is None else ServerPool.of(series, server)
    if server is None or pool is None or series.reads is None or series.gets is None:
        return UNKNOWN
    if refuses(server, SETTING, pool.bytes):
        return REFUSED
    reads, gets = series.reads, series.gets
    # A lookup by the hash index takes fewer gets, or none: the more of it the longer the server runs.
    hidden = series.settings.get("innodb_adaptive_hash_index", 1.0) > 0
    measured = None if hidden else _by_warm_ups(series, reads, gets, pool, server)
    curves = [curve for curve in (measured, _by_model(series, reads, pool)) if curve is not None]
    if not curves:
        return HIDDEN if hidden and series.filling else NO_CURVE
    curves = [curve for curve in curves if reads - curve.explained <= max(_UNEXPLAINED * reads, may_read)]
    if not curves:
        return ANOTHER_LOAD
    # The better one is surer of the larger of the two sizes.
    at = max(curve.smallest(reads + may_read) for curve in curves)
    curve = min(curves, key=lambda curve: curve.width(at))
    size = curve.smallest(reads + may_read)
    if size >= pool.bytes:
        return NOTHING
    change = change_on(server, SETTING, pool.bytes, size)
    expected, most = curve.at(size)
    return CapacityEstimate(
        server=name,
        pool_bytes=round(pool.bytes),
        enough_bytes=round(size),
        may_go_bytes=round(pool.bytes - size),
        reads_now=reads,
        reads_predicted=expected,
        reads_most=most,
        error=ERRORS[curve.name],
        method=curve.name,
        warm_ups=curve.warm_ups,
        days=known_days,
        change=change.model_copy(update={"note": " ".join(filter(None, (change.note, TRIAL)))}),
    )


TRIAL = (
    "A trial: look at the reads for a week, night jobs among them, and take it back with the rollback if they rise"
    " further than predicted. Persist it, and lower the memory that is reserved, only then."
)


@dataclass(frozen=True, slots=True)
class ServerPool:
    """A server's buffer pool.

    Attributes:
        bytes: Its size.
        page_bytes: A page.
        kept_free: Pages that a full pool keeps free, beside _FREE of all.
        step: Bytes of a chunk in all instances; 0 where sizes are whole MiB.
        loaded: Pages that a start loads.
    """

    bytes: float
    page_bytes: float
    kept_free: float
    step: float
    loaded: float

    @classmethod
    def of(cls, series: Days, server: Server) -> ServerPool | None:
        """The pool of a server; None where a setting is not known."""
        get = series.settings.get
        size, page = get("innodb_buffer_pool_size"), get("innodb_page_size")
        depth, chunk = get("innodb_lru_scan_depth"), get("innodb_buffer_pool_chunk_size")
        # MariaDB from 10.5 on has one instance, whatever the setting says.
        instances = 1.0 if server.mariadb else get("innodb_buffer_pool_instances")
        if not size or not page or depth is None or instances is None or (chunk is None and not server.mariadb):
            return None
        load = get("innodb_buffer_pool_load_at_startup", 1.0) * get("innodb_buffer_pool_dump_pct", 25.0) / 100
        return cls(size, page, depth * instances, (chunk or 0.0) * instances, load * size / page)

    @property
    def pages(self) -> float:
        """Pages of any kind."""
        return self.bytes / self.page_bytes

    def holds(self, size: float) -> float:
        """Pages of data in a full pool of this size."""
        return (1 - _FREE) * size / self.page_bytes - self.kept_free

    def for_pages(self, pages: float) -> float:
        """The size, as the server sets it, that holds so many pages and has room for others."""
        wanted = with_room((pages + self.kept_free) / (1 - _FREE) * self.page_bytes)
        return in_chunks(-(-wanted // _MIB) * _MIB, self.step)


@dataclass(frozen=True, slots=True)
class _ReadCurve:
    """The reads with pools of several sizes, by a method.

    Attributes:
        name: WARM_UPS or MODEL.
        sizes: By bytes, pages read a second: expected, and at most. Today's is among them.
        explained: Pages read a second that it knows of with today's size.
        warm_ups: How many.
    """

    name: str
    sizes: Mapping[float, tuple[float, float]]
    explained: float = math.inf
    warm_ups: int = 0

    def smallest(self, most: float) -> float:
        """The smallest size with which at most so much is read, and with any larger one."""
        smallest = max(self.sizes)
        for size in sorted(self.sizes, reverse=True)[1:]:
            if self.sizes[size][1] > most:
                break
            smallest = size
        return smallest

    def at(self, size: float) -> tuple[float, float]:
        """The reads with the largest known size that is no larger."""
        return self.sizes[max((known for known in self.sizes if known <= size), default=min(self.sizes))]

    def width(self, size: float) -> float:
        """How far the most is from what is expected."""
        expected, most = self.at(size)
        return most - expected


def _by_warm_ups(series: Days, reads: float, gets: float, pool: ServerPool, server: Server) -> _ReadCurve | None:
    counters = (series.filling.get(name, {}) for name in ("pages", "read", "gets"))
    measured = warm_ups(*counters, pool_pages=pool.pages, loaded=pool.loaded, mariadb=server.mariadb)
    if not measured:
        return None
    accesses = max(0.0, gets - (0.0 if server.mariadb else reads))
    last = max(warm_up.stretches[-1].end for warm_up in measured)
    sizes = {pool.bytes: (reads, reads)}
    for pages in sorted({stretch.end for warm_up in measured for stretch in warm_up.stretches}):
        size = pool.for_pages(pages)
        if size < pool.bytes:
            expected, most = _largest(measured, min(pool.holds(size), last), pages)
            sizes[size] = max(reads, expected * accesses), max(reads, most * accesses)
    return _ReadCurve(WARM_UPS, sizes, _largest(measured, last, last)[1] * accesses, len(measured))


def _largest(measured: Sequence[WarmUp], pages: float, least: float) -> tuple[float, float]:
    """Of all warm-ups that came so far, the one that misses most counts: expected, and at most."""
    so_far = [(warm_up, min(pages, warm_up.stretches[-1].end)) for warm_up in measured if warm_up.knows(least)]
    expected = max(warm_up.expected(held) for warm_up, held in so_far)
    return expected, max(expected, *(warm_up.most(held) for warm_up, held in so_far))


def _by_model(series: Days, reads: float, pool: ServerPool) -> _ReadCurve | None:
    sizes = {pool.bytes: (reads, reads)}
    for times, (rise, most) in series.rises.items():
        size = in_chunks(-(-with_room(times * pool.bytes) // _MIB) * _MIB, pool.step)
        if size < pool.bytes:
            sizes[size] = reads + max(0.0, rise), reads + max(0.0, rise, most)
    return _ReadCurve(MODEL, sizes) if len(sizes) > 1 else None


def _days(points: Sequence[float]) -> float | None:
    """The days that are known, where these are enough and the first is among them."""
    if not points:
        return None
    usual = statistics.median_high(points)
    known = [of_day >= _KNOWN * usual > 0 for of_day in points]
    return float(sum(known)) if known[0] and sum(known) >= _KNOWN * len(points) else None
