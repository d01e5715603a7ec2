"""The LRU model's sweep: five tables scanned in turn and a hot set, under 150 settings."""

from __future__ import annotations

import itertools
from typing import NamedTuple

from advisor.models.lru.scenario import Points, Pool, Repeat, Scan, Scenario

GIB = 2**30 // 16_384  # pages
POOLS = (64, 96, 128, 160, 192)  # GiB
PCTS = (5, 15, 25, 37, 50, 60, 70, 80, 90, 95)
TIMES = (0.0, 1000.0, 100_000.0)  # ms
TABLES = {"a": 60, "b": 20, "c": 45, "d": 8, "e": 150}  # GiB
HOT_SET, HOT = "hot", 30  # GiB
ACCESSES = 6_000_000  # point accesses a round
SKEW = 0.8
INSTANCES = 8
ROUNDS = 20


class SweepSettings(NamedTuple):
    """One combination of settings of the sweep."""

    pool_gib: int
    old_blocks_pct: int
    old_blocks_time_ms: float


SWEEP = tuple(itertools.starmap(SweepSettings, itertools.product(POOLS, PCTS, TIMES)))


def scenario(configuration: SweepSettings, scale: int) -> Scenario:
    """The workload with these settings, ``scale`` times smaller."""

    def pages(gib: int) -> int:
        return gib * GIB // scale

    pool = Pool(
        pages=pages(configuration.pool_gib),
        instances=INSTANCES,
        old_blocks_pct=configuration.old_blocks_pct,
        old_blocks_time_ms=configuration.old_blocks_time_ms,
    )
    scans = [Scan(scan=name, pages=pages(gib), seconds=60.0, gap_seconds=5.0) for name, gib in TABLES.items()]
    lookups = Points(points=HOT_SET, pages=pages(HOT), accesses=ACCESSES // scale, seconds=300.0, skew=SKEW)
    fill = Scan(scan="fill", pages=2 * pool.pages, seconds=600.0, gap_seconds=10.0)
    return Scenario(pool=pool, steps=(fill, Repeat(repeat=ROUNDS, steps=(*scans, lookups))))
