"""The style of the pictures: readable on white and on black; the same numbers give the same file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

FOLDER = Path(__file__).parents[2] / "docs/img"

INK = "#777777"  # on white and on black alike
BLUE, ORANGE, GREEN, PINK = "#0072b2", "#d55e00", "#009e73", "#cc79a7"  # Okabe and Ito: for the colour-blind too
MEASURED: Mapping[str, Any] = {"marker": "o", "linestyle": "-"}
MODEL: Mapping[str, Any] = {"marker": "s", "linestyle": "--", "fillstyle": "none", "markersize": 9}
PUBLISHED: Mapping[str, Any] = {"marker": "^", "linestyle": ":"}
"""Line styles by the origin of the numbers."""

STYLE = {
    "svg.hashsalt": "innodb-advisor",
    "svg.fonttype": "none",
    "font.size": 11,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.labelcolor": INK,
} | dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK)
_DESCRIPTION = "{http://purl.org/dc/elements/1.1/}description"

Draw = Callable[[Figure, Mapping[str, Any]], None]


def save(draw: Draw, data: Mapping[str, Any], size: tuple[float, float], path: Path) -> None:
    """Draw a picture as SVG or PNG, by the path's suffix.

    Args:
        draw: Draws the numbers.
        data: The numbers; an SVG holds them in its description, as JSON.
        size: Inches.
        path: The file. The same numbers give the same SVG.
    """
    with mpl.rc_context(STYLE):  # type: ignore[arg-type]
        figure = Figure(figsize=size, layout="constrained")
        draw(figure, data)
        if path.suffix == ".svg":
            described = {"Date": None, "Creator": None, "Title": path.stem, "Description": json.dumps(data)}
            figure.savefig(path, format="svg", transparent=True, metadata=described)
        else:
            figure.savefig(path, format="png", transparent=True, dpi=110, metadata={"Software": None})


def shown(path: Path) -> Any:
    """The numbers in an SVG's description."""
    element = ET.parse(path).find(f".//{_DESCRIPTION}")  # noqa: S314 - our own files
    if element is None or element.text is None:
        raise ValueError(f"{path.name} has no numbers")
    return json.loads(element.text)


def label(axes: Axes, x: str, y: str) -> None:
    """Name the axes, with their units, and add horizontal grid lines."""
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(axis="y", color=INK, alpha=0.25)
    axes.yaxis.set_major_formatter(FuncFormatter(thousands))


def thousands(value: float, _position: int | None) -> str:
    """A tick's text: 11,491, or 0.5."""
    return f"{value:,.0f}" if value == int(value) else f"{value:g}"
