"""Predicted reads against measured ones, and the bounds that they must keep."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from lab.harness.records import Data

_Judged = TypeVar("_Judged")
NEAR = 0.02
"""Share of today's reads that makes no size better than another."""
_DEVIATIONS = 2.0
"""Standard deviations of the counted reads that a measured share may be off by chance."""


@dataclass(frozen=True)
class Case:
    """A size that was asked for, with reads as shares of today's.

    Attributes:
        times: Multiple of today's size.
        measured: In a pool of that size.
        chance: What this may be off by chance, both counts being random.
        expected, low, high: As predicted; None without a prediction.
    """

    server: str
    workload: str
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
class Advised:
    """The size that a rule advised, beside what was measured.

    Attributes:
        times: Multiple of today's size.
        promised: The most reads that were promised, as a share of today's.
        measured: The reads there, between those of the sizes on both sides.
        enough: The smallest size, as a multiple of today's, that measures as good.
    """

    server: str
    workload: str
    times: float
    promised: float
    measured: float
    enough: float

    @property
    def kept(self) -> bool:
        """Whether the reads are as promised."""
        return self.measured <= self.promised + NEAR

    @property
    def tight(self) -> bool:
        """Whether a size that measures as good is not much smaller."""
        return self.times <= 1.25 * self.enough


@dataclass(frozen=True)
class Bound:
    """A bound, and what was found.

    Attributes:
        text: What is found, in words.
        found: A share of cases, or a median error; None without cases.
        wanted: The least share, or the largest error.
        least: Which of them.
        cases: Their number.
    """

    text: str
    found: float | None
    wanted: float
    least: bool
    cases: int

    @property
    def holds(self) -> bool:
        """Whether it is kept; without cases it is."""
        return self.found is None or (self.found >= self.wanted if self.least else self.found <= self.wanted)


def cases(server: str, workload: str, data: Data) -> Iterator[Case]:
    """The cases of a workload: each size but today's."""
    today, said = data["measured"]["1"], data["predicted"]
    for times, there in data["measured"].items():
        if times == "1":
            continue
        share = (there["read"] / there["done"]) / (today["read"] / today["done"])
        chance = _DEVIATIONS * share * math.sqrt(1 / max(1, there["read"]) + 1 / max(1, today["read"]))
        yield Case(server, workload, float(times), share, chance, *said.get("sizes", {}).get(times, ()))


def advised(server: str, workload: str, data: Data) -> Iterator[Advised]:
    """The advised size of a workload, where there is one."""
    if (advice := data["predicted"].get("advice")) is None:
        return
    points = sorted([(1.0, 1.0), *((case.times, case.measured) for case in cases(server, workload, data))])
    there = _between(points, advice["times"])
    enough = next(times for times, share in _steps(points) if share <= there + NEAR)
    promised = advice["promised"] + advice["error"]
    yield Advised(server, workload, advice["times"], promised, there, enough)


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


def bounds(judged: Sequence[Case], advice: Sequence[Advised] = ()) -> list[Bound]:
    """The bounds, and whether these cases keep them."""
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
        _share("at the advised size, reads are as promised", advice, lambda each: each.kept, 0.9),
        _share("no size under 0.8 × the advised one is as good", advice, lambda each: each.tight, 0.9),
    ]


def broken(parts: Mapping[tuple[str, str], Data], once: Mapping[str, Data]) -> Iterator[str]:
    """The bounds that results break.

    Args:
        parts: By server and workload.
        once: Of the job that reads everything once, by server.
    """
    judged = [case for (server, workload), data in parts.items() for case in cases(server, workload, data)]
    advice = [each for (server, workload), data in parts.items() for each in advised(server, workload, data)]
    for bound in bounds(judged, advice):
        if not bound.holds:
            yield f"{bound.text}: {bound.found:.1%}, not {bound.wanted:.0%}, of {bound.cases}"
    for server, data in once.items():
        if data["grown"]:
            yield f"{server}: a larger pool was advised {data['grown']} times for a job that reads everything once"
        if data["blind"] or not data["judged"]:
            yield f"{server}: the rule was blind {data['blind']} times, and judged {data['judged']} times"


def _share(text: str, judged: Sequence[_Judged], holds: Callable[[_Judged], bool], wanted: float) -> Bound:
    found = sum(map(holds, judged)) / len(judged) if judged else None
    return Bound(text, found, wanted, least=True, cases=len(judged))


def _median(text: str, judged: Sequence[Case], wanted: float) -> Bound:
    found = statistics.median(case.error for case in judged) if judged else None
    return Bound(text, found, wanted, least=False, cases=len(judged))
