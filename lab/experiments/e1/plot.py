"""The picture of E1: how much faster more threads are."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from lab.harness.records import Data
from lab.reports.pictures import BLUE, GREEN, INK, MEASURED, MODEL, ORANGE, PUBLISHED, label, thousands


def draw(figure: Figure, data: Data) -> None:
    """Two panels: the published table, and its copy in key order."""
    left, right = figure.subplots(1, 2, sharey=True)
    threads = data["threads"]
    left.plot(threads, data["published"], color=ORANGE, label="published, 8.0.14", **PUBLISHED)
    left.plot(threads, data["published_model"], color=ORANGE, label="model of it", **MODEL)
    left.plot(threads, data["grown"], color=BLUE, label="here, 9.7", **MEASURED)
    left.plot(threads, data["grown_model"], color=BLUE, label="model, from one thread", **MODEL)
    left.plot(
        threads,
        data["grown_model_with_its_waits"],
        color=GREEN,
        label="model, reads as slow as they were",
        **MODEL,
    )
    left.set_title("pages as they came", fontsize=11)
    right.plot(threads, data["ordered"], color=BLUE, label="here, 9.7", **MEASURED)
    right.plot(threads, data["ordered_model"], color=BLUE, label="model, from one thread", **MODEL)
    right.set_title("pages in key order", fontsize=11)
    _axes(left, "times as fast as with one thread")
    _axes(right, "")


def _axes(axes: Axes, y: str) -> None:
    label(axes, "reader threads", y)
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(FuncFormatter(thousands))
    axes.axhline(1.0, color=INK, linewidth=0.8)
    axes.set_ylim(bottom=0)
    axes.legend(loc="upper left", fontsize=9)
