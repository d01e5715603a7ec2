"""Passes over tables, shared by E2 and E3: measured, modelled and published."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MultipleLocator

from advisor.models.lru import simulation
from advisor.models.lru.scenario import Pass, Scan, Set
from lab.experiments.base import Cell, Column
from lab.harness.records import Data
from lab.lru_scenarios import PlayedScenario, restored
from lab.reports import pictures

CACHED = 0.01
"""A pass that reads less than this share of its table found it in the pool."""
ALIKE_PAGES, ALIKE_SECONDS = 0.01, 1.5
"""Passes share a row while their pages differ by at most this share of the table, and the published seconds by at most
this ratio."""

COLUMNS = (
    Column("pass"),
    Column("published, s", ",.2f"),
    Column("ours, s", ",.2f"),
    Column("pages read"),
    Column("model, pages"),
)


@dataclass(frozen=True)
class PassSeries:
    """The passes over one table, in order.

    Attributes:
        pages: The table's pages.
        seconds: Duration of each pass.
        measured, model: The server's counters for each pass, and the model's.
    """

    pages: int
    seconds: tuple[float, ...]
    measured: tuple[Pass, ...]
    model: tuple[Pass, ...]

    @property
    def read(self) -> list[int]:
        """Pages read by each pass."""
        return [round(each.pages_read) for each in self.measured]

    @property
    def modelled(self) -> list[int]:
        """Pages read by each pass, by the model."""
        return [round(each.pages_read) for each in self.model]

    @property
    def cached_at(self) -> int:
        """The first pass that found the table in the pool; the number of passes + 1 if none did."""
        return self._cached_at(self.read)

    @property
    def says_cached_at(self) -> int:
        """The same by the model."""
        return self._cached_at(self.modelled)

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
        return max(each.free_pages for each in self.measured[1:])

    def _cached_at(self, read: Sequence[int]) -> int:
        found = (number for number, pages in enumerate(read, 1) if pages < CACHED * self.pages)
        return next(found, len(read) + 1)


def series(data: Data) -> dict[str, PassSeries]:
    """The passes of a played scenario by table, in the order of their first passes."""
    played: PlayedScenario = restored(data)
    steps = [step for step in played.scenario.flat() if not isinstance(step, Set)][1:]
    passes = zip(steps, played.passes, simulation.simulate(played.scenario).passes[1:], strict=True)
    found: dict[str, list[tuple[Scan, Pass, Pass]]] = {}
    for step, measured, model in passes:
        assert isinstance(step, Scan)  # noqa: S101 - E2 and E3 scan
        found.setdefault(step.scan, []).append((step, measured, model))
    return {
        name: PassSeries(
            pages=each[0][0].pages,
            seconds=tuple(step.seconds for step, _, _ in each),
            measured=tuple(measured for _, measured, _ in each),
            model=tuple(model for _, _, model in each),
        )
        for name, each in found.items()
    }


def off(found: Mapping[str, PassSeries]) -> float:
    """The model's absolute error in pages, summed over the passes, as a share of all pages read."""
    wrong = sum(abs(a - b) for each in found.values() for a, b in zip(each.read, each.modelled, strict=True))
    return wrong / sum(sum(each.read) for each in found.values())


def rows(found: PassSeries, published: Sequence[float] = (), alike: float = ALIKE_PAGES) -> Iterator[tuple[Cell, ...]]:
    """Cells for `COLUMNS`: one row per pass. Consecutive similar passes share a row, with their medians."""
    groups: list[list[tuple[int, float | None, float, int, int]]] = []
    passes = zip_longest(published[: len(found.read)], found.seconds, found.read, found.modelled)
    for number, (theirs, ours, read, model) in enumerate(passes, 1):
        one = (number, theirs, ours, read, model)
        if number > 2 and _alike(groups[-1][0], one, alike * found.pages):
            groups[-1].append(one)
        else:
            groups.append([one])
    for group in groups:
        numbers, *columns = zip(*group, strict=True)
        name = f"{numbers[0]}" if len(group) == 1 else f"{numbers[0]} to {numbers[-1]}"
        yield name, *(None if None in column else statistics.median(column) for column in columns)


def _alike(one: tuple[Any, ...], other: tuple[Any, ...], pages: float) -> bool:
    if (one[1] is None) != (other[1] is None):
        return False
    near = one[1] is None or max(one[1], other[1]) <= ALIKE_SECONDS * min(one[1], other[1])
    return near and all(abs(a - b) <= pages for a, b in zip(one[3:], other[3:], strict=True))


def draw_pages(axes: Axes, name: str, colour: str, measured: Sequence[float], model: Sequence[float]) -> None:
    """Draw the pages read by each pass, measured and modelled."""
    passes = range(1, len(measured) + 1)
    axes.plot(passes, measured, color=colour, label=name, **pictures.MEASURED)
    axes.plot(passes, model, color=colour, **pictures.MODEL)


def draw_seconds(axes: Axes, name: str, colour: str, seconds: Sequence[float]) -> None:
    """Draw the published seconds of each pass."""
    axes.plot(range(1, len(seconds) + 1), seconds, color=colour, label=name, **pictures.PUBLISHED)


def finish(pages: Axes, seconds: Axes) -> None:
    """Label the axes, and add the legend of measured and modelled lines."""
    pages.plot([], [], color=pictures.INK, label="measured", **pictures.MEASURED)
    pages.plot([], [], color=pictures.INK, label="model", **pictures.MODEL)
    pictures.label(pages, "pass", "pages read from disk")
    pictures.label(seconds, "pass", "published, s")
    for axes in (pages, seconds):
        axes.xaxis.set_major_locator(MultipleLocator(1))
        axes.set_ylim(bottom=-0.03 * axes.get_ylim()[1])
