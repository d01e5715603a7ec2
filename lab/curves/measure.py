"""Reads in pools of six sizes side by side, and a recording from which those of five are predicted.

Six servers have a copy of the same data and the same load. The pool of today's size is watched by the sidecar's own
sampler, from the empty pool on: the recording is the only evidence of the predictions. The other pools judge them.

Measurements stay in the cache, so that a changed model can predict from them. One more is of a job that goes once
through a large table: all its reads are first reads, which no pool saves.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from exporter.recording.file import Recorder
from lab.curves.loads import PAGES, beside
from lab.curves.workloads import OPTIONS, PATIENCE, SCANNED, WORKLOADS, CurveWorkload, prepared, read_all
from lab.harness.measure import pool_statistic
from lab.harness.records import Data, NotShown, Part, Say
from lab.harness.watch import SidecarSampler
from lab.harness.workloads import ROWS_PER_PAGE, SCHEMA, ask, make_table, scan
from lab.packages import cache
from lab.servers import PrivateServer, start
from lab.servers.sql import global_status

GROUP = "curves"
SERVERS = ("mysql-9.7", "mariadb-11.8")
_MEASUREMENT = 1
"""Raise it when the measurement changes: measurements are kept by this number, the options and the workload."""
OTHERS = (0.5, 0.75, 1.5, 2.0, 3.0)
"""Pools that are not watched, as multiples of today's."""
SCAN_EVERY = 10.0
"""Seconds from the begin of a scan to the begin of the next."""
PAGES_OF_MIB = 64
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
ONCE = "everything-once"
"""The job, whose pool is a tenth of its table. A collection follows each of its seconds."""
_ONCE_MEBIBYTES, _ONCE_SECONDS, _ONCE_STATEMENTS = 20, 10, 30


def parts() -> list[Part]:
    """The measurements, one server after the other."""
    return [part for server in SERVERS for part in (*(_part(server, load) for load in WORKLOADS), _job(server))]


def _part(server: str, workload: CurveWorkload) -> Part:
    options = OPTIONS | {"innodb-buffer-pool-size": f"{workload.mebibytes()}M"}
    origin = partial(prepared, server, workload.load.dataset)
    work = partial(measure, workload, recording(server, workload.name))
    return Part(GROUP, f"{server}, {workload.name}", server, options, work, origin, _version(workload.name))


def _job(server: str) -> Part:
    work = partial(measure_once, recording(server, ONCE))
    return Part(GROUP, f"{server}, {ONCE}", server, OPTIONS, work, version=_version(ONCE))


def workload_name(part: str) -> str:
    """The workload of a part."""
    return part.partition(", ")[2]


def recording(server: str, name: str) -> Path:
    """The recording of a workload, once it was measured."""
    return cache.folder() / "curves" / "recordings" / server / f"{name}-{_version(name)}.jsonl.gz"


def _version(name: str) -> str:
    """A digest of what decides a measurement."""
    decides = [(load.load, load.rest, load.scans, load.mebibytes()) for load in WORKLOADS if load.name == name]
    return hashlib.sha256(repr((_MEASUREMENT, OPTIONS, decides)).encode()).hexdigest()[:8]


def measure_once(path: Path, server: PrivateServer, say: Say) -> Data:
    """Go once through a table, in batches by primary key, and record it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with server.connect() as connection:
        make_table(connection, "archive", PAGES)
    server.restart({"innodb-buffer-pool-size": f"{_ONCE_MEBIBYTES}M"})
    say("the job runs")
    with closing(Recorder(path)) as recorder, SidecarSampler(server, interval=0.5, keep=recorder) as sampler:
        sampler.collect()
        for second in range(_ONCE_SECONDS):
            _read_part(server, second)
            sampler.collect()
    return {"rows": PAGES * ROWS_PER_PAGE, "mebibytes": _ONCE_MEBIBYTES}


def _read_part(server: PrivateServer, second: int) -> None:
    """A second's share of the rows."""
    rows = PAGES * ROWS_PER_PAGE // (_ONCE_SECONDS * _ONCE_STATEMENTS) + 1
    began = time.monotonic()
    with server.connect() as connection:
        for number in range(_ONCE_STATEMENTS):
            last = (second * _ONCE_STATEMENTS + number) * rows
            ask(connection, f"SELECT id, filler FROM {SCHEMA}.archive WHERE id > {last} ORDER BY id LIMIT {rows}")
            time.sleep(max(0.0, began + (number + 1) / _ONCE_STATEMENTS - time.monotonic()))


