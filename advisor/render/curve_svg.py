"""The miss curve as a picture: an SVG that loads nothing, for light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from advisor.contract.recommendation import Number
from advisor.contract.templates import binary, duration, exact_binary
from advisor.contract.visible import visible, visible_lines
from advisor.pool.answer import MissCurve, PoolSize, Reads
from advisor.render.phrases import shortened, value_text

_WIDTH, _LEFT, _RIGHT, _TOP, _HEIGHT = 720.0, 78.0, 700.0, 58.0, 340.0
"""Of the picture, and of the plot in it; pixels."""
_LINE, _APART = 18.0, 48.0
"""Height of a line of text, and the least distance of two labels of the x axis; pixels."""
_TABLES = 5
"""Tables with a line of their own; JSON has all of them."""
_LONGEST_NAME = 48
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
class _Scales:
    """Bytes and reads to pixels: bytes by their logarithm.

    Attributes:
        smallest, largest: Bytes at both ends.
        most: Reads at the top.
    """

    smallest: float
    largest: float
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
        apart = _step(max(*reads, float(curve.pages_read_per_second)))
        return cls(smallest, largest, apart * math.ceil(max(*reads, float(curve.pages_read_per_second), apart) / apart))

    def x(self, size: float) -> float:
        share = math.log(size / self.smallest) / math.log(self.largest / self.smallest)
        return round(_LEFT + share * (_RIGHT - _LEFT), 1)

    def y(self, reads: float) -> float:
        return round(_TOP + _HEIGHT * (1 - reads / self.most), 1)

    def line(self, points: Iterable[tuple[float, float]]) -> str:
        """The attribute ``points``."""
        return " ".join(f"{self.x(size)},{self.y(reads)}" for size, reads in points)


def svg(curve: MissCurve) -> str:
    """The picture as a document."""
    scales, keys = _Scales.of(curve), tuple(_keys(curve))
    bottom = _TOP + _HEIGHT + 3 * _LINE
    height = bottom + _LINE * (math.ceil(len(keys) / 2) + 1)
    root = ET.Element(
        "svg", {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {_WIDTH:g} {height:g}", "role": "img"}
    )
    _text(root, "title", "Pages read from disk a second, by the size of the buffer pool")
    _text(root, "desc", _description(curve))
    _text(root, "style", STYLE)
    _put(root, "rect", "paper", width="100%", height="100%")
    _label(root, 16, 24, shortened(curve.server, 60), "title")
    _label(root, 16, 24 + _LINE, f"pages read from disk a second; watched {duration(curve.watched_seconds)}", "quiet")
    _axes(root, curve, scales)
    _plot(root, curve, scales)
    for number, (kind, name) in enumerate(keys):
        _key(root, 16 + number % 2 * _WIDTH / 2, bottom + _LINE * (number // 2 + 0.5), kind, name)
    return ET.tostring(root, encoding="unicode") + "\n"


def _axes(root: ET.Element, curve: MissCurve, scales: _Scales) -> None:
    apart = _step(scales.most)
    for number in range(round(scales.most / apart) + 1):
        at = scales.y(number * apart)
        _put(root, "line", "grid", x1=_LEFT, x2=_RIGHT, y1=at, y2=at)
        _label(root, _LEFT - 8, at + 4, _short(number * apart), "quiet end")
    bottom = _TOP + _HEIGHT
    taken: list[float] = []
    for size in sorted(curve.sizes, key=lambda size: size.times != 1):  # today's first
        at = scales.x(size.bytes)
        if all(abs(at - other) >= _APART for other in taken):
            taken.append(at)
            edge = " end" if at > _RIGHT - _APART / 2 else " middle"
            _label(root, at, bottom + _LINE, binary(size.bytes), edge.strip())
            _label(root, at, bottom + 2 * _LINE, size.name, f"quiet{edge}")


def _plot(root: ET.Element, curve: MissCurve, scales: _Scales) -> None:
    sizes, today = curve.sizes, scales.x(curve.pool_bytes)
    low = [(size.bytes, size.pages_read_per_second.low) for size in sizes]
    high = [(size.bytes, size.pages_read_per_second.high) for size in sizes]
    _put(root, "polygon", "band", points=scales.line([*high, *reversed(low)]))
    _put(root, "line", "today", x1=today, x2=today, y1=_TOP, y2=_TOP + _HEIGHT)
    if curve.scanned:
        points = [(size.bytes, size.scan_pages_read_per_second) for size in sizes]
        _put(root, "polyline", "scans", points=scales.line(points))
    first = curve.first_pages_read_per_second
    if first.high:
        points = [(size.bytes, first.expected) for size in sizes]
        _put(root, "polyline", "first", points=scales.line(points))
    for number, (_, reads) in enumerate(_tables(curve)):
        points = [(size.bytes, reads[size.times]) for size in sizes if size.times in reads]
        _put(root, "polyline", f"t{number}", points=scales.line(points))
    points = [(size.bytes, size.pages_read_per_second.expected) for size in sizes]
    _put(root, "polyline", "expected", points=scales.line(points))
    for size in sizes:
        point = _dot(root, "size", 3.5, scales.x(size.bytes), scales.y(size.pages_read_per_second.expected))
        _text(point, "title", _tip(size))
    for filled in curve.filled:
        if filled.bytes > 0:
            _dot(root, "filled", 3, scales.x(filled.bytes), scales.y(filled.pages_read_per_second))
    _dot(root, "measured", 5, today, scales.y(curve.pages_read_per_second))


def _keys(curve: MissCurve) -> Iterator[tuple[str, str]]:
    """Class and name of each entry of the legend."""
    yield "expected", "expected"
    yield "band", "low to high"
    yield "measured", f"today: {value_text(curve.pages_read_per_second)} measured"
    if curve.filled:
        yield "filled", "measured while the pool filled"
    if curve.scanned:
        yield "scans", "of these, by full scans"
    if curve.first_pages_read_per_second.high:
        yield "first", "read for the first time: no pool saves it"
    for number, (name, _) in enumerate(_tables(curve)):
        yield f"t{number}", f"{shortened(name, _LONGEST_NAME)}, without full scans"


def _key(root: ET.Element, x: float, y: float, kind: str, name: str) -> None:
    match kind:
        case "band":
            _put(root, "rect", kind, x=x, y=y - 6, width=24, height=12)
        case "measured" | "filled":
            _dot(root, kind, 4, x + 12, y)
        case _:
            _put(root, "polyline", kind, points=f"{x:g},{y:g} {x + 24:g},{y:g}")
    _label(root, x + 32, y + 4, name, "")


def _tables(curve: MissCurve) -> list[tuple[str, dict[Number, Number]]]:
    """Name, and expected reads by multiple of today's size, of the tables with the most reads."""
    return list(curve.by_table().items())[:_TABLES]


