"""Reads in pools of several sizes, and recordings from which reads in pools of other sizes are predicted.

Each size is measured after a restart of its own. Three of the sizes are watched by the sidecar's own sampler, from the
empty pool on: their recordings are the only evidence of the predictions. The reads in all other sizes judge them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from exporter.connection.target import from_dsn
from exporter.recording.file import Recorder
from exporter.sampling.sampler import Sampler
from lab.campaign.part import Data
from lab.curves.clients import SCAN_EVERY, Client
from lab.curves.loads import PAGES
from lab.curves.workloads import Workload
from lab.measurement import pool_statistic
from lab.servers import Server

OPTIONS = {
    "innodb-buffer-pool-size": "240M",
    "innodb-buffer-pool-instances": "1",
    "loose-innodb-buffer-pool-chunk-size": "1M",
    "innodb-flush-method": "O_DIRECT",
    "innodb-lru-scan-depth": "100",
    "innodb-old-blocks-time": "10",
    "performance-schema": "ON",
}
"""The pool takes any whole number of MiB, and the page cleaner keeps few of its pages free.

innodb_old_blocks_time is a hundredth of its default. All pages of these small pools are read anew within seconds, on a
usual server within minutes or hours. Pages have to stay in the old sublist for longer than this time, as they do there:
else none is made young.
"""
_PAGES_OF_MIB = 64
_LEAST_MIB = 8
_FULL = 0.93
"""Of the pool's pages: some stay free."""
_SMALL_STEPS = 40
_EARLY_SECONDS, _EARLY_STEP, _STEP = 5.0, 0.25, 1.0
"""Seconds between two collections: at first more often."""
_WATCHED = 5.0
"""Seconds that reads are counted over."""
_ALL = 1.1
"""A pool of this share of the data holds them all."""


@dataclass(frozen=True)
class Plan:
    """Sizes and times.

    Attributes:
        watched: Sizes that are watched, as shares of the data.
        others: Sizes that are not.
        settle: Seconds of load before a watched pool is measured.
        rest: The part of the usual time after which a size that is not watched is measured.
        rounds: Measurements of such a size.
    """

    watched: tuple[float, ...]
    others: tuple[float, ...]
    settle: float
    rest: float
    rounds: int

    @property
    def takes(self) -> float:
        """Approximate seconds."""
        return 15 + len(self.watched) * (self.settle + 12) + len(self.others) * (4 + 10 * self.rest + 3 * self.rounds)


FULL = Plan((0.1, 0.3, 0.6), (0.05, 0.15, 0.2, 0.4, 0.45, 0.9, 1.2), settle=16.0, rest=1.0, rounds=2)
SHORT = Plan((0.3,), (0.15, 0.45, 0.6, 1.2), settle=6.0, rest=0.6, rounds=1)


def mebibytes(share: float, pages: int = PAGES) -> int:
    """The pool of a share of the data."""
    return max(_LEAST_MIB, round(share * pages / _PAGES_OF_MIB))


def measure(workload: Workload, plan: Plan, folder: Path, server: Server, say: Callable[[str], None]) -> Data:
    """Measure a workload.

    Args:
        workload: Which.
        plan: Sizes and times.
        folder: Takes a recording for each watched size.
        server: Runs with OPTIONS.
        say: Takes a progress message.

    Returns:
        By size: lookups or transactions, and pages read.
    """
    folder.mkdir(parents=True, exist_ok=True)
    workload.prepare(server)
    found = {}
    for share in plan.watched:
        say(f"a pool of {share:.0%} is watched")
        server.restart({"innodb-buffer-pool-size": f"{mebibytes(share, workload.pages)}M"})
        with workload.client(server) as client:
            settle = workload.slower * plan.settle
            watch = _Watch(server, client, mebibytes(share, workload.pages), settle, 2 if workload.scans else 0)
            found[share] = asyncio.run(watch.run(recording(folder, share)))
    for share in plan.others:
        say(f"a pool of {share:.0%} is measured")
        server.restart({"innodb-buffer-pool-size": f"{mebibytes(share, workload.pages)}M"})
        if share > max(plan.watched):
            workload.load_pool(server)
        with workload.client(server) as client:
            client.run(plan.rest * _rest(workload, share))
            begun = _Reading.of(server, client)
            for _ in _until(client, plan.rounds if workload.scans else 0, 2.5 * plan.rounds):
                client.run(_STEP / 2)
            found[share] = begun.since(server, client)
    return {
        "unit": workload.unit,
        "watched": list(plan.watched),
        "measured": {str(share): found[share] for share in sorted(found)},
    }


def recording(folder: Path, share: float) -> Path:
    """The recording of a watched size."""
    return folder / f"{share}.jsonl.gz"


def _rest(workload: Workload, share: float) -> float:
    """Seconds until a pool has come to rest: small ones are full at once, and one that holds all needs none."""
    seconds = 5.0 if share >= _ALL else 5.0 + 10.0 * share
    return workload.slower * (max(seconds, 9.0) if workload.scans else seconds)


@dataclass(frozen=True)
class _Watch:
    """A pool that the sampler watches from the time that it is empty until it has come to rest and was measured."""

    server: Server
    client: Client
    mebibytes: int
    settle: float
    scans: int

    async def run(self, path: Path) -> Data:
        with closing(Recorder(path)) as recorder:
            sampler = Sampler(from_dsn(self.server.dsn), interval=0.5, keep=recorder)
            try:
                await sampler.collect()
                for _ in range(_SMALL_STEPS):
                    await self._step(sampler, max(0.02, self.mebibytes / 2500))
                    if await asyncio.to_thread(self._full):
                        break
                began = time.monotonic()
                while (elapsed := time.monotonic() - began) < self.settle:
                    await self._step(sampler, _EARLY_STEP if elapsed < _EARLY_SECONDS else _STEP)
                begun = await asyncio.to_thread(_Reading.of, self.server, self.client)
                for _ in _until(self.client, self.scans, _WATCHED):
                    await self._step(sampler, _STEP)
                found = await asyncio.to_thread(begun.since, self.server, self.client)
            finally:
                await sampler.close()
        return found

    async def _step(self, sampler: Sampler, seconds: float) -> None:
        await asyncio.to_thread(self.client.run, seconds)
        await sampler.collect()

    def _full(self) -> bool:
        return pool_statistic(self.server, "DATABASE_PAGES") > _FULL * self.mebibytes * _PAGES_OF_MIB


def _until(client: Client, scans: int, seconds: float) -> Iterator[None]:
    """Steps of a measurement: as many lookups as begin so many scans, so that none counts in part; or some seconds."""
    began, done = time.monotonic(), client.done()
    while client.done() - done < scans * SCAN_EVERY if scans else time.monotonic() - began < seconds:
        yield


@dataclass(frozen=True)
class _Reading:
    """The counters at the begin of a measurement: of the client and of the server."""

    at: float
    done: float
    read: float
    made_young: float

    @classmethod
    def of(cls, server: Server, client: Client) -> _Reading:
        pages = (pool_statistic(server, name) for name in ("NUMBER_PAGES_READ", "PAGES_MADE_YOUNG"))
        return cls(time.monotonic(), client.done(), *pages)

    def since(self, server: Server, client: Client) -> Data:
        """What a client has asked for since, and what the server has read for it."""
        now = self.of(server, client)
        return {
            "seconds": round(now.at - self.at, 2),
            "done": now.done - self.done,
            "read": now.read - self.read,
            "made_young": now.made_young - self.made_young,
        }