def measure(workload: CurveWorkload, path: Path, server: PrivateServer, say: Say) -> Data:
    """Measure a workload.

    Args:
        workload: Which.
        path: Of the recording.
        server: The pool of today's size, with the data.
        say: Takes a progress message.

    Returns:
        By multiple of today's size: what was done, and the pages read for it.

    Raises:
        ProgramFailed: The load failed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _pools(workload, server, say) as pools:
        measured = _watch(pools, workload, path, say)
    return {"unit": workload.load.unit, "measured": {f"{times:g}": measured[times] for times in sorted(measured)}}


@dataclass
class LoadedPool:
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
                stack.enter_context(beside(partial(_scan, self.server)))
            yield

    def rested(self) -> bool:
        """Whether it is full, and has read its pages anew."""
        pages = self.workload.mebibytes(self.times) * PAGES_OF_MIB
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

    def counters(self) -> dict[str, float]:
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
            "mebibytes": self.workload.mebibytes(self.times),
            "seconds": round(last["at"] - first["at"], 2),
            **{name: last[name] - first[name] for name in ("done", "read", "made_young")},
            "rose": round(end / begin, 3),
            "full": self.full_at is not None,
        }


def _scan(server: PrivateServer, stop: threading.Event) -> None:
    """Scan another table at each whole multiple of SCAN_EVERY on the clock, so that no scan is counted in part."""
    with server.connect() as connection:
        while not stop.wait(SCAN_EVERY - time.monotonic() % SCAN_EVERY):
            scan(connection, SCANNED)


@contextmanager
def _pools(workload: CurveWorkload, server: PrivateServer, say: Say) -> Iterator[list[LoadedPool]]:
    """The pool of today's size, and servers with the other sizes."""
    with ExitStack() as servers, ThreadPoolExecutor(len(OTHERS)) as threads:
        say("the other servers start")
        servers.callback(server.kill)  # its data are not needed: a shutdown takes longer

        def begin(times: float) -> LoadedPool:
            options = OPTIONS | {"innodb-buffer-pool-size": f"{workload.mebibytes(times)}M"}
            origin = prepared(server.name, workload.load.dataset)
            other = servers.enter_context(start(server.name, options, origin=origin))
            servers.callback(other.kill)
            if times > 1:
                read_all(other, workload.load.dataset, scanned=workload.scans)
            return LoadedPool(other, workload, times)

        yield [LoadedPool(server, workload, 1.0), *threads.map(begin, OTHERS)]


def _watch(pools: Sequence[LoadedPool], workload: CurveWorkload, path: Path, say: Say) -> dict[float, dict[str, float]]:
    """Put the loads on, watch the first pool from then on, and count once all pools have come to rest."""
    with (
        ExitStack() as loads,
        closing(Recorder(path)) as recorder,
        SidecarSampler(pools[0].server, interval=_FIRST_STEP, keep=recorder) as sampler,
    ):
        sampler.collect()
        for pool in pools:
            loads.enter_context(pool.loaded())
        say("the pools come to rest")
        began, rested = time.monotonic(), False
        while not rested and (elapsed := time.monotonic() - began) < PATIENCE * workload.rest:
            time.sleep(min(_STEP, max(_FIRST_STEP, _SLOWER * elapsed)))
            sampler.collect()
            rested = _rested(pools, late=elapsed >= workload.rest)
        say("reads are counted")
        rested_after = time.monotonic() - began
        if workload.scans:
            time.sleep(-(time.monotonic() - SCAN_EVERY / 2) % SCAN_EVERY)
        counts = _count(pools, sampler)
    measured = {pool.times: pool.measured(of_pool) for pool, of_pool in zip(pools, counts, strict=True)}
    today = measured[1.0]
    lives = today["mebibytes"] * PAGES_OF_MIB * today["seconds"] / max(1, today["read"])
    measured[1.0] |= {"lives": round(lives, 1), "after": round(rested_after, 1)}
    return measured


def _rested(pools: Sequence[LoadedPool], *, late: bool) -> bool:
    """Whether each pool has come to rest, or, late, has had the load that it is to have until then."""
    return all([pool.rested() for pool in pools]) or (late and all(pool.loaded_enough() for pool in pools))  # noqa: C419


def _count(pools: Sequence[LoadedPool], sampler: SidecarSampler) -> list[tuple[dict[str, float], ...]]:
    """By pool, the counters of all pools at the same time, at the begin and after each part of the counted time."""
    with ThreadPoolExecutor(len(pools)) as threads:
        counts = [list(threads.map(LoadedPool.counters, pools))]
        sampler.collect()
        for _ in range(_PARTS):
            ends = time.monotonic() + COUNTED / _PARTS
            while (left := ends - time.monotonic()) > 0:
                time.sleep(min(_STEP, left))
                sampler.collect()
            counts.append(list(threads.map(LoadedPool.counters, pools)))
    return list(zip(*counts, strict=True))
