"""What a figure of the benchmark is: lines with bounds, and how their values are judged."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel
from rich.console import RenderableType

Say = Callable[[str], None]
"""Told what is being done, in words."""
MORE = 3
"""A figure that breaks its bound is measured again, with so many times the rounds."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What a line must keep.

    Attributes:
        least, most: Its bounds; None for none.
        of: Of the ratio to what it is measured beside, or of the median itself.
    """

    least: float | None = None
    most: float | None = None
    of: Literal["ratio", "value"] = "ratio"

    def holds(self, value: float) -> bool:
        """Whether a value is within."""
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table.

    Attributes:
        what: What is measured.
        unit: Of the values.
        beside: What the other value is of, such as `mysqld_exporter`; empty where there is none.
        bound: None where the value is told for its own sake.
    """

    what: str
    unit: str
    beside: str = ""
    bound: Bound | None = None


class Values(BaseModel):
    """The values of a line.

    Attributes:
        ours: One a round.
        beside: The same of what it is measured beside.
        paired: Whether the two of a round belong together, so that the ratio is taken in each round.
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
        """Ours by the other: of the medians, or the median of each round's. None without another, or beside 0."""
        if not self.beside or 0 in self.beside:
            return None
        if self.paired:
            return statistics.median(ours / other for ours, other in zip(self.ours, self.beside, strict=True))
        return self.value / statistics.median(self.beside)

    def kept(self, bound: Bound) -> bool:
        """Whether a bound is kept; without a ratio, one of the ratio is not."""
        judged = self.ratio if bound.of == "ratio" else self.value
        return judged is not None and bound.holds(judged)


def spread(values: Sequence[float]) -> tuple[float, float]:
    """The quartiles: between them is the middle half."""
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is done.

    Attributes:
        short: The short form, as CI runs it.
        again: A second measurement, as the first broke a bound.
    """

    short: bool = False
    again: bool = False

    def rounds(self, whole: int, short: int) -> int:
        """So many in the whole form and so many in the short one; more when measured again."""
        return (short if self.short else whole) * (MORE if self.again else 1)


@dataclass(frozen=True, slots=True)
class Measurement:
    """What a figure's measurement gave.

    Attributes:
        values: By the key of the line.
        versions: Of what took part, by name.
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
        title: What it is about, in one line.
        about: How it is measured; a paragraph.
        lines: By key, in the order of the table.
        measure: Does it. Raises `Unavailable` or `StartError` where a server can't be had.
        seconds: About how long it takes, whole and short.
    """

    name: str
    title: str
    about: str
    lines: Mapping[str, Line]
    measure: Callable[[Effort, Say], Measurement]
    seconds: tuple[float, float]

    def broken(self, found: Measurement) -> list[str]:
        """The lines whose bound is not kept, or that have no value."""
        return [
            key
            for key, line in self.lines.items()
            if line.bound is not None and (key not in found.values or not found.values[key].kept(line.bound))
        ]


def measure(figure: Figure, effort: Effort, say: Say) -> tuple[Measurement, int]:
    """A figure's values, and how often they were measured: once more, and longer, where a bound is broken at first."""
    found = figure.measure(effort, say)
    if not figure.broken(found):
        return found, 1
    say("a bound is broken: measured again, longer")
    return figure.measure(Effort(short=effort.short, again=True), say), 2
