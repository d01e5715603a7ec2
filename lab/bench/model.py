"""The cost of the LRU model's sweep, compared with the page-exact reference."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Literal, NamedTuple

from advisor.models.lru import simulation
from advisor.models.lru.scenario import Points, Pool, Repeat, Scan, Scenario
from lab.bench.figures import Benchmark, BenchRun, Figure
from lab.processes.usage import memory_mib

GIB = 2**30 // 16_384  # pages
TABLES = {"a": 60, "b": 20, "c": 45, "d": 8, "e": 150}  # GiB
HOT = 30  # GiB
ACCESSES = 6_000_000  # point accesses a round
SKEW = 0.8
INSTANCES = 8
ROUNDS = 20
SCALE = 512  # 128 GiB become 16,384 pages


def _pool(gib: int, old_blocks_pct: int, old_blocks_time_ms: float) -> Pool:
    return Pool(
        pages=gib * GIB, instances=INSTANCES, old_blocks_pct=old_blocks_pct, old_blocks_time_ms=old_blocks_time_ms
    )


SWEEP = tuple(
    _pool(gib, pct, time_ms)
    for gib in (64, 96, 128, 160, 192)
    for pct in (5, 15, 25, 37, 50, 60, 70, 80, 90, 95)
    for time_ms in (0.0, 1000.0, 100_000.0)
)
COMPARED = (
    _pool(128, 37, 1000.0),
    _pool(128, 5, 1000.0),
    _pool(192, 37, 100_000.0),
    _pool(128, 80, 0.0),
    _pool(128, 95, 1000.0),
)
"""Run on the reference, too; the first alone in the short form."""


class ModelCost(NamedTuple):
    """The cost of a model.

    Attributes:
        cpu_seconds: For all pools, including the creation of their scenarios.
        mib: Growth of the peak resident memory, from after the model's import.
        pages_read: By pool, in all passes.
    """

    cpu_seconds: float
    mib: float
    pages_read: list[float]


def measure(run: BenchRun) -> None:
    """The sweep several times, and some settings by the reference too."""
    sweeps = [_cost("served", SWEEP) for _ in run.rounds("sweep", 5, 1)]
    run.put("memory", (cost.mib for cost in sweeps))
    served, exact = [], []
    for pool in COMPARED[:1] if run.short else COMPARED:
        run.say(f"page by page: a pool of {pool.pages // GIB} GiB, {pool.old_blocks_pct} %")
        served.append(_cost("served", [pool], SCALE))
        exact.append(_cost("page-exact", [pool], SCALE))
    run.put("cpu", (cost.cpu_seconds for cost in sweeps), (cost.cpu_seconds for cost in exact))
    run.put("off", 100 * max(abs(a.pages_read[0] / b.pages_read[0] - 1) for a, b in zip(served, exact, strict=True)))
    run.put("faster", (cost.cpu_seconds for cost in served), (cost.cpu_seconds for cost in exact))


def _cost(model: Literal["served", "page-exact"], sweep: Sequence[Pool], scale: int = 1) -> ModelCost:
    """The cost of a model in a fresh process on one core."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as processes:
        return processes.submit(_work, model, sweep, scale).result()


def _work(model: str, sweep: Sequence[Pool], scale: int) -> ModelCost:
    from tests.advisor.models.lru import reference  # noqa: PLC0415 - tests are not part of lab's imports

    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    # getrusage's ru_maxrss would start at the parent's peak.
    mib, cpu = memory_mib(os.getpid(), "VmHWM") or 0.0, time.process_time()
    pages_read = []
    for pool in sweep:
        workload = scenario(pool, scale)
        passes = simulation.simulate(workload).passes if model == "served" else reference.simulate(workload)
        pages_read.append(sum(model_pass.pages_read for model_pass in passes))
    return ModelCost(time.process_time() - cpu, (memory_mib(os.getpid(), "VmHWM") or 0.0) - mib, pages_read)


def scenario(pool: Pool, scale: int) -> Scenario:
    """The sweep's workload, ``scale`` times smaller: five tables scanned in turn and a hot set."""
    pool = pool.model_copy(update={"pages": pool.pages // scale})
    scans = [Scan(scan=name, pages=gib * GIB // scale, seconds=60.0, gap_seconds=5.0) for name, gib in TABLES.items()]
    lookups = Points(points="hot", pages=HOT * GIB // scale, accesses=ACCESSES // scale, seconds=300.0, skew=SKEW)
    fill = Scan(scan="fill", pages=2 * pool.pages, seconds=600.0, gap_seconds=10.0)
    return Scenario(pool=pool, steps=(fill, Repeat(repeat=ROUNDS, steps=(*scans, lookups))))


_SMALLER = f"the same {SCALE} times smaller"
BENCHMARK = Benchmark(
    name="model",
    title="The LRU model",
    method=(
        f"The sweep of {len(SWEEP)} configurations of a pool around 128 GiB: five sizes, ten values of"
        " innodb_old_blocks_pct, three of innodb_old_blocks_time; 20 rounds of five scans and a hot set. Each run has"
        " its own process on one core. Some configurations also run on the page-exact reference of the tests."
    ),
    figures={
        "cpu": Figure("a sweep around 128 GiB: CPU", "s", f"one, {SCALE} times smaller, page by page", most_ratio=0.4),
        "memory": Figure("a sweep around 128 GiB: memory", "MiB", most=50.0),
        "off": Figure(f"{_SMALLER}: off in pages read", "%", most=3.0),
        "faster": Figure(f"{_SMALLER}: CPU of a configuration", "s", "page by page", paired=True),
    },
    measure=measure,
    seconds=(160.0, 25.0),
)
