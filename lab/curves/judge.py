"""Predicted reads against measured ones, by the model and by a warm-up, and the bounds that they must keep."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from advisor.fleet.capacity import ERRORS, WARM_UPS
from lab.curves.measure import ONCE, workload_name
from lab.harness.records import Data, Entries
from lab.reports import criterion
from lab.reports.criterion import Criterion

_Judged = TypeVar("_Judged")
NEAR = 0.02
"""Share of today's reads that makes no size better than another."""
_DEVIATIONS = 2.0
"""Standard deviations of the counted reads that a measured share may be off by chance."""
_HELD = 0.9
"""The least share of smaller pools that read no more than the warm-up's most."""


@dataclass(frozen=True)
class SizeCase:
    """A predicted size of the pool, with reads as shares of today's.

    Attributes:
        times: Multiple of today's size.
        measured: In a pool of that size.
        chance: How far this may be off by chance, both counts being random.
        expected, low, high: As predicted; None without a prediction.
    """

    times: float
    measured: float
    chance: float = 0.0
    expected: float | None = None
    low: float = 0.0
    high: float = 0.0

    @property
    def below_high(self) -> bool:
        """Whether no more was read than the high end has."""
        return self.expected is not None and self.measured - self.chance <= self.high

    @property
    def inside(self) -> bool:
        """Whether the measured reads are within the interval."""
        return self.below_high and self.low <= self.measured + self.chance

    @property
    def narrow(self) -> bool:
        """Whether the high end is no more than a quarter of today's reads above what was measured."""
        return self.expected is not None and self.high - self.measured <= 0.25

    @property
    def error(self) -> float:
        """Of the expected reads; 1 where there are none."""
        return 1.0 if self.expected is None else abs(self.expected - self.measured)


@dataclass(frozen=True)
class AdvisedSize:
    """The size that a rule advised, beside what was measured.

    Attributes:
        times: Multiple of today's size.
        promised: The most reads that were promised, as a share of today's.
        measured: The reads there, between those of the sizes on both sides.
        enough: The smallest size, as a multiple of today's, that measures as good.
    """

    times: float
    promised: float
    measured: float
    enough: float

    @property
    def as_promised(self) -> bool:
        """Whether the reads are as promised."""
        return self.measured <= self.promised + NEAR

    @property
    def tight(self) -> bool:
        """Whether a size that measures as good is not much smaller."""
        return self.times <= 1.25 * self.enough


def cases(data: Data) -> Iterator[SizeCase]:
    """The cases of a workload: each size but today's."""
    today, sizes = data["measured"]["1"], data["predicted"].get("sizes", {})
    for times, there in data["measured"].items():
        if times != "1":
            share = (there["read"] / there["done"]) / (today["read"] / today["done"])
            chance = _DEVIATIONS * share * math.sqrt(1 / max(1, there["read"]) + 1 / max(1, today["read"]))
            yield SizeCase(float(times), share, chance, *sizes.get(times, ()))


def advised(data: Data) -> AdvisedSize | None:
    """The advised size of a workload, where there is one."""
    advice = data["predicted"].get("advice")
    if advice is None:
        return None
    points = sorted([(1.0, 1.0), *((case.times, case.measured) for case in cases(data))])
    there = _between(points, advice["times"])
    enough = next(times for times, share in _steps(points) if share <= there + NEAR)
    return AdvisedSize(advice["times"], advice["promised"] + advice["error"], there, enough)


def _between(points: Sequence[tuple[float, float]], times: float) -> float:
    """Reads at a size, on the chord; beyond all sizes those of the largest."""
    for (left, more), (right, less) in pairwise(points):
        if left <= times <= right:
            return more + (less - more) * (times - left) / (right - left)
    return points[-1][1]


def _steps(points: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Sizes and reads from the smallest to the largest measured one, in hundredths of today's size."""
    for hundredth in range(round(100 * points[0][0]), round(100 * points[-1][0]) + 1):
        yield hundredth / 100, _between(points, hundredth / 100)
    yield points[-1]


def criteria(workloads: Sequence[Data]) -> list[Criterion]:
    """The bounds, with what was measured and predicted of these workloads."""
    judged = [case for data in workloads for case in cases(data)]
    sizes = [size for data in workloads if (size := advised(data)) is not None]
    larger = [case for case in judged if case.times >= 1.5]
    near = [case for case in judged if case.times >= 0.75]
    half = [case for case in judged if case.times < 0.75]
    return [
        _share("there is an answer", judged, lambda case: case.expected is not None, 1.0),
        _share("no more is read than the high end has", judged, lambda case: case.below_high, 0.95),
        _share("the reads lie within the interval", judged, lambda case: case.inside, 0.9),
        _share("from 1.5 × on, the high end is at most a quarter above", larger, lambda case: case.narrow, 0.8),
        _median("median error from 0.75 × on", near, 0.1),
        _median("median error at 0.5 ×", half, 0.25),
        _share("at the advised size, reads are as promised", sizes, lambda size: size.as_promised, 0.9),
        _share("no size under 0.8 × the advised one is as good", sizes, lambda size: size.tight, 0.9),
    ]


def of_jobs(jobs: Mapping[str, Data]) -> Iterator[Criterion]:
    """The bounds on the job that reads everything once, by server."""
    for server, data in jobs.items():
        yield Criterion(f"{server}: larger pools advised for a job that reads everything once", data["grown"], most=0)
        yield Criterion(f"{server}: times that the rule was blind", data["blind"], most=0)
        yield Criterion(f"{server}: times that the rule judged", data["judged"], least=1)


def broken(entries: Entries) -> Iterator[str]:
    """The bounds that the curves, the jobs and the warm-ups in the recordings break."""
    jobs = {entry["server"]: entry["data"] for name, entry in entries.items() if workload_name(name) == ONCE}
    curves = [entry["data"] for name, entry in entries.items() if workload_name(name) != ONCE]
    return criterion.broken((*criteria(curves), *of_jobs(jobs), *of_warm_ups(recorded_pools(entries))))


def _share(what: str, judged: Sequence[_Judged], holds: Callable[[_Judged], bool], least: float) -> Criterion:
    value = sum(map(holds, judged)) / len(judged) if judged else None
    return Criterion(what, value, least=least, cases=len(judged))


def _median(what: str, judged: Sequence[SizeCase], most: float) -> Criterion:
    value = statistics.median(case.error for case in judged) if judged else None
    return Criterion(what, value, most=most, cases=len(judged))


@dataclass(frozen=True)
class SmallerPool:
    """A smaller pool than the one whose warm-up predicts its reads, with pages read a lookup.

    Attributes:
        source: `own` or `peer`, by a Prometheus; `recording`, by the sampler.
        every: Which points the prediction rests on.
        share: The pool, as a share of the data, or of the watched pool.
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


def of_warm_ups(pools: Sequence[SmallerPool]) -> list[Criterion]:
    """The bounds: on the error of lookups alone, and on the most that is read, also beside scans."""
    alone = [pool for pool in pools if not pool.scanned]
    error = Criterion(
        "the error that a tenth of the predictions exceeds",
        tenth(alone) if alone else None,
        most=ERRORS[WARM_UPS],
        cases=len(alone),
    )
    return [error, _share("pools that read no more than the predicted most", pools, lambda pool: pool.held, _HELD)]


def recorded_pools(entries: Entries) -> list[SmallerPool]:
    """The smaller pools that the warm-ups in the recordings predict."""
    return [
        SmallerPool(entry["server"], workload_name(name), "recording", 1, share, measured, expected, most)
        for name, entry in entries.items()
        for share, measured, expected, most in entry["data"].get("warm_up", ())
    ]
