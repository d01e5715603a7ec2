"""Passes over tables, shared by E2 and E3: measured, modelled and published."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from advisor.models.lru import simulation
from advisor.models.lru.scenario import Pass, Scan, Set
from lab.experiments.base import Column, Row
from lab.harness.records import Data
from lab.lru_scenarios import PlayedScenario, restored
from lab.reports import pictures

CACHED = 0.01
"""A pass that reads less than this share of its table found it in the pool."""
ALIKE_PAGES, ALIKE_SECONDS = 0.01, 1.5
"""Passes share a row while their pages differ by at most this share of the table, and the published seconds by at most
this ratio."""

COLUMNS = (
    Column("pass", "pass"),
    Column("published", "published, s", ",.2f"),
    Column("seconds", "ours, s", ",.2f"),
    Column("read", "pages read"),
    Column("model", "model, pages"),
)


@dataclass(frozen=True)
class PassSeries:
    """The passes over one table, in order.

    Attributes:
        pages: The table's pages.
        seconds: Duration of each pass.
        measured: The server's counters for each pass.
        read, modelled: Pages read by each pass, measured and by the model.
    """

    pages: int
    seconds: tuple[float, ...]
    measured: tuple[Pass, ...]
    read: tuple[int, ...]
    modelled: tuple[int, ...]

    @property
    def cached_at(self) -> int:
        """The first pass that found the table in the pool; the number of passes + 1 if none did."""
        return self._cached_at(self.read)

    @property
    def late(self) -> int:
        """Passes until the table is cached, more than the model's."""
        return self.cached_at - self._cached_at(self.modelled)

    @property
    def least_later(self) -> float:
        """The fewest pages read by a pass after the first, as a share of the table."""
        return min(self.read[1:]) / self.pages

    @property
    def most_later(self) -> float:
        """The most pages read by a pass after the first, as a share of the table."""
        return max(self.read[1:]) / self.pages

    @property
    def most_free(self) -> float:
        """The longest free list after a pass other than the first, pages."""
        return max(measured.free_pages for measured in self.measured[1:])

    @property
    def lines(self) -> dict[str, list[int]]:
        """Its lines in the picture."""
        return {"measured": list(self.read), "model": list(self.modelled)}

    def __format__(self, _: str) -> str:
        """Pages read by the passes, in words."""
        return ", ".join(f"{pages:,}" for pages in self.read)

    def _cached_at(self, read: Sequence[int]) -> int:
        cached = (number for number, pages in enumerate(read, 1) if pages < CACHED * self.pages)
        return next(cached, len(read) + 1)


def series(data: Data) -> dict[str, PassSeries]:
    """The passes of a played scenario by table, in the order of their first passes."""
    played: PlayedScenario = restored(data)
    steps = [step for step in played.scenario.flat() if not isinstance(step, Set)][1:]
    modelled = simulation.simulate(played.scenario).passes[1:]
    by_table: dict[str, list[tuple[Scan, Pass, Pass]]] = {}
    for step, measured, model in zip(steps, played.passes, modelled, strict=True):
        assert isinstance(step, Scan)  # noqa: S101 - E2 and E3 scan
        by_table.setdefault(step.scan, []).append((step, measured, model))
    return {
        name: PassSeries(
            pages=passes[0][0].pages,
            seconds=tuple(step.seconds for step, _, _ in passes),
            measured=tuple(measured for _, measured, _ in passes),
            read=tuple(round(measured.pages_read) for _, measured, _ in passes),
            modelled=tuple(round(model.pages_read) for _, _, model in passes),
        )
        for name, passes in by_table.items()
    }


def off(tables: Mapping[str, PassSeries]) -> float:
    """The model's absolute error in pages, summed over the passes, as a share of all pages read."""
    wrong = sum(abs(a - b) for table in tables.values() for a, b in zip(table.read, table.modelled, strict=True))
    return wrong / sum(sum(table.read) for table in tables.values())


def rows(table: PassSeries, published: Sequence[float] = (), alike: float = ALIKE_PAGES) -> Iterator[Row]:
    """Cells for `COLUMNS`: one row per pass. Consecutive similar passes share a row, with their medians."""
    groups: list[list[dict[str, float | None]]] = []
    passes = zip_longest(published[: len(table.read)], table.seconds, table.read, table.modelled)
    for number, cells in enumerate(passes, 1):
        row = dict(zip(("pass", "published", "seconds", "read", "model"), (number, *cells), strict=True))
        if number > 2 and _alike(groups[-1][0], row, alike * table.pages):
            groups[-1].append(row)
        else:
            groups.append([row])
    for group in groups:
        first, last = group[0]["pass"], group[-1]["pass"]
        medians = {name: _median([row[name] for row in group]) for name in group[0]}
        yield {**medians, "pass": f"{first}" if first == last else f"{first} to {last}"}


def _alike(one: Mapping[str, Any], other: Mapping[str, Any], pages: float) -> bool:
    theirs = [row["published"] for row in (one, other) if row["published"] is not None]
    near = not theirs or (len(theirs) == 2 and max(theirs) <= ALIKE_SECONDS * min(theirs))
    return near and all(abs(one[name] - other[name]) <= pages for name in ("read", "model"))


def _median(column: Sequence[float | None]) -> float | None:
    values = [value for value in column if value is not None]
    return statistics.median(values) if values else None


def draw(figure: Figure, data: Data, colours: Sequence[str], published_colours: Sequence[str], ratio: float) -> None:
    """Two panels: pages read by each pass, measured and modelled, and the published seconds.

    Args:
        figure: To draw on.
        data: ``pages`` and ``published``, by name.
        colours: Of the lines on the left.
        published_colours: Of those on the right.
        ratio: Width of the left panel by that of the right one.
    """
    left, right = figure.subplots(1, 2, width_ratios=(ratio, 1.0))
    for (name, pages), colour in zip(data["pages"].items(), colours, strict=True):
        numbers = range(1, len(pages["measured"]) + 1)
        left.plot(numbers, pages["measured"], color=colour, label=name, **pictures.MEASURED)
        left.plot(numbers, pages["model"], color=colour, **pictures.MODEL)
    for (name, seconds), colour in zip(data["published"].items(), published_colours, strict=True):
        right.plot(range(1, len(seconds) + 1), seconds, color=colour, label=name, **pictures.PUBLISHED)
    left.plot([], [], color=pictures.INK, label="measured", **pictures.MEASURED)
    left.plot([], [], color=pictures.INK, label="model", **pictures.MODEL)
    pictures.label(left, "pass", "pages read from disk")
    pictures.label(right, "pass", "published, s")
    for axes in (left, right):
        axes.xaxis.set_major_locator(MultipleLocator(1))
        axes.set_ylim(bottom=-0.03 * axes.get_ylim()[1])
