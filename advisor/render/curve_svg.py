"""The miss curve as a picture: an SVG that loads nothing, for light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
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


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the plot: its class, its name in the legend, and its points in bytes and reads."""

    kind: str
    name: str
    points: list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class _Scales:
    """Bytes and reads to pixels: bytes by their logarithm.

    Attributes:
        smallest, largest: Bytes at both ends.
        step: Reads between two lines of the grid.
        most: Reads at the top.
    """

    smallest: float
    largest: float
    step: float
    most: float

    @classmethod
    def of(cls, curve: MissCurve) -> _Scales:
        sizes = [float(size.bytes) for size in curve.sizes]
        sizes += [float(filled.bytes) for filled in curve.filled if filled.bytes > 0]
        reads = [float(size.pages_read_per_second.high) for size in curve.sizes]
        reads += [float(filled.pages_read_per_second) for filled in curve.filled]
        smallest, largest = min(sizes), max(sizes)
        if smallest == largest:
            smallest, largest = smallest / 2, largest * 2
        most = max(*reads, float(curve.pages_read_per_second))
        step = _round_step(most)
        return cls(smallest, largest, step, step * max(1, math.ceil(most / step)))

    def x(self, size: float) -> float:
        share = math.log(size / self.smallest) / math.log(self.largest / self.smallest)
        return round(_LAYOUT.left + share * (_LAYOUT.right - _LAYOUT.left), 1)

    def y(self, reads: float) -> float:
        return round(_LAYOUT.top + _LAYOUT.height * (1 - reads / self.most), 1)

    def line(self, points: Iterable[tuple[float, float]]) -> str:
        """The attribute ``points``."""
        return " ".join(f"{self.x(size)},{self.y(reads)}" for size, reads in points)


