"""The picture of E4: time and bytes written by buffer and threads."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from lab.harness.records import Data
from lab.reports.pictures import BLUE, INK, ORANGE, thousands

_HEIGHT = 0.36  # of a bar; two a setting


def draw(figure: Figure, data: Data) -> None:
    """Two panels of bars, a pair a setting: times as fast as the first, and bytes written to temporary files."""
    left, right = figure.subplots(1, 2, sharey=True)
    places = range(len(data["settings"]))
    for axes, upper, lower in (
        (left, ("published", "published", ORANGE), ("ours", "here, 9.7", BLUE)),
        (right, ("written", "here, 9.7", BLUE), ("model", "model", INK)),
    ):
        for shift, (name, label, colour) in ((-_HEIGHT / 2, upper), (_HEIGHT / 2, lower)):
            axes.barh([place + shift for place in places], data[name], _HEIGHT, color=colour, label=label)
        axes.grid(axis="x", color=INK, alpha=0.25)
        axes.xaxis.set_major_formatter(FuncFormatter(thousands))
        axes.legend(loc="lower center", ncols=2, fontsize=9, bbox_to_anchor=(0.5, 1.0))
    left.set_yticks(list(places), data["settings"], fontsize=9)
    left.invert_yaxis()
    left.set_ylabel("published buffer, DDL / read threads")
    left.set_xlabel("times as fast as the first")
    right.set_xlabel("MB written to temporary files")
