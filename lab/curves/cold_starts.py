"""Cold starts: the sidecar's own sampler watches a full pool, a cold start is predicted, and the server restarts.

Each load runs three times on the empty pool: without a dump, with the part of it that the server dumps by default, and
with all of it. Recordings and measurements stay in the cache, so that a changed model can predict from them.
"""

from __future__ import annotations

import hashlib
import math
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from advisor.contract.plan import ColdStart
from advisor.facts import facts
from advisor.observe.window import Window
from advisor.pool.cold_start import NEARLY, Filling, FillingPoint, Restart, cold_starts
from advisor.pool.dump import DUMP_PCT, DumpLoad
from advisor.pool.errors import Unanswerable
from advisor.pool.model import PoolModel
from exporter.recording.file import Recorder, replay
from lab.curves.loads import CurveLoad, Lookups, TpcC, Ycsb, beside
from lab.curves.measure import SERVERS, workload_name
from lab.curves.workloads import LONG_SCANNED, OPTIONS, prepared
from lab.harness.campaign import Study
from lab.harness.measure import pool_statistic
from lab.harness.records import Data, Entries, NotShown, Part, Say
from lab.harness.watch import SidecarSampler
from lab.harness.workloads import scan
from lab.packages import cache
from lab.reports import criterion
from lab.reports.criterion import Criterion
from lab.servers import PrivateServer
from lab.servers.sql import execute, global_status

GROUP = "cold-starts"
_MEASUREMENT = 2
"""Raise it when the measurement changes."""
_SWITCHES = ("innodb-buffer-pool-dump-at-shutdown", "innodb-buffer-pool-load-at-startup")
_OPTIONS = {**OPTIONS, **dict.fromkeys(_SWITCHES, "ON"), "innodb-buffer-pool-dump-pct": "25"}
DUMPS: Mapping[str, float] = {"nothing": 0.0, "a quarter": 25.0, "all": 100.0}
"""What the load at the start brings back, and innodb_buffer_pool_dump_pct for it."""
_FORETOLD = ("a quarter", "nothing", "all")
"""In the order of ``cold_starts``."""
_WATCHED, _EVERY = 120.0, 5.0
"""Seconds that the sidecar watches, which is six scans, and from one collection to the next."""
_COUNTED = 1.0
"""Seconds from one count of the filling pool to the next."""
_SCAN_EVERY = 20.0
MOST_OFF, MOST_PAGES_OFF = 0.25, 0.2
"""Error of the minutes, unless the interval holds the measured ones, and of the pages."""
LEAST_HELD = 0.9
"""Share of the fillings that keep each of them; of 24, 23 and 24 did."""


@dataclass(frozen=True)
class FillingLoad:
    """A load on a pool that fills.

    Attributes:
        name: In kebab case.
        about: For the reader.
        load: What is asked for.
        mebibytes: Size of the pool.
        fills: Seconds of the load until the pool counts as warm, and that the filling is counted over.
        scans: Whether a table that the old sublist does not hold is scanned beside it.
    """

    name: str
    about: str
    load: CurveLoad
    mebibytes: int
    fills: float
    scans: bool = False

    @contextmanager
    def running(self, server: PrivateServer) -> Iterator[None]:
        """Put it on a server."""
        with ExitStack() as stack:
            stack.enter_context(self.load.running(server, round(self.fills + _WATCHED) + 120))
            if self.scans:
                stack.enter_context(beside(partial(_scan, server)))
            yield


LOADS = (
    FillingLoad("tpcc", "go-tpc's TPC-C, 16 warehouses, one thread", TpcC(16), 320, 120.0),
    FillingLoad("zipf", "point lookups: Zipf's law, exponent 0.9", Lookups("zipf-0.9-large", 600), 256, 110.0),
    FillingLoad("ycsb-c", "go-ycsb's workload C, zipfian", Ycsb("C", "zipfian", 600), 48, 80.0),
    FillingLoad(
        "hot-spot-scan",
        f"point lookups, 80 % on 20 % of the pages, beside a scan of another table every {_SCAN_EVERY:g} s",
        Lookups("hot-spot-large", 600),
        256,
        110.0,
        scans=True,
    ),
)


def study() -> Study:
    """Each load on each server."""
    parts = [_part(server, load) for server in SERVERS for load in LOADS]
    return Study(parts, lambda entries: criterion.broken(criteria(fillings(entries))), finish=_with_predictions)


