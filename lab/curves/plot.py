"""The picture of a workload: measured reads, and those predicted from three sizes, one panel a server."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from lab.campaign.part import Data
from lab.reports.pictures import BLUE, GREEN, INK, ORANGE, thousands

_COLOURS = (BLUE, ORANGE, GREEN)
_TICKS = (0.05, 0.1, 0.2, 0.3, 0.6, 1.2)
_LEFT, _RIGHT, _TOP = 0.04, 1.4, 1.3
"""Ends of the axes: shares of the data, and a multiple of the most reads that were measured."""


def draw(figure: Figure, data: Data) -> None:
    """A panel for each server, with the same scale."""
    panels = data["panels"]
    every = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, panel in zip(every, panels, strict=True):
        axes.set_title(panel["server"], fontsize=11)
        for prediction, colour in zip(panel["predictions"], _COLOURS, strict=False):
            _prediction(axes, prediction, colour)
        axes.plot(*_columns(panel["measured"]), color=INK, marker="o", linewidth=1, markersize=5)
        _scale(axes)
    every[0].set_ylim(0, _TOP * max(reads for panel in panels for _, reads in panel["measured"]))
    every[0].set_ylabel(f"pages read a {data['unit']}")
    every[0].yaxis.set_major_formatter(FuncFormatter(thousands))
    shares = [prediction["share"] for prediction in panels[0]["predictions"]]
    handles = [
        Line2D([], [], color=INK, marker="o", linewidth=1, markersize=5, label="measured"),
        *(
            Line2D([], [], color=colour, linestyle="--", label=f"predicted from {_percent(share)}")
            for share, colour in zip(shares, _COLOURS, strict=False)
        ),
        Line2D([], [], color=INK, marker="x", linestyle="none", markersize=5, label="while that pool filled"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=9)


def _prediction(axes: Axes, prediction: Data, colour: str) -> None:
    """Expected reads, with their bounds, from one size; and what was read while that pool filled."""
    if prediction["sizes"]:
        sizes, expected, low, high = _columns(prediction["sizes"])
        axes.fill_between(sizes, low, high, color=colour, alpha=0.18, linewidth=0)
        axes.plot(sizes, expected, color=colour, linestyle="--", linewidth=1.5)
    axes.plot(*prediction["today"], color=colour, marker="o", markersize=9, linestyle="none", alpha=0.6)
    if prediction["filled"]:
        axes.plot(*_columns(prediction["filled"]), color=colour, marker="x", linestyle="none", markersize=5)


def _scale(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.set_xlim(_LEFT, _RIGHT)
    axes.xaxis.set_major_locator(FixedLocator(_TICKS))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _percent(value)))
    axes.set_xlabel("pool as a share of the data")
    axes.grid(axis="y", color=INK, alpha=0.25)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _columns(rows: list[list[float]]) -> list[list[float]]:
    return [list(column) for column in zip(*rows, strict=True)]
