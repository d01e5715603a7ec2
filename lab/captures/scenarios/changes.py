"""Captures of both sides of a change of a setting."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count, pairwise

from exporter.collectors.table_files import TABLE_FILES
from exporter.collectors.table_io import NO_INDEX, TABLE_IO
from exporter.snapshot import Snapshot, Table
from lab.captures.scenarios.base import Numbers, Snapshots, Step, pages_read, require, scenario
from lab.harness.workloads import SCHEMA, BackgroundLoad, emptied, look_up, look_up_pages, scan
from lab.servers import PrivateServer
from lab.servers.sql import execute

HOT, SCANNED = "items", "archive"
HOT_PAGES, SCANNED_PAGES = 800, 6_000
LOOKUPS, LOOKUP_PAUSE, SCAN_PAUSE, MORE_CLIENTS = 150, 0.2, 3.0, 3
_TOUCH_SECONDS = 1.1
"""Longer than innodb_old_blocks_time."""
_CHANGED = 42
_BOTH_SIDES = {"collections": 90, "period": 0.8}
_POOL = {"innodb-buffer-pool-size": "64M", "innodb-lru-scan-depth": "100"}
_SETTING = "innodb_old_blocks_pct"
_MUCH = 3.0
"""Factor between reads that are the phenomenon and those that are not."""


@contextmanager
def scans_beside_a_hot_set(server: PrivateServer) -> Iterator[tuple[Step, Step]]:
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

    with emptied(server, {HOT: HOT_PAGES, SCANNED: SCANNED_PAGES}), BackgroundLoad(server.connect) as load:
        promote(2)
        load.repeat(partial(look_up, table=HOT, pages=HOT_PAGES, times=LOOKUPS), LOOKUP_PAUSE)
        load.repeat(partial(scan, table=SCANNED), SCAN_PAUSE)
        yield promote, begin_more


def reads_rise(snapshots: Snapshots) -> Numbers:
    """After the change the table is read much more."""
    before, after = _sides(snapshots)
    rates = [_rate(side, _reads) for side in (before, after)]
    require(rates[1] > _MUCH * rates[0], f"{rates[0]:.0f} pages of {HOT} a second are read, then {rates[1]:.0f}")
    return _changed(before, after) | {
        "pages_of_the_table_read_per_second": [round(rate, 1) for rate in rates],
    }


@scenario("old-sublist-spoiled", {"mysql-9.7": _POOL}, reads_rise, **_BOTH_SIDES)
@contextmanager
def old_sublist_spoiled(server: PrivateServer) -> Iterator[Step]:
    """Lookups in a hot set beside scans larger than the pool; half-way innodb_old_blocks_pct is set to 95."""
    with scans_beside_a_hot_set(server) as (promote, _):
        promote()
        steps = count(1)

        def step() -> None:
            if next(steps) == _CHANGED:
                execute(server, "SET GLOBAL innodb_old_blocks_pct = 95")

        yield step


def work_begins(snapshots: Snapshots) -> Numbers:
    """After the change more is read, and rows of the table are looked up, which nobody did before."""
    before, after = _sides(snapshots)
    lookups = [_rate(side, _fetched_by_index) for side in (before, after)]
    require(lookups[1] > 0 == lookups[0], f"lookups a second: {lookups}")
    read = [sum(pages_read(side)) / (side[-1].at - side[0].at) for side in (before, after)]
    require(read[1] > read[0], f"pages read a second: {read}")
    return _changed(before, after) | {
        "rows_looked_up_per_second": [round(rate, 1) for rate in lookups],
        "pages_read_per_second": [round(rate, 1) for rate in read],
    }


@scenario("old-sublist-mended", {"mysql-9.7": _POOL | {"innodb-old-blocks-pct": "95"}}, work_begins, **_BOTH_SIDES)
@contextmanager
def old_sublist_mended(server: PrivateServer) -> Iterator[Step]:
    """As old-sublist-spoiled, from 95 on; half-way innodb_old_blocks_pct is set to 37, and more lookups begin."""
    with scans_beside_a_hot_set(server) as (promote, begin_more):
        steps = count(1)

        def step() -> None:
            if next(steps) == _CHANGED:
                execute(server, "SET GLOBAL innodb_old_blocks_pct = 37")
                begin_more()

        promote()
        yield step


def _sides(snapshots: Snapshots) -> tuple[Snapshots, Snapshots]:
    changes = [n for n, (one, other) in enumerate(pairwise(snapshots), 1) if _value(one) != _value(other)]
    require(len(changes) == 1, f"{_SETTING} changed {len(changes)} times")
    return snapshots[: changes[0]], snapshots[changes[0] :]


def _changed(before: Snapshots, after: Snapshots) -> Numbers:
    return {_SETTING: [_value(before[0]), _value(after[0])]}


def _value(snapshot: Snapshot) -> str | None:
    return snapshot.setting(_SETTING)


def _rate(side: Snapshots, count: Callable[[Snapshot], float]) -> float:
    return (count(side[-1]) - count(side[0])) / (side[-1].at - side[0].at)


def _fetched_by_index(snapshot: Snapshot) -> float:
    fetched = (
        io.fetched
        for index, io in (snapshot[TABLE_IO] or {}).items()
        if (index.schema, index.table) == (SCHEMA, SCANNED) and index.index != NO_INDEX
    )
    return float(sum(fetched))


def _reads(snapshot: Snapshot) -> float:
    return float((snapshot[TABLE_FILES] or {})[Table(SCHEMA, HOT)].reads)
