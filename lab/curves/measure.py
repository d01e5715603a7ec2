"""Reads in pools of six sizes side by side, and a recording from which those of five are predicted.

Six servers have a copy of the same data and the same load. The pool of today's size is watched by the sidecar's own
sampler, from the empty pool on: the recording is the only evidence of the predictions. The other pools judge them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from exporter.recording.file import Recorder
from lab.curves import datasets
from lab.curves.datasets import SCANNED
from lab.curves.workloads import PATIENCE, CurveWorkload
from lab.harness.measure import pool_statistic
from lab.harness.records import Data, NotShown
from lab.harness.watch import SidecarSampler
from lab.harness.workloads import scan
from lab.processes.program import ProgramFailed
from lab.servers import PrivateServer, start
from lab.servers.sql import global_status

OPTIONS = {
    "innodb-buffer-pool-size": "240M",
    "loose-innodb-buffer-pool-chunk-size": "1M",
    "innodb-flush-log-at-trx-commit": "2",
    "innodb-flush-method": "O_DIRECT",
    "innodb-lru-scan-depth": "100",
    "performance-schema": "ON",
}
"""The pool takes any whole number of MiB, and the page cleaner keeps few of its pages free. All else is at its default:
innodb_old_blocks_time too."""
OTHERS = (0.5, 0.75, 1.5, 2.0, 3.0)
"""Pools that are not watched, as multiples of today's."""
SCAN_EVERY = 10.0
"""Seconds from the begin of a scan to the begin of the next."""
_PAGES_OF_MIB = 64
_FREE_SHARE, _FREE_PAGES = 0.02, 130
"""A pool with no more free pages is full: the page cleaner keeps a scan depth of pages free."""
_AGAIN = 2.0
"""A pool has come to rest once it is full and has read so many times its pages."""
_FIRST_STEP, _STEP, _SLOWER = 0.5, 5.0, 0.1
"""Seconds between two collections: at first and at last, and the share of the time since the begin."""
_REACHED = 0.95
"""Of what is to be done."""
COUNTED = 30.0
"""Seconds that reads are counted over: whole scans."""
_PARTS = 3
"""Of the counted time; the reads of the first are compared with those of the last."""


def measure(workload: CurveWorkload, path: Path, server: PrivateServer, say: Callable[[str], None]) -> Data:
    """Measure a workload.

    Args:
        workload: Which.
        path: Of the recording.
        server: The pool of today's size, with the data.
        say: Takes a progress message.

    Returns:
        By multiple of today's size: what was done, and the pages read for it.

    Raises:
        NotShown: The load failed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return _measure(workload, path, server, say)
    except ProgramFailed as error:
        raise NotShown(str(error)) from error


def _measure(workload: CurveWorkload, path: Path, server: PrivateServer, say: Callable[[str], None]) -> Data:
    with ExitStack() as servers, ExitStack() as loads, ThreadPoolExecutor(len(OTHERS)) as threads:
        say("the other servers start")
        servers.callback(server.kill)

        def begin(times: float) -> _Pool:
            options = OPTIONS | {"innodb-buffer-pool-size": f"{mebibytes(workload, times)}M"}
            origin = datasets.prepared(server.name, workload.load.dataset, OPTIONS)
            other = servers.enter_context(start(server.name, options, origin=origin))
            servers.callback(other.kill)  # its data are not needed: a shutdown takes longer
            if times > 1:
                datasets.read_all(other, workload.load.dataset, scanned=workload.scans)
            return _Pool(other, workload, times)

        pools = {1.0: _Pool(server, workload, 1.0)} | dict(zip(OTHERS, threads.map(begin, OTHERS), strict=True))

        def put() -> None:
            for pool in pools.values():
                loads.enter_context(pool.loaded())

        measured = _watch(pools, workload, path, put, say)
    return {"unit": workload.load.unit, "measured": {f"{times:g}": measured[times] for times in sorted(measured)}}


def mebibytes(workload: CurveWorkload, times: float) -> int:
    """Size of a pool."""
    return round(times * datasets.DATASETS[workload.load.dataset].today)


@dataclass
class _Pool:
    """A server with a pool of a multiple of today's size."""

    server: PrivateServer
    workload: CurveWorkload
    times: float
    full_at: float | None = None  # pages read when it was full

    @contextmanager
    def loaded(self) -> Iterator[None]:
        """The workload on it, while the context lasts."""
        with ExitStack() as stack:
            stack.enter_context(self.workload.load.running(self.server, self.workload.seconds))
            if self.workload.scans:
                stack.enter_context(_scans(self.server))
            yield

    def rested(self) -> bool:
        """Whether it is full, and has read its pages anew."""
        pages = mebibytes(self.workload, self.times) * _PAGES_OF_MIB
        read = pool_statistic(self.server, "NUMBER_PAGES_READ")
        if self.full_at is None:
            if pool_statistic(self.server, "FREE_BUFFERS") > _FREE_SHARE * pages + _FREE_PAGES:
                return False
            self.full_at = read
        return read - self.full_at >= _AGAIN * pages

    def loaded_enough(self) -> bool:
        """Whether as much was done as at the load's rate until its pools count as come to rest."""
        load = self.workload.load
        return global_status(self.server, load.counter) >= load.per_second * self.workload.rest * _REACHED

    def counted(self) -> dict[str, float]:
        """The counters now: what is done, pages read and made young."""
        return {
            "at": time.monotonic(),
            "done": global_status(self.server, self.workload.load.counter),
            "read": pool_statistic(self.server, "NUMBER_PAGES_READ"),
            "made_young": pool_statistic(self.server, "PAGES_MADE_YOUNG"),
        }

    def measured(self, counts: Sequence[Mapping[str, float]]) -> dict[str, float]:
        """What was counted from the first to the last, and by which factor the reads rose over that time."""
        (first, second), (before, last) = counts[:2], counts[-2:]
        if second["done"] <= first["done"] or last["done"] <= before["done"]:
            raise NotShown(f"nothing was done in the pool of {self.times:g} times the size")
        begin, end = (
            (until["read"] - since["read"] + 1) / (until["done"] - since["done"])
            for since, until in ((first, second), (before, last))
        )
        return {
            "mebibytes": mebibytes(self.workload, self.times),
            "seconds": round(last["at"] - first["at"], 2),
            **{name: last[name] - first[name] for name in ("done", "read", "made_young")},
            "rose": round(end / begin, 3),
            "full": self.full_at is not None,
        }


