"""What the miss curve costs: kept for an hour, and worked out for a request."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

import pymysql

from advisor.advice.curves import Curves
from advisor.advice.model_worker import ModelWorker
from advisor.observe.window import Window
from advisor.pool import estimate
from advisor.pool.load import MOST_TABLES
from exporter.connection.target import Target
from exporter.refreshed import core_seconds
from exporter.sampling.sampler import Sampler
from exporter.snapshot import Snapshot
from lab.bench import rig
from lab.bench.figures import Benchmark, BenchRun, Figure
from lab.harness.watch import SidecarSampler
from lab.harness.workloads import BackgroundLoad, look_up_pages, make_table, scan
from lab.servers import PrivateServer

POOL = "128M"
TABLES, PAGES, SKEW = MOST_TABLES + 2, 1_800, 0.9
"""Tables that are looked up, three times the pool in all: as many as the model tells apart, and more."""
SCANNED, SCANNED_PAGES, SCAN_EVERY = "archive", 3_000, 4.0
EVERY, SNAPSHOTS = 0.25, 361
"""Seconds between two collections, and snapshots of a window: as many as an hour at 10 s has."""
LATER = 5
"""Snapshots by which the window of an hour is later than that of the hour before."""
FILLING = 30.0
"""Seconds until the pool has filled."""


def measure(run: BenchRun) -> None:
    """Collect under load; then let the clock go, and count the CPU time."""
    hours = run.scaled(24, 8)
    with rig.started(run, {"innodb-buffer-pool-size": POOL}) as server:
        run.say(f"{TABLES + 1} tables")
        with server.connect() as connection:
            for number in range(TABLES):
                make_table(connection, _name(number), PAGES)
            make_table(connection, SCANNED, SCANNED_PAGES)
        with BackgroundLoad(server.connect) as load:
            load.repeat(_lookups(), pause=0.02)
            load.repeat(lambda connection: scan(connection, SCANNED), pause=SCAN_EVERY)
            time.sleep(FILLING)
            run.say(f"{(SNAPSHOTS + hours * LATER) * EVERY:.0f} s of watching")
            history = _collect(server, SNAPSHOTS + hours * LATER)
    windows = [history[LATER * hour : LATER * hour + SNAPSHOTS] for hour in range(hours + 1)]
    run.say(f"{hours} hours, the clock runs fast")
    run.put("hour", asyncio.run(_keep(windows)) / hours)
    run.put("asked", (_ask(window) for window in windows[1:6]))


def _name(number: int) -> str:
    return f"t{number:02}"


def _lookups() -> Any:
    """Work for a load: lookups by Zipf's law, in some tables more than in others."""
    chooser, pages = random.Random(1), range(PAGES)
    by_rank = list(itertools.accumulate((rank + 1) ** -SKEW for rank in pages))
    by_table = list(itertools.accumulate(1.0 / (number + 1) for number in range(TABLES)))

    def work(connection: pymysql.Connection[Any]) -> None:
        [number] = chooser.choices(range(TABLES), cum_weights=by_table)
        look_up_pages(connection, _name(number), chooser.choices(pages, cum_weights=by_rank, k=20))

    return work


def _collect(server: PrivateServer, count: int) -> Sequence[Snapshot]:
    with SidecarSampler(server, interval=EVERY, history_seconds=count * EVERY) as sampler:
        for _ in range(count):
            due = time.monotonic() + EVERY
            sampler.collect()
            time.sleep(max(0.0, due - time.monotonic()))
        return sampler.history


async def _keep(windows: Sequence[Sequence[Snapshot]]) -> float:
    """CPU seconds of all hours but the first: what the service does each second, by a clock that the figure moves."""
    now, spent = 0.0, 0.0
    whole = min(Window.of(history, float("inf")).seconds for history in windows)
    source = Sampler(Target())  # it is never asked
    curves = Curves(source, ModelWorker(), whole, clock=lambda: now)
    for history in windows:
        source.history = deque(history)
        window, began = Window.of(history, whole), core_seconds()
        for _ in range(3600):
            now += 1.0
            curves.begin(window)
            await curves.whole.join()
        if history is not windows[0]:
            spent += core_seconds() - began
        assert curves.last(window) is not None  # noqa: S101 - else the figure would be of nothing
    return spent


def _ask(history: Sequence[Snapshot]) -> float:
    """CPU seconds. Raises Unanswerable."""
    began = time.process_time()
    estimate.curve(history, float("inf"))
    return time.process_time() - began


BENCHMARK = Benchmark(
    name="curve",
    title="The miss curve",
    method=(
        f"MySQL 9.7 with a pool of {POOL} under point lookups in {TABLES} tables beside a scan. The sidecar's sampler"
        f" collects every {EVERY:g} s into windows of {SNAPSHOTS} snapshots, as many as an hour at 10 s has. Then the"
        " service's own schedule keeps the curve, by a clock that runs fast: 3,600 looks an hour, and a window that"
        " goes on. CPU is that of the process and of the worker."
    ),
    figures={
        "hour": Figure("the miss curve, kept by the service: CPU an hour", "s", most=1.0),
        "asked": Figure("a miss curve of a server that was not seen before: CPU", "s"),
    },
    measure=measure,
    seconds=(160.0, 130.0),
)
