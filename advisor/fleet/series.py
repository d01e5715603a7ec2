"""Series as a Prometheus answers them, and the times at which it is asked."""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from dataclasses import dataclass

LAG_SECONDS = 60.0
"""The end of a grid is so long ago, so that all scrapes of that time have arrived."""
ROUND_SECONDS = 60.0
"""Grids end at a multiple of this: caches of Thanos, Mimir and VictoriaMetrics hit, and replicas see the same."""
POINTS = 9
"""Points of a grid: the eight slices of the rules have nine edges."""
_SLACK = 0.001


@dataclass(frozen=True, slots=True)
class QuerySeries:
    """One series of an answer.

    Attributes:
        labels: As the query leaves them.
        points: Unix seconds and value, ascending; at least one, never NaN or infinite. The answer to an instant query
            has one.
    """

    labels: Mapping[str, str]
    points: tuple[tuple[float, float], ...]

    @property
    def value(self) -> float:
        """The newest value."""
        return self.points[-1][1]


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """What a query found.

    Attributes:
        series: In the order of the answer, without those that have no finite value.
        warnings: What Prometheus said beside it.
        partial: Series may be missing, also after asking again: that one is not there means nothing.
    """

    series: tuple[QuerySeries, ...]
    warnings: tuple[str, ...] = ()
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """The times of a range query, in whole milliseconds: Prometheus counts these.

    Attributes:
        end: The last of them, Unix seconds.
        step: Seconds between two of them.
        count: How many there are.
    """

    end: float
    step: float
    count: int = POINTS

    def __post_init__(self) -> None:
        """Round the end."""
        object.__setattr__(self, "end", round(self.end, 3))

    @property
    def points(self) -> tuple[float, ...]:
        """The times, ascending."""
        return tuple(round(self.end - self.step * back, 3) for back in reversed(range(self.count)))

    def index(self, at: float) -> int:
        """Of the point at which a sample of this time was the last one: the first point that is not before it."""
        return bisect.bisect_left(self.points, at - _SLACK)

    @property
    def begin(self) -> float:
        """The first of the times."""
        return self.end - self.step * (self.count - 1)

    @classmethod
    def of(cls, now: float, window: float) -> Grid:
        """The grid over a window that ends a minute ago, at a full minute; otherwise as of `until`.

        Args:
            now: Unix seconds.
            window: Seconds from the first to the last point.
        """
        return cls.until((now - LAG_SECONDS) // ROUND_SECONDS * ROUND_SECONDS, window)

    @classmethod
    def until(cls, end: float, window: float) -> Grid:
        """The grid over a window with this end. Steps are whole milliseconds, which is what Prometheus counts."""
        return cls(end, round(window / (POINTS - 1), 3))
