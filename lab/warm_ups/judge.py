"""Reads that a warm-up predicts against those of pools really made so small.

Two sources: what a Prometheus recorded of a warm-up (`measure`), and the recordings of the miss curves, in which each
watched pool was empty at first.
"""

from __future__ import annotations

import datetime as dt
import json
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from advisor.fleet.capacity import ERRORS, WARM_UPS, ServerPool
from advisor.fleet.warm_ups import WarmUp, warm_ups
from exporter.collectors.pools import POOLS
from exporter.recording.file import replay
from exporter.snapshot import Snapshot
from lab.curves import campaign as curves
from lab.curves import once
from lab.harness import records
from lab.harness.records import Data
from lab.reports.criterion import Criterion
from lab.warm_ups.measure import OPTIONS, POOL, load, mebibytes

RECORDED = "warm-ups-recorded"
"""lab/records/warm-ups-recorded.json."""
EVERY = (1, 3, 10)
"""Points that are left: each, each third, each tenth, as of longer scrape intervals or smaller pools."""
_FULL = 0.02
"""Share of the pool: the recording rules keep counters while more of it is free."""
_MIB = 2.0**20
_PAGE_BYTES = 16_384.0
_HELD = 0.9
"""The least share of cases whose measured reads are at most the predicted most."""


@dataclass(frozen=True)
class SmallerPool:
    """A smaller pool, with pages read a lookup.

    Attributes:
        source: `own` or `peer`, by a Prometheus; `recording`, by the sampler.
        every: Which points the prediction rests on.
        share: The pool, as a share of the data.
        measured, expected, most: Pages read a lookup.
    """

    server: str
    load: str
    source: str
    every: int
    share: float
    measured: float
    expected: float
    most: float

    @property
    def error(self) -> float:
        """Of the expected reads, as a share of the measured ones."""
        return self.expected / self.measured - 1.0

    @property
    def held(self) -> bool:
        """Whether no more was read than the predicted most."""
        return self.measured <= self.most

    @property
    def scanned(self) -> bool:
        """Whether scans ran beside it."""
        return self.load.endswith("-scans")


def tenth(pools: Iterable[SmallerPool]) -> float:
    """The error that a tenth of the pools exceeds, without its sign."""
    errors = sorted(abs(pool.error) for pool in pools)
    return errors[min(len(errors) - 1, int(0.9 * len(errors)))]


def median(pools: Iterable[SmallerPool]) -> float:
    """The median error, without signs."""
    return statistics.median(abs(pool.error) for pool in pools)


def criteria(pools: Sequence[SmallerPool]) -> list[Criterion]:
    """The bounds: on the error of lookups alone, and on the most that is read, also beside scans."""
    alone = [pool for pool in pools if not pool.scanned]
    held = sum(pool.held for pool in pools) / len(pools) if pools else None
    return [
        Criterion(
            "the error that a tenth of the predictions exceeds",
            tenth(alone) if alone else None,
            most=ERRORS[WARM_UPS],
            cases=len(alone),
        ),
        Criterion("pools that read no more than the predicted most", held, least=_HELD, cases=len(pools)),
    ]


def scraped(record: Mapping[str, Any]) -> list[SmallerPool]:
    """The pools in the record of `measure`: each exporter, each thinning, each pool that the warm-up came through."""
    return [
        pool
        for name, part in record["parts"].items()
        for pool in through_prometheus(part["server"], name, part["data"])
    ]


def through_prometheus(server: str, part: str, data: Data) -> Iterator[SmallerPool]:
    """The pools of a part."""
    for exporter, rows in data["filling"].items():
        for every in EVERY:
            pages, read, gets = ({row[0]: row[column] for row in rows[::every]} for column in (1, 2, 3))
            filling = warm_up(pages, read, gets, POOL, mariadb=server.startswith("mariadb"))
            for share, measured in data["measured"].items():
                # The server's own pages are in the pool before anything is asked for. Pools a thousand times as large
                # would not notice them; of these here they are a part, and none that a smaller pool would keep.
                held = sized(mebibytes(float(share))) + rows[0][1]
                if filling is not None and filling.knows(held):
                    expected, most = (reads(held) * data["accesses"] for reads in (filling.expected, filling.most))
                    yield SmallerPool(server, load(part), exporter, every, float(share), measured, expected, most)


