"""A figure of the benchmark: lines with bounds, their values, and the verdict."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel
from rich.console import RenderableType

Say = Callable[[str], None]
"""Takes a progress message."""
MORE = 3
"""A figure that breaks its bound is measured again, with this many times the rounds."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A line's bound.

    Attributes:
        least, most: The limits; None for none.
        of: Whether they limit the ratio to the reference, or the median itself.
    """

    least: float | None = None
    most: float | None = None
    of: Literal["ratio", "value"] = "ratio"

    def holds(self, value: float) -> bool:
        """Whether a value is within the limits."""
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table.

    Attributes:
        what: The measured quantity.
        unit: Its unit.
        beside: The reference, such as `mysqld_exporter`; empty for none.
        bound: None where the value has no bound.
    """

    what: str
    unit: str
    beside: str = ""
    bound: Bound | None = None


class Values(BaseModel):
    """The values of a line.

    Attributes:
        ours: One per round.
        beside: The reference's values.
        paired: Whether ours and the reference's are pairs, one per round. Then the ratio is taken per round.
    """

    ours: tuple[float, ...]
    beside: tuple[float, ...] = ()
    paired: bool = False

    @property
    def value(self) -> float:
        """The median."""
        return statistics.median(self.ours)

    @property
    def ratio(self) -> float | None:
        """Ours by the reference: of the medians, or the median of the rounds' ratios. None without one, or for 0."""
        if not self.beside or 0 in self.beside:
            return None
        if self.paired:
            return statistics.median(ours / other for ours, other in zip(self.ours, self.beside, strict=True))
        return self.value / statistics.median(self.beside)

    def kept(self, bound: Bound) -> bool:
        """Whether a bound is kept. A bound on a ratio is broken where there is no ratio."""
        judged = self.ratio if bound.of == "ratio" else self.value
        return judged is not None and bound.holds(judged)


def spread(values: Sequence[float]) -> tuple[float, float]:
    """The lower and the upper quartile."""
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


@dataclass(frozen=True, slots=True)
class Effort:
    """The length of a measurement.

    Attributes:
        short: The short form, which CI runs.
        again: A second measurement, after the first broke a bound.
    """

    short: bool = False
    again: bool = False

    def rounds(self, whole: int, short: int) -> int:
        """The rounds: ``whole`` or ``short``, and `MORE` times as many when measured again."""
        return (short if self.short else whole) * (MORE if self.again else 1)


@dataclass(frozen=True, slots=True)
class Measurement:
    """A figure's values.

    Attributes:
        values: By the key of the line.
        versions: Versions of the programs, by name.
        details: Shown beneath the table.
    """

    values: Mapping[str, Values]
    versions: Mapping[str, str] = field(default_factory=dict)
    details: tuple[RenderableType, ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """A group of lines that are measured together.

    Attributes:
        name: For `--only`.
        title: One line.
        about: The method, one paragraph.
        lines: By key, in the order of the table.
        measure: The measurement. Raises `Unavailable` or `StartError` without a server.
        seconds: Its approximate duration, whole and short.
    """

    name: str
    title: str
    about: str
    lines: Mapping[str, Line]
    measure: Callable[[Effort, Say], Measurement]
    seconds: tuple[float, float]

    def broken(self, found: Measurement) -> list[str]:
        """The lines whose bound is broken or that lack a value."""
        return [
            key
            for key, line in self.lines.items()
            if line.bound is not None and (key not in found.values or not found.values[key].kept(line.bound))
        ]


def measure(figure: Figure, say: Say, *, short: bool) -> tuple[Measurement, int]:
    """A figure's values, and the number of measurements: in the long form a second one follows a broken bound."""
    measurement = figure.measure(Effort(short=short), say)
    if short or not figure.broken(measurement):
        return measurement, 1
    say("a bound is broken: measured again, longer")
    return figure.measure(Effort(again=True), say), 2


def times_worse(line: Line, now: Values, recorded: Values) -> float | None:
    """How many times worse a line's ratio is than the recorded one, below 1 if it is better; None without a ratio."""
    if not now.ratio or not recorded.ratio:
        return None
    more_is_better = line.bound is not None and line.bound.most is None
    return recorded.ratio / now.ratio if more_is_better else now.ratio / recorded.ratio
