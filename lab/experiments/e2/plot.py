"""The picture of E2."""

from __future__ import annotations

from matplotlib.figure import Figure

from lab.experiments.passes import draw_pages, draw_seconds, finish
from lab.harness.records import Data
from lab.reports.pictures import BLUE, GREEN, INK, ORANGE, PINK

COLOURS = (BLUE, PINK, ORANGE, GREEN, INK)
"""The colours of cases 1 to 5."""


def draw(figure: Figure, data: Data) -> None:
    """The table counted last: pages read by each pass on the left, published seconds on the right."""
    left, right = figure.subplots(1, 2)
    for (name, pages), colour in zip(data["pages"].items(), COLOURS, strict=True):
        draw_pages(left, f"case {name}", colour, pages["measured"], pages["model"])
    for (name, seconds), colour in zip(data["published"].items(), COLOURS, strict=True):
        draw_seconds(right, name, colour, seconds)
    finish(left, right)
    left.set_title("here: the table counted last", fontsize=11)
    right.set_title("published", fontsize=11)
    for axes in (left, right):
        axes.legend(loc="upper center", ncols=2, fontsize=8, bbox_to_anchor=(0.5, -0.16))