def _description(curve: MissCurve) -> str:
    sizes = "; ".join(f"{size.name}: {_reads(size.pages_read_per_second)}" for size in curve.sizes)
    return f"innodb_buffer_pool_size is {exact_binary(curve.pool_bytes)}. Pages read a second: {sizes}."


def _tip(size: PoolSize) -> str:
    return f"{binary(size.bytes)}, {size.name}: {_reads(size.pages_read_per_second)}"


def _reads(reads: Reads) -> str:
    return f"{value_text(reads.expected)} ({value_text(reads.low)} to {value_text(reads.high)})"


def _put(parent: ET.Element, tag: str, kind: str, **attributes: float | str) -> ET.Element:
    """A new element of this class."""
    written = {key: value if isinstance(value, str) else f"{value:g}" for key, value in attributes.items()}
    return ET.SubElement(parent, tag, {"class": kind, **written})


def _dot(parent: ET.Element, kind: str, radius: float, x: float, y: float) -> ET.Element:
    """A new circle."""
    return _put(parent, "circle", kind, cx=x, cy=y, r=radius)


def _label(parent: ET.Element, x: float, y: float, content: str, kind: str) -> None:
    """A new text at a place."""
    _put(parent, "text", kind, x=x, y=y).text = visible(content)


def _text(parent: ET.Element, tag: str, content: str) -> None:
    """A new element with a text and nothing else."""
    ET.SubElement(parent, tag).text = visible_lines(content)


def _step(most: float) -> float:
    """A round step with at most six of them up to ``most``."""
    if most <= 0:
        return 1.0
    least = most / 5
    power = 10.0 ** math.floor(math.log10(least))
    return next(round_number * power for round_number in (1.0, 2.0, 5.0, 10.0) if round_number * power >= least * 0.999)


def _short(value: float) -> str:
    """``1.5M``: a number for an axis."""
    for unit in ("", "k", "M", "G"):
        if value < 1000:
            return f"{value:.3g}{unit}"
        value /= 1000
    return f"{value:,.0f}T"
