"""Captures of both sides of a change of a setting."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count

from exporter.snapshot import Table
from lab.captures.checks import changes
from lab.captures.scenarios.base import CaptureScenario, Step
from lab.harness.workloads import SCHEMA, Load, emptied, look_up, look_up_pages, scan
from lab.servers import Server
from lab.servers.sql import execute

HOT, SCANNED = "items", "archive"
HOT_PAGES, SCANNED_PAGES = 800, 6_000
LOOKUPS, LOOKUP_PAUSE, SCAN_PAUSE, MORE_CLIENTS = 150, 0.2, 3.0, 3
_TOUCH_SECONDS = 1.1
"""Longer than innodb_old_blocks_time."""
_COLLECTIONS, _CHANGED, _PERIOD = 90, 42, 0.8
_POOL = {"innodb-buffer-pool-size": "64M", "innodb-lru-scan-depth": "100"}


@contextmanager
def scans_beside_a_hot_set(server: Server) -> Iterator[tuple[Step, Step]]:
    """Lookups in a hot set that fits the young sublist, and scans larger than the pool.

    Yields two steps. One makes the hot set young: a scan would evict most of its pages before their second access. The
    other begins lookups in the scanned table, which go on.
    """

    def promote(times: int = 4) -> None:
        for _ in range(times):
            with server.connect() as connection:
                look_up_pages(connection, HOT, range(HOT_PAGES))
            time.sleep(_TOUCH_SECONDS)

    def begin_more() -> None:
        for _ in range(MORE_CLIENTS):
            load.repeat(partial(look_up, table=SCANNED, pages=SCANNED_PAGES, times=LOOKUPS), 0.0)

    with emptied(server, {HOT: HOT_PAGES, SCANNED: SCANNED_PAGES}), Load(server.connect) as load:
        promote(2)
        load.repeat(partial(look_up, table=HOT, pages=HOT_PAGES, times=LOOKUPS), LOOKUP_PAUSE)
        load.repeat(partial(scan, table=SCANNED), SCAN_PAUSE)
        yield promote, begin_more


@contextmanager
def old_sublist_spoiled(server: Server) -> Iterator[Step]:
    """Lookups in a hot set beside scans larger than the pool; half-way innodb_old_blocks_pct is set to 95."""
    with scans_beside_a_hot_set(server) as (promote, _):
        promote()
        steps = count(1)

        def step() -> None:
            if next(steps) == _CHANGED:
                execute(server, "SET GLOBAL innodb_old_blocks_pct = 95")

        yield step


@contextmanager
def old_sublist_mended(server: Server) -> Iterator[Step]:
    """As old-sublist-spoiled, from 95 on; half-way innodb_old_blocks_pct is set to 37, and more lookups begin."""
    with scans_beside_a_hot_set(server) as (promote, begin_more):
        steps = count(1)

        def step() -> None:
            if next(steps) == _CHANGED:
                execute(server, "SET GLOBAL innodb_old_blocks_pct = 37")
                begin_more()

        promote()
        yield step


SCENARIOS = (
    CaptureScenario(
        "old-sublist-spoiled",
        {"mysql-9.7": _POOL},
        old_sublist_spoiled,
        partial(changes.reads_rise, table=Table(SCHEMA, HOT)),
        collections=_COLLECTIONS,
        period=_PERIOD,
        attempts=3,
    ),
    CaptureScenario(
        "old-sublist-mended",
        {"mysql-9.7": _POOL | {"innodb-old-blocks-pct": "95"}},
        old_sublist_mended,
        partial(changes.work_begins, table=Table(SCHEMA, SCANNED)),
        collections=_COLLECTIONS,
        period=_PERIOD,
        attempts=3,
    ),
)