def _part(server: str, load: FillingLoad) -> Part:
    options = _OPTIONS | {"innodb-buffer-pool-size": f"{load.mebibytes}M"}
    version = _version(load)
    work = partial(_measure, load, _recording(server, load))
    return Part(
        GROUP, f"{server}, {load.name}", server, options, work, partial(prepared, server, load.load.dataset), version
    )


def _version(load: FillingLoad) -> str:
    """A digest of what decides a measurement."""
    decides = _MEASUREMENT, _OPTIONS, load.load, load.mebibytes, load.fills, load.scans
    return hashlib.sha256(repr(decides).encode()).hexdigest()[:8]


def _recording(server: str, load: FillingLoad) -> Path:
    return cache.folder() / "cold-starts" / "recordings" / server / f"{load.name}-{_version(load)}.jsonl.gz"


def _measure(load: FillingLoad, path: Path, server: PrivateServer, say: Say) -> Data:
    """Watch the full pool, and count while it fills after each restart.

    Returns:
        ``done``: work of the load a second, while the full pool was watched. ``fillings``: by what the dump brings
        back: seconds since the load began, work done and pages read until then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with load.running(server):
        say("the pool warms up")
        time.sleep(load.fills)
        say("the sidecar watches")
        with closing(Recorder(path)) as recorder, SidecarSampler(server, interval=_EVERY, keep=recorder) as sampler:
            begin = _counters(load, server)
            sampler.collect()
            for _ in range(round(_WATCHED / _EVERY)):
                time.sleep(_EVERY)
                sampler.collect()
            end = _counters(load, server)
    if end[1] <= begin[1]:
        raise NotShown("the load did nothing while it was watched")
    measured = {}
    for dump, pct in DUMPS.items():
        say(f"a start that loads {dump}")
        execute(server, f"SET GLOBAL {DUMP_PCT} = {pct or 25:g}")
        server.restart({"innodb-buffer-pool-load-at-startup": "ON" if pct else "OFF"})
        measured[dump] = _fill(load, server)
    return {"done": round((end[1] - begin[1]) / (end[0] - begin[0]), 3), "fillings": measured}


def _fill(load: FillingLoad, server: PrivateServer) -> list[list[float]]:
    """Put the load on a server that has just started, and count."""
    with load.running(server):
        began, done, read = _counters(load, server)
        counted = [[0.0, 0.0, read]]
        while (elapsed := time.monotonic() - began) < load.fills:
            time.sleep(_COUNTED - elapsed % _COUNTED)
            at, now, read = _counters(load, server)
            counted.append([round(at - began, 2), now - done, read])
    return counted


def _counters(load: FillingLoad, server: PrivateServer) -> tuple[float, float, float]:
    """The time, work done, and pages read since the server's start."""
    done = global_status(server, load.load.counter)
    return time.monotonic(), done, pool_statistic(server, "NUMBER_PAGES_READ")


def _scan(server: PrivateServer, stop: threading.Event) -> None:
    with server.connect() as connection:
        while not stop.wait(_SCAN_EVERY - time.monotonic() % _SCAN_EVERY):
            scan(connection, LONG_SCANNED)


def _with_predictions(entries: Entries) -> dict[str, dict[str, Any]]:
    """The measurements, with what the recordings foretell: made before the restarts, predicted by the model of now."""
    return {
        name: {**entry, "data": {**entry["data"], **_foretold(name, entry["server"])}}
        for name, entry in entries.items()
    }


def _foretold(part: str, server: str) -> Data:
    """What the recording foretells.

    Returns:
        ``asked`` and ``reads``: visits and pages read a second of the full pool; ``smoothed``: seconds that reads are
        averaged over; ``starts``: by what the dump brings back, the cold start; ``likely``: the same, its points.
        Or ``unanswerable``: why there is none.
    """
    [load] = [load for load in LOADS if load.name == workload_name(part)]
    window = Window.of(list(replay(_recording(server, load))), 2.0 * _WATCHED)
    model = PoolModel(window, facts(window))
    began = time.thread_time()
    try:
        restart = Restart.of(model)
        starts = dict(zip(_FORETOLD, cold_starts(model), strict=True))
    except Unanswerable as error:
        return {"unanswerable": str(error)}
    own = DumpLoad.of(window.latest.server, model.facts.setting.get)
    likely = {
        dump: restart.likely_filling(replace(own or DumpLoad(0.0, None), share=DUMPS[dump] / 100.0)) for dump in starts
    }
    return {
        "cpu": round(time.thread_time() - began, 2),
        "asked": round(restart.asked, 2),
        "reads": round(restart.today, 2),
        "smoothed": restart.smoothed,
        "starts": {dump: start.model_dump(mode="json") for dump, start in starts.items()},
        "likely": {dump: [[round(number, 1) for number in point] for point in likely[dump].points] for dump in starts},
    }


