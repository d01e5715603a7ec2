"""The miss curve as a picture: an SVG that loads nothing, for light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from advisor.contract.templates import binary, duration, exact_binary, value_text
from advisor.contract.visible import visible
from advisor.pool.curve import ExpectedReads, MissCurve
from advisor.render.phrases import shortened


@dataclass(frozen=True, slots=True)
class PictureLayout:
    """Where things are in the picture, pixels: wide enough for seven sizes, and for a table's name in the legend.

    Attributes:
        width: Of the picture.
        left, right, top, height: Of the plot in it.
        line: Height of a line of text.
        apart: Least distance of two labels of the x axis.
        tables: Tables with a line of their own; JSON has all of them.
        name: Characters of a name in the legend.
    """

    width: float = 720.0
    left: float = 78.0
    right: float = 700.0
    top: float = 58.0
    height: float = 340.0
    line: float = 18.0
    apart: float = 48.0
    tables: int = 5
    name: int = 48


_LAYOUT = PictureLayout()
STYLE = """
svg { --paper: #fff; --ink: #222; --quiet: #666; --grid: #ddd; --curve: #0072b2; --point: #d55e00;
  --t0: #009e73; --t1: #cc79a7; --t2: #b8860b; --t3: #6a5acd; --t4: #8b4513; }
@media (prefers-color-scheme: dark) { svg { --paper: #16181c; --ink: #eee; --quiet: #aaa; --grid: #3a3d42;
  --curve: #56b4e9; --point: #ff9c54; --t0: #3ccfa3; --t1: #e7a7cb; --t2: #e6b84a; --t3: #a79bff; --t4: #d89a6a; } }
text { font: 12px system-ui, sans-serif; fill: var(--ink); } .title { font-size: 15px; font-weight: 600; }
.quiet { fill: var(--quiet); } .end { text-anchor: end; } .middle { text-anchor: middle; }
.paper { fill: var(--paper); } .grid { stroke: var(--grid); }
.today { stroke: var(--quiet); stroke-dasharray: 2 4; }
.band { fill: var(--curve); opacity: .2; } polyline { fill: none; stroke-width: 1.5; }
.expected { stroke: var(--curve); stroke-width: 2.5; } .size { fill: var(--curve); }
.scans { stroke: var(--quiet); stroke-dasharray: 8 4; } .first { stroke: var(--point); stroke-dasharray: 1 4; }
.measured { fill: var(--point); } .filled { fill: none; stroke: var(--point); stroke-width: 1.5; }
.t0 { stroke: var(--t0); } .t1 { stroke: var(--t1); } .t2 { stroke: var(--t2); } .t3 { stroke: var(--t3); }
.t4 { stroke: var(--t4); }
"""


Points = Sequence[tuple[float, float]]
"""Bytes and reads of each point."""


class _Picture:
    """The SVG element and its axes: bytes by their logarithm, reads from 0 to a round number."""

    def __init__(self, sizes: Sequence[float], most_reads: float, height: float) -> None:
        self.root = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img"})
        self.root.set("viewBox", f"0 0 {_LAYOUT.width:g} {height:g}")
        margin = 2 if min(sizes) == max(sizes) else 1
        self._smallest, self._largest = min(sizes) / margin, max(sizes) * margin
        self.step = _round_step(most_reads)
        self.steps = max(1, math.ceil(most_reads / self.step))

    def x(self, size: float) -> float:
        share = math.log(size / self._smallest) / math.log(self._largest / self._smallest)
        return round(_LAYOUT.left + share * (_LAYOUT.right - _LAYOUT.left), 1)

    def y(self, reads: float) -> float:
        return round(_LAYOUT.top + _LAYOUT.height * (1 - reads / (self.step * self.steps)), 1)

    def put(self, tag: str, kind: str, **attributes: float | str) -> ET.Element:
        """A new element of this class."""
        texts = {key: value if isinstance(value, str) else f"{value:g}" for key, value in attributes.items()}
        return ET.SubElement(self.root, tag, {"class": kind, **texts})

    def dot(self, kind: str, radius: float, x: float, y: float) -> ET.Element:
        return self.put("circle", kind, cx=x, cy=y, r=radius)

    def label(self, x: float, y: float, text: str, kind: str = "") -> None:
        self.put("text", kind, x=x, y=y).text = visible(text)

    def draw(self, tag: str, kind: str, points: Points) -> None:
        """A line or an area."""
        self.put(tag, kind, points=" ".join(f"{self.x(size)},{self.y(reads)}" for size, reads in points))


def svg(curve: MissCurve) -> str:
    """The picture as a document."""
    lines = [*_lines(curve)]
    keys = [("expected", "expected"), ("band", "low to high")]
    keys.append(("measured", f"today: {value_text(curve.pages_read_per_second)} measured"))
    keys += [("filled", "measured while the pool filled")] if curve.filled else []
    keys += [(kind, name) for kind, name, _ in lines]
    bottom = _LAYOUT.top + _LAYOUT.height + 3 * _LAYOUT.line
    filled = [(float(point.bytes), float(point.pages_read_per_second)) for point in curve.filled if point.bytes > 0]
    picture = _Picture(
        [*(float(size.bytes) for size in curve.sizes), *(size for size, _ in filled)],
        max(
            float(curve.pages_read_per_second),
            *(float(size.pages_read_per_second.high) for size in curve.sizes),
            *(reads for _, reads in filled),
        ),
        bottom + _LAYOUT.line * (math.ceil(len(keys) / 2) + 1),
    )
    _describe(picture, curve)
    _draw_axes(picture, curve)
    _draw_curve(picture, curve, lines)
    for size, reads in filled:
        picture.dot("filled", 3, picture.x(size), picture.y(reads))
    picture.dot("measured", 5, picture.x(curve.pool_bytes), picture.y(curve.pages_read_per_second))
    for number, (kind, name) in enumerate(keys):
        _draw_key(picture, 16 + number % 2 * _LAYOUT.width / 2, bottom + _LAYOUT.line * (number // 2 + 0.5), kind, name)
    return ET.tostring(picture.root, encoding="unicode") + "\n"


def _lines(curve: MissCurve) -> Iterator[tuple[str, str, Points]]:
    """The lines beside that of the expected reads: class, name and points."""
    if curve.scanned:
        points = [(float(size.bytes), float(size.scan_pages_read_per_second)) for size in curve.sizes]
        yield "scans", "of these, by full scans", points
    first = curve.first_pages_read_per_second
    if first.high:
        points = [(float(size.bytes), float(first.expected)) for size in curve.sizes]
        yield "first", "read for the first time: no pool saves it", points
    for number, (table, reads) in enumerate([*curve.by_table().items()][: _LAYOUT.tables]):
        points = [(float(size.bytes), float(reads[size.times])) for size in curve.sizes if size.times in reads]
        yield f"t{number}", f"{shortened(table, _LAYOUT.name)}, without full scans", points


def _describe(picture: _Picture, curve: MissCurve) -> None:
    """The texts above the plot, and those for readers who do not see it."""
    sizes = "; ".join(f"{size.name}: {_reads(size.pages_read_per_second)}" for size in curve.sizes)
    about = f"innodb_buffer_pool_size is {exact_binary(curve.pool_bytes)}. Pages read a second: {sizes}."
    ET.SubElement(picture.root, "title").text = "Pages read from disk a second, by the size of the buffer pool"
    ET.SubElement(picture.root, "desc").text = about
    ET.SubElement(picture.root, "style").text = STYLE
    picture.put("rect", "paper", width="100%", height="100%")
    picture.label(16, 24, shortened(curve.server, 60), "title")
    watched = f"pages read from disk a second; watched {duration(curve.watched_seconds)}"
    picture.label(16, 24 + _LAYOUT.line, watched, "quiet")


def _draw_axes(picture: _Picture, curve: MissCurve) -> None:
    for number in range(picture.steps + 1):
        y = picture.y(number * picture.step)
        picture.put("line", "grid", x1=_LAYOUT.left, x2=_LAYOUT.right, y1=y, y2=y)
        picture.label(_LAYOUT.left - 8, y + 4, _short(number * picture.step), "quiet end")
    bottom = _LAYOUT.top + _LAYOUT.height
    taken: list[float] = []
    for size in sorted(curve.sizes, key=lambda size: size.times != 1):  # today's first
        x = picture.x(size.bytes)
        if all(abs(x - other) >= _LAYOUT.apart for other in taken):
            taken.append(x)
            edge = "end" if x > _LAYOUT.right - _LAYOUT.apart / 2 else "middle"
            picture.label(x, bottom + _LAYOUT.line, binary(size.bytes), edge)
            picture.label(x, bottom + 2 * _LAYOUT.line, size.name, f"quiet {edge}")


def _draw_curve(picture: _Picture, curve: MissCurve, lines: Sequence[tuple[str, str, Points]]) -> None:
    today = picture.x(curve.pool_bytes)
    low, expected, high = (
        [(float(size.bytes), float(getattr(size.pages_read_per_second, bound))) for size in curve.sizes]
        for bound in ("low", "expected", "high")
    )
    picture.draw("polygon", "band", [*high, *reversed(low)])
    picture.put("line", "today", x1=today, x2=today, y1=_LAYOUT.top, y2=_LAYOUT.top + _LAYOUT.height)
    for kind, _, points in (*lines, ("expected", "", expected)):
        picture.draw("polyline", kind, points)
    for size, (_, reads) in zip(curve.sizes, expected, strict=True):
        dot = picture.dot("size", 3.5, picture.x(size.bytes), picture.y(reads))
        tip = f"{binary(size.bytes)}, {size.name}: {_reads(size.pages_read_per_second)}"
        ET.SubElement(dot, "title").text = tip


def _draw_key(picture: _Picture, x: float, y: float, kind: str, name: str) -> None:
    """An entry of the legend."""
    match kind:
        case "band":
            picture.put("rect", kind, x=x, y=y - 6, width=24, height=12)
        case "measured" | "filled":
            picture.dot(kind, 4, x + 12, y)
        case _:
            picture.put("polyline", kind, points=f"{x:g},{y:g} {x + 24:g},{y:g}")
    picture.label(x + 32, y + 4, name)


def _reads(reads: ExpectedReads) -> str:
    return f"{value_text(reads.expected)} ({value_text(reads.low)} to {value_text(reads.high)})"


def _round_step(most: float) -> float:
    """A round step with at most six of them up to ``most``."""
    if most <= 0:
        return 1.0
    least = most / 5
    power = 10.0 ** math.floor(math.log10(least))
    return next(digit * power for digit in (1.0, 2.0, 5.0, 10.0) if digit * power >= least * 0.999)


def _short(value: float) -> str:
    """``1.5M``: a number for an axis."""
    for unit in ("", "k", "M", "G"):
        if value < 1000:
            return f"{value:.3g}{unit}"
        value /= 1000
    return f"{value:,.0f}T"
