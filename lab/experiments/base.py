"""An experiment: parts that run on real servers, and a conclusion that compares them with the published numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from lab.harness.records import Data, Entries, Part
from lab.reports import criterion
from lab.reports.criterion import Criterion

Cell = str | float | int | None


class Column(NamedTuple):
    """A column of an experiment's table.

    Attributes:
        title: With its unit, such as `published, s` or `pages read`.
        form: The format specification of its numbers.
    """

    title: str
    form: str = ",.0f"


@dataclass(frozen=True)
class Conclusion:
    """The results of an experiment's parts together.

    Attributes:
        columns, rows: The table: settings or passes, then published numbers, ours, and the model's.
        criteria: They must hold.
        differences: Differences from the published numbers or the model, and their reasons from measured counters.
        plot: The picture's numbers; any JSON object.
    """

    columns: Sequence[Column]
    rows: Sequence[tuple[Cell, ...]]
    criteria: Sequence[Criterion]
    differences: Sequence[str]
    plot: Data


@dataclass(frozen=True)
class Experiment:
    """One of the five published experiments.

    Attributes:
        id: E1 to E5.
        title: One line.
        parts: The work on servers. Each part returns numbers: times, with counters for each.
        conclude: Draws the conclusion from the parts' data by name. It is pure and uses the models; it needs no server.
        draw: Draws ``Conclusion.plot``.
        size: Size of the picture, inches.
    """

    id: str
    title: str
    parts: Sequence[Part]
    conclude: Callable[[Mapping[str, Data]], Conclusion]
    draw: Callable[[Figure, Data], None]
    size: tuple[float, float] = (9.5, 4.6)

    def broken(self, entries: Entries) -> Iterator[str]:
        """The criteria that do not hold, once all parts are there."""
        if len(entries) == len(self.parts):
            yield from criterion.broken(
                self.conclude({name: entry["data"] for name, entry in entries.items()}).criteria
            )

    @property
    def about(self) -> str:
        """The published experiment and its scaling."""
        text = Path(__file__).with_name(f"{self.id.lower()}.md").read_text(encoding="utf-8")
        return text.partition("\n")[2].strip()
