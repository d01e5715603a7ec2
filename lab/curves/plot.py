"""The picture of a workload: measured and predicted reads by size of the pool, one panel a server."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from lab.harness.records import Data
from lab.reports.pictures import BLUE, INK

_TICKS = (0.5, 0.75, 1, 1.5, 2, 3)
_LEFT, _RIGHT, _TOP = 0.45, 3.3, 1.2
"""Ends of the axes: multiples of today's size, and of the most reads that were measured."""


def draw(figure: Figure, data: Data) -> None:
    """A panel for each server, with the same scale."""
    panels = data["panels"]
    every = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, panel in zip(every, panels, strict=True):
        axes.set_title(panel["server"], fontsize=11)
        sizes, expected, low, high = _columns(panel["predicted"])
        axes.fill_between(sizes, low, high, color=BLUE, alpha=0.18, linewidth=0, label="low to high")
        axes.plot(sizes, expected, color=BLUE, linestyle="--", linewidth=1.5, label="expected")
        axes.plot(*_columns(panel["measured"]), color=INK, marker="o", linewidth=1, markersize=5, label="measured")
        _scale(axes)
    every[0].set_ylim(0, _TOP * max(reads for panel in panels for _, reads in panel["measured"]))
    every[0].set_ylabel("pages read, as a share of today's")
    every[0].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f} %"))
    handles, labels = every[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=9)


def _scale(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_xlim(_LEFT, _RIGHT)
    axes.xaxis.set_major_locator(FixedLocator(_TICKS))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} ×"))
    axes.set_xlabel("size of the pool, as a multiple of today's")
    axes.grid(axis="y", color=INK, alpha=0.25)


def _columns(rows: list[list[float]]) -> list[list[float]]:
    return [list(column) for column in zip(*rows, strict=True)]
