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

Row = Mapping[str, str | float | None]
"""Cells of a table, by the column's key."""
_DIFFERENCES = "**Where it differs, and why**\n"


class Column(NamedTuple):
    """A column of an experiment's table.

    Attributes:
        key: Of its cells in a row.
        title: With its unit, such as `published, s` or `pages read`.
        form: The format specification of its numbers.
    """

    key: str
    title: str
    form: str = ",.0f"

    def cell(self, row: Row) -> str:
        """Its cell in a row."""
        value = row.get(self.key)
        if value is None:
            return "–"
        return value if isinstance(value, str) else format(value, self.form)


@dataclass(frozen=True)
class Conclusion:
    """The results of an experiment's parts together.

    Attributes:
        rows: The table: settings or passes, then published numbers, ours, and the model's.
        criteria: They must hold.
        figures: The numbers that its page names.
        plot: The picture's numbers; any JSON object.
    """

    rows: Sequence[Row]
    criteria: Sequence[Criterion]
    figures: Mapping[str, object]
    plot: Data


@dataclass(frozen=True)
class Experiment:
    """One of the five published experiments.

    Its file `e1.md` … `e5.md` has the published experiment and its scaling, and then the differences from the published
    numbers or the model with their reasons, as a template for ``Conclusion.figures``.

    Attributes:
        id: E1 to E5.
        title: One line.
        parts: The work on servers. Each part returns numbers: times, with counters for each.
        columns: Of its table.
        conclude: Draws the conclusion from the parts' data by name. It is pure and uses the models; it needs no server.
        draw: Draws ``Conclusion.plot``.
        size: Size of the picture, inches.
    """

    id: str
    title: str
    parts: Sequence[Part]
    columns: Sequence[Column]
    conclude: Callable[[Mapping[str, Data]], Conclusion]
    draw: Callable[[Figure, Data], None]
    size: tuple[float, float] = (9.5, 4.6)

    def broken(self, entries: Entries) -> Iterator[str]:
        """The criteria that do not hold, once all parts are there."""
        if len(entries) == len(self.parts):
            conclusion = self.conclude({name: entry["data"] for name, entry in entries.items()})
            yield from criterion.broken(conclusion.criteria)

    @property
    def about(self) -> str:
        """The published experiment and its scaling."""
        return self._text.partition("\n")[2].partition(_DIFFERENCES)[0].strip()

    def differences(self, conclusion: Conclusion) -> str:
        """Where it differs, and why; each point in one line."""
        template = self._text.partition(_DIFFERENCES)[2].replace("\n  ", " ")
        return _DIFFERENCES + template.format(**conclusion.figures)

    @property
    def _text(self) -> str:
        return Path(__file__).with_name(f"{self.id.lower()}.md").read_text(encoding="utf-8")