def svg(curve: MissCurve) -> str:
    """The picture as a document."""
    scales, lines = _Scales.of(curve), tuple(_lines(curve))
    keys = [("expected", "expected"), ("band", "low to high")]
    keys.append(("measured", f"today: {value_text(curve.pages_read_per_second)} measured"))
    keys += [("filled", "measured while the pool filled")] if curve.filled else []
    keys += [(line.kind, line.name) for line in lines]
    bottom = _LAYOUT.top + _LAYOUT.height + 3 * _LAYOUT.line
    height = bottom + _LAYOUT.line * (math.ceil(len(keys) / 2) + 1)
    root = ET.Element(
        "svg", {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {_LAYOUT.width:g} {height:g}", "role": "img"}
    )
    sizes = "; ".join(f"{size.name}: {_reads(size.pages_read_per_second)}" for size in curve.sizes)
    about = f"innodb_buffer_pool_size is {exact_binary(curve.pool_bytes)}. Pages read a second: {sizes}."
    ET.SubElement(root, "title").text = "Pages read from disk a second, by the size of the buffer pool"
    ET.SubElement(root, "desc").text = about
    ET.SubElement(root, "style").text = STYLE
    _put(root, "rect", "paper", width="100%", height="100%")
    _label(root, 16, 24, shortened(curve.server, 60), "title")
    _label(
        root,
        16,
        24 + _LAYOUT.line,
        f"pages read from disk a second; watched {duration(curve.watched_seconds)}",
        "quiet",
    )
    _axes(root, curve, scales)
    _plot(root, curve, scales, lines)
    for number, (kind, name) in enumerate(keys):
        _key(root, 16 + number % 2 * _LAYOUT.width / 2, bottom + _LAYOUT.line * (number // 2 + 0.5), kind, name)
    return ET.tostring(root, encoding="unicode") + "\n"


def _lines(curve: MissCurve) -> Iterator[_Line]:
    """The lines beside that of the expected reads."""
    if curve.scanned:
        points = [(float(size.bytes), float(size.scan_pages_read_per_second)) for size in curve.sizes]
        yield _Line("scans", "of these, by full scans", points)
    first = curve.first_pages_read_per_second
    if first.high:
        points = [(float(size.bytes), float(first.expected)) for size in curve.sizes]
        yield _Line("first", "read for the first time: no pool saves it", points)
    for number, (table, reads) in enumerate([*curve.by_table().items()][: _LAYOUT.tables]):
        points = [(float(size.bytes), float(reads[size.times])) for size in curve.sizes if size.times in reads]
        yield _Line(f"t{number}", f"{shortened(table, _LAYOUT.name)}, without full scans", points)


def _axes(root: ET.Element, curve: MissCurve, scales: _Scales) -> None:
    for number in range(round(scales.most / scales.step) + 1):
        y = scales.y(number * scales.step)
        _put(root, "line", "grid", x1=_LAYOUT.left, x2=_LAYOUT.right, y1=y, y2=y)
        _label(root, _LAYOUT.left - 8, y + 4, _short(number * scales.step), "quiet end")
    bottom = _LAYOUT.top + _LAYOUT.height
    taken: list[float] = []
    for size in sorted(curve.sizes, key=lambda size: size.times != 1):  # today's first
        x = scales.x(size.bytes)
        if all(abs(x - other) >= _LAYOUT.apart for other in taken):
            taken.append(x)
            edge = "end" if x > _LAYOUT.right - _LAYOUT.apart / 2 else "middle"
            _label(root, x, bottom + _LAYOUT.line, binary(size.bytes), edge)
            _label(root, x, bottom + 2 * _LAYOUT.line, size.name, f"quiet {edge}")


def _plot(root: ET.Element, curve: MissCurve, scales: _Scales, lines: Sequence[_Line]) -> None:
    today = scales.x(curve.pool_bytes)
    low, expected, high = (
        [(float(size.bytes), float(getattr(size.pages_read_per_second, bound))) for size in curve.sizes]
        for bound in ("low", "expected", "high")
    )
    _put(root, "polygon", "band", points=scales.line([*high, *reversed(low)]))
    _put(root, "line", "today", x1=today, x2=today, y1=_LAYOUT.top, y2=_LAYOUT.top + _LAYOUT.height)
    for line in (*lines, _Line("expected", "", expected)):
        _put(root, "polyline", line.kind, points=scales.line(line.points))
    for size, (_, reads) in zip(curve.sizes, expected, strict=True):
        dot = _dot(root, "size", 3.5, scales.x(size.bytes), scales.y(reads))
        tip = f"{binary(size.bytes)}, {size.name}: {_reads(size.pages_read_per_second)}"
        ET.SubElement(dot, "title").text = tip
    for filled in curve.filled:
        if filled.bytes > 0:
            _dot(root, "filled", 3, scales.x(filled.bytes), scales.y(filled.pages_read_per_second))
    _dot(root, "measured", 5, today, scales.y(curve.pages_read_per_second))


def _key(root: ET.Element, x: float, y: float, kind: str, name: str) -> None:
    """An entry of the legend."""
    match kind:
        case "band":
            _put(root, "rect", kind, x=x, y=y - 6, width=24, height=12)
        case "measured" | "filled":
            _dot(root, kind, 4, x + 12, y)
        case _:
            _put(root, "polyline", kind, points=f"{x:g},{y:g} {x + 24:g},{y:g}")
    _label(root, x + 32, y + 4, name, "")


def _reads(reads: ExpectedReads) -> str:
    return f"{value_text(reads.expected)} ({value_text(reads.low)} to {value_text(reads.high)})"


def _put(parent: ET.Element, tag: str, kind: str, **attributes: float | str) -> ET.Element:
    """A new element of this class."""
    written = {key: value if isinstance(value, str) else f"{value:g}" for key, value in attributes.items()}
    return ET.SubElement(parent, tag, {"class": kind, **written})


def _dot(parent: ET.Element, kind: str, radius: float, x: float, y: float) -> ET.Element:
    return _put(parent, "circle", kind, cx=x, cy=y, r=radius)


def _label(parent: ET.Element, x: float, y: float, text: str, kind: str) -> None:
    _put(parent, "text", kind, x=x, y=y).text = visible(text)


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
