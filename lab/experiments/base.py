"""What an experiment is: parts that run on real servers, and what their numbers show beside the published ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from lab.campaign.part import Data, Part

Cell = str | float | int | None


@dataclass(frozen=True)
class Column:
    """A column of an experiment's table.

    Attributes:
        title: With its unit, such as `published, s` or `pages read`.
        form: How its numbers are printed, a format specification.
    """

    title: str
    form: str = ",.0f"


@dataclass(frozen=True)
class Expectation:
    """Something that must hold, as a ratio or a number of pages; never absolute seconds.

    Attributes:
        what: What the value is, in words.
        value: As measured.
        least, most: Its bounds; None for none.
    """

    what: str
    value: float
    least: float | None = None
    most: float | None = None

    @property
    def holds(self) -> bool:
        """Whether the value is within its bounds."""
        return (self.least is None or self.value >= self.least) and (self.most is None or self.value <= self.most)

    @property
    def wanted(self) -> str:
        """The bounds in words."""
        if self.least is not None and self.most is not None:
            return f"{self.least:g} to {self.most:g}"
        return f"at least {self.least:g}" if self.least is not None else f"at most {self.most:g}"


@dataclass(frozen=True)
class Conclusion:
    """What an experiment's parts show together.

    Attributes:
        columns, rows: The one table: settings or passes, then published, ours, the model's.
        checks: What must hold.
        differences: Where ours differs from what was published or from the model, and why, from measured counters.
        plot: The numbers that the picture shows; whatever JSON can hold.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    checks: tuple[Expectation, ...]
    differences: tuple[str, ...]
    plot: Data


@dataclass(frozen=True)
class Experiment:
    """One of the published five.

    Attributes:
        id: E1 to E5.
        title: What it shows, in one line.
        folder: Its folder, with README.md: what was published, and how it is scaled down.
        parts: What runs on servers. Each returns plain numbers, counters beside every time.
        conclude: From the parts' data by the parts' names; pure, and it asks the models: no server is needed.
        draw: Draws ``Outcome.plot``.
        size: Of the picture, inches.
    """

    id: str
    title: str
    folder: Path
    parts: Sequence[Part]
    conclude: Callable[[Mapping[str, Data]], Conclusion]
    draw: Callable[[Figure, Data], None]
    size: tuple[float, float] = (7.5, 4.2)
