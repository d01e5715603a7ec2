"""The picture of E5: how fast, and how many pages are read, with change buffering and without."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from lab.harness.records import Data
from lab.reports.pictures import BLUE, INK, ORANGE, PINK, label, thousands

COLOURS = {"none": ORANGE, "all": BLUE}
_WIDTH = 0.38
_NAMES = (
    "oltp_write_only,\nas published,\nfits",
    "oltp_write_only,\nall rows,\nfits",
    "oltp_insert,\ndoes not fit",
    "three random\nkeys,\ndoes not fit",
)


def draw(figure: Figure, data: Data) -> None:
    """Two panels: transactions a second, and pages that a transaction reads."""
    left, right = figure.subplots(1, 2)
    for number, (setting, colour) in enumerate(COLOURS.items()):
        places = [regime + (number - 0.5) * _WIDTH for regime in range(len(_NAMES))]
        bars = {"width": _WIDTH, "color": colour, "label": f"{setting}, here"}
        left.bar(places, data["per_second"][setting], **bars)
        published = data["published"][setting]
        marker = {"color": PINK, "markersize": 9, "markeredgecolor": "white"}
        left.plot(places[0], published, "^", **marker, label=None if number else "published, 8.4.1")
        right.bar(places, data["pages"][setting], **bars)
        model = [(place, pages) for place, pages in zip(places, data["model_pages"][setting], strict=True) if pages]
        right.plot(
            *zip(*model, strict=True),
            linestyle="none",
            marker="s",
            fillstyle="none",
            markersize=9,
            color=INK,
            label=None if number else "model",
        )
    _axes(left, "transactions (or rows) a second")
    _axes(right, "pages read a transaction (or row)")
    right.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.1f}"))


def _axes(axes: Axes, y: str) -> None:
    label(axes, "", y)
    axes.set_axisbelow(True)
    axes.set_xticks(range(len(_NAMES)), _NAMES, fontsize=8)
    axes.yaxis.set_major_formatter(FuncFormatter(thousands))
    axes.legend(loc="upper left", fontsize=9)