@dataclass(frozen=True)
class FilledPool:
    """A pool that filled, and what was foretold.

    Attributes:
        server, load: Their names.
        dump: What was loaded at the start.
        start: As foretold.
        likely: How the pool was most likely to fill.
        filling: As counted.
        missed: Share of the visits that the full pool reads.
        smoothed: Seconds that reads are averaged over.
    """

    server: str
    load: str
    dump: str
    start: ColdStart
    likely: Filling
    filling: Filling
    missed: float
    smoothed: float

    def minutes(self, hits: float) -> float | None:
        """Until a share of the full pool's hits was back; None where it was not."""
        seconds = self.filling.warm(self._most_missed(hits), self.smoothed)
        return None if seconds is None else seconds / 60.0

    def visits(self, filling: Filling) -> float | None:
        """Until nearly all hits are back: they do not depend on how fast the machine is."""
        seconds = filling.warm(self._most_missed(NEARLY), self.smoothed)
        return None if seconds is None else filling.at(seconds).asked

    def _most_missed(self, hits: float) -> float:
        return 1.0 - hits * (1.0 - self.missed)

    @property
    def work(self) -> float:
        """Visits after which the pages are compared: until the pool was foretold to be warm."""
        until = self.likely.at(float(self.start.reads[-1][0])).asked
        return min(until, self.filling.points[-1].asked)

    @property
    def pages(self) -> tuple[float, float]:
        """Pages read after as much work: foretold, and counted."""
        return self.likely.after(self.work).read, self.filling.after(self.work).read

    @property
    def pages_off(self) -> float:
        """Error of the pages, as a share of the counted ones."""
        foretold, counted = self.pages
        return foretold / counted - 1.0

    @property
    def counted(self) -> bool:
        """Whether the pages are as foretold."""
        return abs(self.pages_off) <= MOST_PAGES_OFF

    @property
    def minutes_off(self) -> float:
        """Error of the minutes until nearly all hits were back; infinite where they were not, or not foretold."""
        measured, foretold = self.minutes(NEARLY), self.start.minutes_to_90
        if measured is None or foretold is None:
            return math.inf
        # Less than reads are averaged over is no difference.
        off = max(0.0, abs(foretold - measured) - self.smoothed / 2.0 / 60.0)
        return math.copysign(off / max(measured, self.smoothed / 60.0), foretold - measured)

    @property
    def inside(self) -> bool:
        """Whether the interval holds the measured minutes."""
        measured, low, high = self.minutes(NEARLY), self.start.minutes_to_90_low, self.start.minutes_to_90_high
        return measured is not None and low is not None and low <= measured <= (math.inf if high is None else high)

    @property
    def timely(self) -> bool:
        """Whether the minutes are as foretold."""
        return self.inside or abs(self.minutes_off) <= MOST_OFF


def fillings(entries: Entries) -> list[FilledPool]:
    """The pools of a record that were foretold."""
    return [
        FilledPool(
            entry["server"],
            workload_name(part),
            dump,
            ColdStart.model_validate(data["starts"][dump]),
            Filling([FillingPoint(*point) for point in data["likely"][dump]]),
            Filling([FillingPoint(at, done * data["asked"] / data["done"], read) for at, done, read in counted]),
            data["reads"] / data["asked"],
            data["smoothed"],
        )
        for part, entry in entries.items()
        if "starts" in (data := entry["data"])
        for dump, counted in data["fillings"].items()
    ]


def criteria(pools: Sequence[FilledPool]) -> Iterator[Criterion]:
    """The bounds of the fillings together: a load that changes its pace over the restart is none that was watched."""
    minutes = f"minutes to {NEARLY:.0%} of the hits within {MOST_OFF:.0%}, or inside the interval"
    for what, holds in (
        (minutes, [pool.timely for pool in pools]),
        (f"pages read within {MOST_PAGES_OFF:.0%}", [pool.counted for pool in pools]),
    ):
        share = sum(holds) / len(holds) if holds else None
        yield Criterion(what, share, least=LEAST_HELD, cases=len(holds))
