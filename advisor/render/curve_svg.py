"""The miss curve as a picture: an SVG that loads nothing, for light and dark pages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from advisor.contract.recommendation import Number
from advisor.contract.templates import binary, duration, exact_binary
from advisor.pool.answer import MissCurve, PoolSize, Reads
from advisor.render.phrases import value_text
from advisor.render.svg import COLOURS, LINE, document, dot, label, picture, put, short, shortened, step, text

_WIDTH, _LEFT, _RIGHT, _TOP, _HEIGHT = 720.0, 78.0, 700.0, 58.0, 340.0
"""Of the picture, and of the plot in it; pixels."""
_APART = 48.0
"""Least distance of two labels of the x axis."""
_TABLES = 5
"""Tables with a line of their own; JSON has all of them."""
STYLE = f"""{COLOURS}.today {{ stroke: var(--quiet); stroke-dasharray: 2 4; }}
.band {{ fill: var(--curve); opacity: .2; }} polyline {{ fill: none; stroke-width: 1.5; }}
.expected {{ stroke: var(--curve); stroke-width: 2.5; }} .size {{ fill: var(--curve); }}
.scans {{ stroke: var(--quiet); stroke-dasharray: 8 4; }} .first {{ stroke: var(--point); stroke-dasharray: 1 4; }}
.measured {{ fill: var(--point); }} .filled {{ fill: none; stroke: var(--point); stroke-width: 1.5; }}
.t0 {{ stroke: var(--t0); }} .t1 {{ stroke: var(--t1); }} .t2 {{ stroke: var(--t2); }} .t3 {{ stroke: var(--t3); }}
.t4 {{ stroke: var(--t4); }}
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
        sizes = [float(each.bytes) for each in curve.sizes]
        sizes += [float(each.bytes) for each in curve.filled if each.bytes > 0]
        reads = [float(each.pages_read_per_second.high) for each in curve.sizes]
        reads += [float(each.pages_read_per_second) for each in curve.filled]
        smallest, largest = min(sizes), max(sizes)
        if smallest == largest:
            smallest, largest = smallest / 2, largest * 2
        apart = step(max(*reads, float(curve.pages_read_per_second)))
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
    bottom = _TOP + _HEIGHT + 3 * LINE
    height = bottom + LINE * (math.ceil(len(keys) / 2) + 1)
    root = picture(
        _WIDTH, height, "Pages read from disk a second, by the size of the buffer pool", _description(curve), STYLE
    )
    label(root, 16, 24, shortened(curve.server, 60), "title")
    label(root, 16, 24 + LINE, f"pages read from disk a second; watched {duration(curve.watched_seconds)}", "quiet")
    _axes(root, curve, scales)
    _plot(root, curve, scales)
    for number, (kind, name) in enumerate(keys):
        _key(root, 16 + number % 2 * _WIDTH / 2, bottom + LINE * (number // 2 + 0.5), kind, name)
    return document(root)


def _axes(root: ET.Element, curve: MissCurve, scales: _Scales) -> None:
    apart = step(scales.most)
    for number in range(round(scales.most / apart) + 1):
        at = scales.y(number * apart)
        put(root, "line", "grid", x1=_LEFT, x2=_RIGHT, y1=at, y2=at)
        label(root, _LEFT - 8, at + 4, short(number * apart), "quiet end")
    bottom = _TOP + _HEIGHT
    taken: list[float] = []
    for size in sorted(curve.sizes, key=lambda each: each.times != 1):  # today's first
        at = scales.x(size.bytes)
        if all(abs(at - other) >= _APART for other in taken):
            taken.append(at)
            edge = " end" if at > _RIGHT - _APART / 2 else " middle"
            label(root, at, bottom + LINE, binary(size.bytes), edge.strip())
            label(root, at, bottom + 2 * LINE, size.name, f"quiet{edge}")


def _plot(root: ET.Element, curve: MissCurve, scales: _Scales) -> None:
    sizes, today = curve.sizes, scales.x(curve.pool_bytes)
    low = [(each.bytes, each.pages_read_per_second.low) for each in sizes]
    high = [(each.bytes, each.pages_read_per_second.high) for each in sizes]
    put(root, "polygon", "band", points=scales.line([*high, *reversed(low)]))
    put(root, "line", "today", x1=today, x2=today, y1=_TOP, y2=_TOP + _HEIGHT)
    if curve.scanned:
        points = [(each.bytes, each.scan_pages_read_per_second) for each in sizes]
        put(root, "polyline", "scans", points=scales.line(points))
    first = curve.first_pages_read_per_second
    if first.high:
        points = [(each.bytes, first.expected) for each in sizes]
        put(root, "polyline", "first", points=scales.line(points))
    for number, (_, reads) in enumerate(_tables(curve)):
        points = [(each.bytes, reads[each.times]) for each in sizes if each.times in reads]
        put(root, "polyline", f"t{number}", points=scales.line(points))
    points = [(each.bytes, each.pages_read_per_second.expected) for each in sizes]
    put(root, "polyline", "expected", points=scales.line(points))
    for each in sizes:
        point = dot(root, "size", 3.5, scales.x(each.bytes), scales.y(each.pages_read_per_second.expected))
        text(point, "title", _tip(each))
    for filled in curve.filled:
        if filled.bytes > 0:
            dot(root, "filled", 3, scales.x(filled.bytes), scales.y(filled.pages_read_per_second))
    dot(root, "measured", 5, today, scales.y(curve.pages_read_per_second))


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
        yield f"t{number}", f"{shortened(name)}, without full scans"


def _key(root: ET.Element, x: float, y: float, kind: str, name: str) -> None:
    match kind:
        case "band":
            put(root, "rect", kind, x=x, y=y - 6, width=24, height=12)
        case "measured" | "filled":
            dot(root, kind, 4, x + 12, y)
        case _:
            put(root, "polyline", kind, points=f"{x:g},{y:g} {x + 24:g},{y:g}")
    label(root, x + 32, y + 4, name, "")


def _tables(curve: MissCurve) -> list[tuple[str, dict[Number, Number]]]:
    """Name, and expected reads by multiple of today's size, of the tables with the most reads."""
    return list(curve.by_table().items())[:_TABLES]


def _description(curve: MissCurve) -> str:
    sizes = "; ".join(f"{each.name}: {_reads(each.pages_read_per_second)}" for each in curve.sizes)
    return f"innodb_buffer_pool_size is {exact_binary(curve.pool_bytes)}. Pages read a second: {sizes}."


def _tip(size: PoolSize) -> str:
    return f"{binary(size.bytes)}, {size.name}: {_reads(size.pages_read_per_second)}"


def _reads(reads: Reads) -> str:
    return f"{value_text(reads.expected)} ({value_text(reads.low)} to {value_text(reads.high)})"