def warm_up(
    pages: Mapping[float, float], read: Mapping[float, float], gets: Mapping[float, float], size: int, *, mariadb: bool
) -> WarmUp | None:
    """The warm-up of a pool of so many MiB, from its counters by time."""
    filling = warm_ups(pages, read, gets, pool_pages=_pool(size).pages, mariadb=mariadb)
    return filling[0] if filling else None


def _pool(size: int) -> ServerPool:
    """A pool of so many MiB."""
    return ServerPool(size * _MIB, _PAGE_BYTES, float(OPTIONS["innodb-lru-scan-depth"]), 0.0, 0.0)


def sized(size: int) -> float:
    """Pages that a pool of so many MiB holds."""
    pool = _pool(size)
    return pool.holds(pool.bytes)


def record() -> Mapping[str, Any]:
    """Judge the recordings in the cache, which `make lab EXPERIMENT=curves` makes, and write the record.

    Raises:
        FileNotFoundError: There is no record of the curves, or a recording is not in the cache.
    """
    measured = records.load(curves.GROUP)
    if measured is None:
        raise FileNotFoundError("lab/records/curves.json")
    parts = {
        name: {
            "server": part["server"],
            "version": part["version"],
            "data": {"cases": _recorded(part["server"], curves.workload(name), part["data"])},
        }
        for name, part in measured["parts"].items()
        if curves.workload(name) != once.NAME
    }
    judged = {"date": dt.datetime.now(tz=dt.UTC).date().isoformat(), "machine": measured["machine"], "parts": parts}
    path = records.FOLDER / f"{RECORDED}.json"
    path.write_text(json.dumps(judged, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return judged


def recorded(record: Mapping[str, Any]) -> list[SmallerPool]:
    """The pools in the record of the miss curves' recordings."""
    return [
        SmallerPool(part["server"], curves.workload(name), "recording", 1, share, measured, expected, most)
        for name, part in record["parts"].items()
        for share, measured, expected, most in part["data"]["cases"]
    ]


def _recorded(server: str, name: str, data: Data) -> list[list[float]]:
    """Multiple of the watched size, and pages read for what is counted: measured, expected and at most."""
    today = data["measured"]["1"]
    snapshots = [snapshot for snapshot in replay(curves.recording(server, name)) if snapshot[POOLS]]
    mariadb = server.startswith("mariadb")
    full = _FULL * _pool(today["mebibytes"]).pages
    filling = [snapshot for snapshot in snapshots if _sum(snapshot, "free_pages") > full]
    pages, read, gets = (
        {snapshot.at: _sum(snapshot, column) for snapshot in filling}
        for column in ("database_pages", "pages_read", "gets")
    )
    warmed = warm_up(pages, read, gets, today["mebibytes"], mariadb=mariadb)
    if warmed is None:
        return []
    of_server = _sum(snapshots[0], "database_pages")
    accesses = _accesses(snapshots, today, mariadb=mariadb)
    judged = []
    for times, smaller in data["measured"].items():
        held = sized(smaller["mebibytes"]) + of_server
        if float(times) < 1 and warmed.knows(held):
            reads = smaller["read"] / smaller["done"], warmed.expected(held) * accesses, warmed.most(held) * accesses
            judged.append([float(times), *(round(share, 5) for share in reads)])
    return judged


def _accesses(snapshots: list[Snapshot], measured: Data, *, mariadb: bool) -> float:
    """Gets of what is counted, without those that MySQL repeats: over the recording's end, where it was counted."""
    since = snapshots[-1].at - measured["seconds"]
    before = min(snapshots[:-1], key=lambda snapshot: abs(snapshot.at - since))
    after = snapshots[-1]
    repeated = 0.0 if mariadb else _sum(after, "pages_read") - _sum(before, "pages_read")
    gets = _sum(after, "gets") - _sum(before, "gets") - repeated
    return float(gets / (after.at - before.at) / (measured["done"] / measured["seconds"]))


def _sum(snapshot: Snapshot, column: str) -> float:
    """Of all instances of the pool."""
    values: list[float] = [getattr(pool, column) for pool in snapshot[POOLS] or ()]
    return float(sum(values))
