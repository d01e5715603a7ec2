"""The picture of E3."""

from __future__ import annotations

from matplotlib.figure import Figure

from lab.experiments.passes import draw_pages, draw_seconds, finish
from lab.harness.records import Data
from lab.reports.pictures import BLUE, GREEN, ORANGE, PINK


def draw(figure: Figure, data: Data) -> None:
    """On the left what each pass read, by server and setting; on the right what was published."""
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    for (name, pages), colour in zip(data["pages"].items(), (GREEN, BLUE, PINK, ORANGE), strict=True):
        draw_pages(left, name, colour, pages["measured"], pages["model"])
    for (name, seconds), colour in zip(data["published"].items(), (BLUE, ORANGE), strict=True):
        draw_seconds(right, name, colour, seconds)
    finish(left, right)
    left.set_title("here: a pool of 256 MiB", fontsize=11)
    right.set_title("published: MySQL 5.6, a pool of 2 GB", fontsize=11)
    left.legend(loc="upper center", ncols=3, fontsize=8, bbox_to_anchor=(0.5, -0.16))
    right.legend(loc="upper right", fontsize=9)
