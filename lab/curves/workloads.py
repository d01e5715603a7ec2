"""The workloads of the miss curves: a load, with or without scans beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lab.curves.distributions import DISTRIBUTIONS, Distribution
from lab.curves.loads import CurveLoad, Lookups, Sysbench, TpcC, Ycsb

_LOOKUPS = {
    "uniform": (550, 60.0),
    "zipf-0.6": (700, 60.0),
    "zipf-0.9": (200, 200.0),
    "zipf-1.2": (3_000, 70.0),
    "hot-spot": (1_200, 50.0),
    "two-tables": (1_000, 50.0),
    "drifting": (2_500, 60.0),
}
"""Lookups a second, and seconds until the pools count as come to rest."""
_REST = 70.0
PATIENCE = 4.0
"""On a busy machine the load may take so many times as long."""
_SCANNED = ("ycsb-a-zipfian", "sysbench-read-write-gaussian", "zipf-0.6", "hot-spot", "drifting")
"""Workloads that are measured beside scans, too."""


@dataclass(frozen=True)
class CurveWorkload:
    """A load whose reads are measured in pools of several sizes.

    Attributes:
        name: In kebab case.
        about: For the reader.
        load: What is asked for.
        rest: Seconds of the load, at its rate, after which the pools count as come to rest in any case.
        scans: Whether scans run beside it.
    """

    name: str
    about: str
    load: CurveLoad
    rest: float
    scans: bool = False

    @property
    def seconds(self) -> int:
        """That the load lasts at most."""
        return round(PATIENCE * self.rest) + 120


def _tpcc(warehouses: int, rest: float) -> CurveWorkload:
    return CurveWorkload(f"tpcc-{warehouses}", f"go-tpc's TPC-C, {warehouses} warehouses", TpcC(warehouses), rest)


def _ycsb(mix: str, distribution: str, rate: int, rest: float = _REST) -> CurveWorkload:
    name, about = f"ycsb-{mix.lower()}-{distribution}", f"go-ycsb's workload {mix}, {distribution}"
    return CurveWorkload(name, about, Ycsb(mix, distribution, rate), rest)


def _sysbench(test: str, distribution: str, rate: int, rest: float = _REST) -> CurveWorkload:
    name, about = f"sysbench-{test}-{distribution}", f"sysbench's {test} test, {distribution}"
    return CurveWorkload(name, about, Sysbench(f"oltp_{test.replace('-', '_')}", distribution, rate), rest)


def _lookups(distribution: Distribution, rate: int, rest: float) -> CurveWorkload:
    name = distribution.name
    return CurveWorkload(name, f"point lookups: {distribution.about}", Lookups(name, rate), rest)


_ALONE = (
    _tpcc(3, 90.0),
    _ycsb("A", "zipfian", 400),
    _ycsb("A", "uniform", 250),
    _ycsb("B", "zipfian", 600, 50.0),
    _ycsb("C", "zipfian", 1_200, 40.0),
    _ycsb("C", "uniform", 1_300, 40.0),
    _ycsb("D", "latest", 1_500, 60.0),
    _ycsb("E", "zipfian", 60),
    _ycsb("F", "zipfian", 60, 200.0),
    _sysbench("read-only", "uniform", 80, 40.0),
    _sysbench("read-only", "pareto", 40),
    _sysbench("read-only", "special", 60, 240.0),
    _sysbench("read-only", "gaussian", 40, 120.0),
    _sysbench("read-write", "uniform", 20),
    _sysbench("read-write", "pareto", 40),
    _sysbench("read-write", "special", 15, 200.0),
    _sysbench("read-write", "gaussian", 50, 60.0),
    *(_lookups(distribution, *_LOOKUPS[distribution.name]) for distribution in DISTRIBUTIONS),
    _tpcc(16, 240.0),
)
WORKLOADS = (
    *_ALONE,
    *(
        replace(
            workload,
            name=f"{workload.name}-scans",
            about=f"{workload.about}, beside a scan of another table every ten seconds",
            scans=True,
        )
        for workload in _ALONE
        if workload.name in _SCANNED
    ),
)