@contextmanager
def _scans(server: PrivateServer) -> Iterator[None]:
    """Scans of another table, each at a whole multiple of SCAN_EVERY on the clock, so that none is counted in part."""
    stop = threading.Event()

    def work() -> None:
        with server.connect() as connection:
            while not stop.wait(SCAN_EVERY - time.monotonic() % SCAN_EVERY):
                scan(connection, SCANNED)

    with ThreadPoolExecutor(1) as worker:
        working = worker.submit(work)
        try:
            yield
        finally:
            stop.set()
        working.result()


def _watch(
    pools: Mapping[float, _Pool],
    workload: CurveWorkload,
    path: Path,
    put: Callable[[], None],
    say: Callable[[str], None],
) -> Mapping[float, Data]:
    """Put the loads on, watch the pool of today's size from then on, and count once all pools have come to rest."""
    with (
        closing(Recorder(path)) as recorder,
        SidecarSampler(pools[1.0].server, interval=_FIRST_STEP, keep=recorder) as sampler,
    ):
        sampler.collect()
        put()
        say("the pools come to rest")
        began, rested = time.monotonic(), False
        while not rested and (elapsed := time.monotonic() - began) < PATIENCE * workload.rest:
            time.sleep(min(_STEP, max(_FIRST_STEP, _SLOWER * elapsed)))
            sampler.collect()
            rested = _rested(list(pools.values()), late=elapsed >= workload.rest)
        say("reads are counted")
        rested_after = time.monotonic() - began
        if workload.scans:
            time.sleep(-(time.monotonic() - SCAN_EVERY / 2) % SCAN_EVERY)
        counts = [_counts(pools.values())]
        sampler.collect()
        for _ in range(_PARTS):
            _collect(sampler, COUNTED / _PARTS)
            counts.append(_counts(pools.values()))
    measured = {
        pool.times: pool.measured(of_pool)
        for pool, of_pool in zip(pools.values(), zip(*counts, strict=True), strict=True)
    }
    today = measured[1.0]
    lives = today["mebibytes"] * _PAGES_OF_MIB * today["seconds"] / max(1, today["read"])
    measured[1.0] |= {"lives": round(lives, 1), "after": round(rested_after, 1)}
    return measured


def _rested(pools: Sequence[_Pool], *, late: bool) -> bool:
    """Whether each pool has come to rest, or, late, has had the load that it is to have until then."""
    return all([pool.rested() for pool in pools]) or (late and all(pool.loaded_enough() for pool in pools))  # noqa: C419


def _counts(pools: Iterable[_Pool]) -> list[Mapping[str, float]]:
    """The counters of all pools, all but at the same time."""
    pools = list(pools)
    with ThreadPoolExecutor(len(pools)) as threads:
        return list(threads.map(_Pool.counted, pools))


def _collect(sampler: SidecarSampler, seconds: float) -> None:
    """Collect now and then, for so many seconds."""
    ends = time.monotonic() + seconds
    while (left := ends - time.monotonic()) > 0:
        time.sleep(min(_STEP, left))
        sampler.collect()
