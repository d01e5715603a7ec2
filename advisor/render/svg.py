"""Parts of pictures: elements, texts and round numbers of an SVG that loads nothing, for light and dark pages."""

from __future__ import annotations

import math
from xml.etree import ElementTree as ET

from advisor.contract.visible import visible, visible_lines

LINE = 18.0
"""Height of a line of text, pixels."""
COLOURS = """
svg { --paper: #fff; --ink: #222; --quiet: #666; --grid: #ddd; --curve: #0072b2; --point: #d55e00;
  --t0: #009e73; --t1: #cc79a7; --t2: #b8860b; --t3: #6a5acd; --t4: #8b4513; }
@media (prefers-color-scheme: dark) { svg { --paper: #16181c; --ink: #eee; --quiet: #aaa; --grid: #3a3d42;
  --curve: #56b4e9; --point: #ff9c54; --t0: #3ccfa3; --t1: #e7a7cb; --t2: #e6b84a; --t3: #a79bff; --t4: #d89a6a; } }
text { font: 12px system-ui, sans-serif; fill: var(--ink); } .title { font-size: 15px; font-weight: 600; }
.quiet { fill: var(--quiet); } .end { text-anchor: end; } .middle { text-anchor: middle; }
.paper { fill: var(--paper); } .grid { stroke: var(--grid); }
"""
"""What all pictures share of their style."""
_LONGEST_NAME = 48
_STEPS = (1.0, 2.0, 5.0, 10.0)


def picture(width: float, height: float, title: str, description: str, style: str) -> ET.Element:
    """An empty picture on paper; sizes in pixels."""
    root = ET.Element(
        "svg", {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {width:g} {height:g}", "role": "img"}
    )
    text(root, "title", title)
    text(root, "desc", description)
    text(root, "style", style)
    put(root, "rect", "paper", width="100%", height="100%")
    return root


def document(root: ET.Element) -> str:
    """The picture as a document."""
    return ET.tostring(root, encoding="unicode") + "\n"


def put(parent: ET.Element, tag: str, kind: str, **attributes: float | str) -> ET.Element:
    """A new element of this class."""
    written = {key: each if isinstance(each, str) else f"{each:g}" for key, each in attributes.items()}
    return ET.SubElement(parent, tag, {"class": kind, **written})


def dot(parent: ET.Element, kind: str, radius: float, x: float, y: float) -> ET.Element:
    """A new circle."""
    return put(parent, "circle", kind, cx=x, cy=y, r=radius)


def label(parent: ET.Element, x: float, y: float, content: str, kind: str) -> None:
    """A new text at a place."""
    put(parent, "text", kind, x=x, y=y).text = visible(content)


def text(parent: ET.Element, tag: str, content: str) -> None:
    """A new element with a text and nothing else."""
    ET.SubElement(parent, tag).text = visible_lines(content)


def step(most: float) -> float:
    """A round step with at most six of them up to ``most``."""
    if most <= 0:
        return 1.0
    least = most / 5
    power = 10.0 ** math.floor(math.log10(least))
    return next(each * power for each in _STEPS if each * power >= least * 0.999)


def short(value: float) -> str:
    """``1.5M``: a number for an axis."""
    for unit in ("", "k", "M", "G"):
        if value < 1000:
            return f"{value:.3g}{unit}"
        value /= 1000
    return f"{value:,.0f}T"


def shortened(name: str, longest: int = _LONGEST_NAME) -> str:
    """A name that shows, with at most so many characters."""
    name = visible(name)
    return name if len(name) <= longest else f"{name[: longest - 1]}…"
