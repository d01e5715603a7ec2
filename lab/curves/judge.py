"""Predicted reads against measured ones, and the bounds that they must keep."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lab.campaign.part import Data

TIMES = (0.5, 1.5, 2.0, 4.0)
"""The sizes that are judged, as multiples of today's."""
WITHIN = 0.9
"""The least share of cases whose measured reads are within an interval that tells something."""
MEDIAN = 0.1
"""The largest median error, as a share of today's reads."""
WIDEST = 3.0
"""A wider interval tells nothing: its upper end is more than so many times its lower one."""
NONE = 0.02
"""Share of today's reads: fewer count as none where the width of an interval is judged."""


@dataclass(frozen=True)
class Case:
    """A prediction, with reads as shares of today's.

    Attributes:
        times: Multiple of today's size.
        measured: In a pool of that size.
        expected, low, high: As predicted; None without a prediction.
    """

    server: str
    workload: str
    share: float
    times: float
    measured: float
    expected: float | None = None
    low: float = 0.0
    high: float = 0.0

    @property
    def inside(self) -> bool:
        """Whether the measured reads are within the interval."""
        return self.expected is not None and self.low <= self.measured <= self.high

    @property
    def wide(self) -> bool:
        """Whether the interval tells nothing."""
        return self.high > WIDEST * max(self.low, NONE)

    @property
    def holds(self) -> bool:
        """Whether the measured reads are within an interval that tells something."""
        return self.inside and not self.wide

    @property
    def error(self) -> float:
        """Of the expected reads; 1 where there are none."""
        return 1.0 if self.expected is None else abs(self.expected - self.measured)


@dataclass(frozen=True)
class Verdict:
    """Of several cases.

    Attributes:
        cases: Their number.
        held: Those that hold.
        median, tenth: The median error, and the error that a tenth of the cases exceeds.
    """

    cases: int
    held: int
    median: float
    tenth: float

    @property
    def share(self) -> float:
        """Of the cases that hold."""
        return self.held / self.cases

    @property
    def holds(self) -> bool:
        """Whether the bounds are kept. Few cases may have one that does not hold."""
        return (self.held >= WITHIN * self.cases or self.cases - self.held <= 1) and self.median <= MEDIAN


def cases(server: str, workload: str, data: Data) -> Iterator[Case]:
    """The cases of a workload.

    A size at which all the data fit stands for every larger one.
    """
    reads = by_size(data)
    for share in data["watched"]:
        today, said = reads[share], data["predicted"][str(share)]
        for times in TIMES:
            size = min(round(share * times, 3), max(reads))
            case = Case(server, workload, share, times, reads[size] / today)
            yield (
                case
                if "sizes" not in said
                else Case(server, workload, share, times, reads[size] / today, *said["sizes"][f"{times:g}"])
            )


def by_size(data: Data) -> dict[float, float]:
    """Measured pages read a lookup or transaction, by the size of the pool as a share of the data."""
    return {float(share): each["read"] / each["done"] for share, each in data["measured"].items()}


def verdict(judged: Sequence[Case]) -> Verdict:
    """The verdict of at least one case."""
    errors = sorted(each.error for each in judged)
    return Verdict(
        len(errors),
        sum(each.holds for each in judged),
        statistics.median(errors),
        errors[min(len(errors) - 1, int(0.9 * len(errors)))],
    )


def broken(parts: Mapping[tuple[str, str], Data], once: Mapping[str, Data]) -> Iterator[str]:
    """The bounds that results break.

    Args:
        parts: By server and workload.
        once: Of the job that reads everything once, by server.
    """
    judged = [case for (server, workload), data in parts.items() for case in cases(server, workload, data)]
    if judged and not (found := verdict(judged)).holds:
        yield (
            f"{found.held} of {found.cases} predictions hold ({found.share:.0%}, not {WITHIN:.0%}), and the median"
            f" error is {found.median:.1%} of today's reads (at most {MEDIAN:.0%})"
        )
    for server, data in once.items():
        if data["grown"]:
            yield f"{server}: a larger pool was advised {data['grown']} times for a job that reads everything once"
        if data["blind"] or not data["judged"]:
            yield f"{server}: the rule was blind {data['blind']} times, and judged {data['judged']} times"
