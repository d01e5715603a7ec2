"""The miss curve for people: on a terminal, and as plain text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.text import Text

from advisor.contract.recommendation import Number, tidy
from advisor.contract.templates import binary, duration, exact_binary
from advisor.pool.answer import MissCurve, PoolSize
from advisor.render.phrases import value_text
from advisor.render.terminal import in_file, plain_table, words

_LONGEST_BAR, _SHORTEST_BAR = 48, 8
"""Columns of a bar; where the terminal leaves fewer than the shortest, there are no bars."""
_TABLES = 10
"""Tables that are shown; JSON has all of them."""
_NAME = 24
"""Columns for the name of a table; a longer one may be folded. Sizes far from today's give way to it."""
_RANGE = "low to high"
_NEEDED = frozenset({"pool", "times", "pages/s", _RANGE})
_MARKS = ("█", "░", "│")
_ASCII_MARKS = ("#", "-", "|")


def print_curve(out: Console, curve: MissCurve) -> None:
    """A row with a bar for each size, the reads by table, and what the answer rests on."""
    _line(out, f"{curve.server}, watched {duration(curve.watched_seconds)}", "dim")
    _line(out, _today(curve))
    out.print()
    _print_sizes(out, curve)
    _print_tables(out, curve)
    out.print()
    for line in (*_legend(out, curve), *curve.notes):
        _line(out, line, "dim")


def plain(curve: MissCurve) -> str:
    """The output of ``print_curve`` in a file."""
    return in_file(lambda out: print_curve(out, curve))


def _line(out: Console, text: str, style: str = "") -> None:
    out.print(words(text, style))


def _today(curve: MissCurve) -> str:
    measured, first = curve.pages_read_per_second, curve.first_pages_read_per_second
    found = f"innodb_buffer_pool_size = {exact_binary(curve.pool_bytes)}: {value_text(measured)} pages read a second"
    if not first.high:
        return found
    part = value_text(first.high) if first.low == first.high else f"{value_text(first.low)} to {value_text(first.high)}"
    return f"{found}, {part} of them for the first time, which no size saves: left out here"


def _print_sizes(out: Console, curve: MissCurve) -> None:
    rows = [_row(size, curve) for size in curve.sizes]
    names = list(rows[0])
    while _width(names, rows) > out.width and names[-1] not in _NEEDED:
        names.pop()
    width = min(out.width - _width(names, rows), _LONGEST_BAR)
    bars = width >= _SHORTEST_BAR
    table = plain_table(*names, *([""] if bars else []), right=tuple(range(len(names))))
    most = max(size.pages_read_per_second.high for size in curve.sizes)
    for size, row in zip(curve.sizes, rows, strict=True):
        bar = [_bar(size, most, width, _marks(out))] if bars else []
        table.add_row(*(words(row[name]) for name in names), *bar, style="bold" if size.times == 1 else "")
    out.print(table)


def _row(size: PoolSize, curve: MissCurve) -> dict[str, str]:
    """Values by the title of their column; where there is no room, the last ones are left out."""
    reads = size.pages_read_per_second
    return {
        "pool": binary(size.bytes),
        "times": size.name,
        "pages/s": value_text(reads.expected),
        _RANGE: f"{value_text(reads.low)} to {value_text(reads.high)}",
        **({"by scans": value_text(size.scan_pages_read_per_second)} if curve.scanned else {}),
        "bytes/s": binary(reads.expected * curve.page_bytes),
    }


def _width(names: Sequence[str], rows: Sequence[Mapping[str, str]]) -> int:
    """The width of these columns, if nothing is folded."""
    return sum(max(len(name), *(len(row.get(name, "")) for row in rows)) + 2 for name in names)


def _bar(size: PoolSize, most: Number, width: int, marks: tuple[str, str, str]) -> Text:
    """Solid up to the low bound, light up to the high one, with a stroke at what is expected."""
    solid, light, stroke = marks
    reads = size.pages_read_per_second
    low, expected, high = (
        round(width * value / most) if most else 0 for value in (reads.low, reads.expected, reads.high)
    )
    drawn = [solid] * low + [light] * (high - low)
    if low < expected <= high:
        drawn[expected - 1] = stroke
    return Text("".join(drawn) or (stroke if reads.high else ""), no_wrap=True)


def _print_tables(out: Console, curve: MissCurve) -> None:
    found = curve.by_table()
    if not found:
        return
    out.print()
    _line(out, "pages a second by table, without full scans:")
    rows = [(name, _cells(curve, by)) for name, by in list(found.items())[:_TABLES]]
    rest = list(found.values())[_TABLES:]
    if rest:
        sums = {size.times: tidy(round(sum(by.get(size.times, 0) for by in rest), 2)) for size in curve.sizes}
        rows.append((f"{len(rest)} others", _cells(curve, sums)))
    near = sorted(curve.sizes, key=lambda size: abs(math.log(size.times)))
    while len(near) > 1 and _NAME + _width([size.name for size in near], [cells for _, cells in rows]) > out.width:
        near.pop()
    names = [size.name for size in curve.sizes if size in near]
    table = plain_table("table", *names, right=tuple(range(1, len(names) + 1)))
    for name, cells in rows:
        table.add_row(words(name), *(words(cells[each]) for each in names))
    out.print(table)


def _cells(curve: MissCurve, by: Mapping[Number, Number]) -> dict[str, str]:
    """Reads by the name of a size."""
    return {size.name: value_text(by[size.times]) if size.times in by else "" for size in curve.sizes}


def _marks(out: Console) -> tuple[str, str, str]:
    return _ASCII_MARKS if out.options.ascii_only else _MARKS


def _legend(out: Console, curve: MissCurve) -> Iterator[str]:
    solid, light, stroke = _marks(out)
    yield f"{solid} at least, {stroke} expected, {light} at most"
    if curve.filled:
        first, last = curve.filled[0], curve.filled[-1]
        yield (
            f"measured while the pool filled: {value_text(first.pages_read_per_second)} pages a second at"
            f" {binary(first.bytes)}, {value_text(last.pages_read_per_second)} at {binary(last.bytes)}"
        )
