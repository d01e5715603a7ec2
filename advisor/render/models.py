"""Answers of the models, as documents: what if, the passes of a scenario, and the miss curve."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from advisor.contract.recommendation import Number, tidy
from advisor.contract.settings import setting_text
from advisor.contract.templates import binary, duration, exact_binary, value_text
from advisor.models.lru.scenario import Pass
from advisor.pool.curve import MissCurve
from advisor.pool.what_if import Amount, TableOutcome, WhatIf
from advisor.render.blocks import Bar, Block, Cell, Heading, Paragraph, TextDocument, TextTable

_TABLES = 10
"""Tables of a curve that are shown; JSON has all of them."""


def what_if(answer: WhatIf) -> TextDocument:
    """What would change, table by table, and the model's error."""
    rows: list[tuple[str, ...]] = []
    for table in answer.tables:
        name = f"{'.'.join(table.subject.values())} ({value_text(table.pages)} pages), per pass"
        rows.append((name, *_pair(table.pages_read_per_pass), _cached(table)))
        rows.append(("  per second", *_pair(table.pages_read_per_second), ""))
    rows += [
        ("by everything else, per second", *_pair(answer.other_pages_read_per_second), ""),
        ("in total, per second", *_pair(answer.pages_read_per_second), ""),
        ("pool pages left for everything else", *_pair(answer.pages_of_others), ""),
        ("  in the young sublist", *_pair(answer.young_pages_of_others), ""),
    ]
    fit = f"model error {answer.error:.1%}, confidence {answer.confidence:g}"
    blocks: tuple[Block, ...] = (
        Paragraph(f"{answer.server}, watched {duration(answer.watched_seconds)}", "quiet"),
        *(
            Paragraph(
                f"if {change.setting} = {setting_text(change.setting, change.to)}"
                f" (now {setting_text(change.setting, change.from_)})"
            )
            for change in answer.changes
        ),
        TextTable(("pages read", "now", "then", "cached"), tuple(rows), right=(1, 2, 3)),
        *(Paragraph(change.note) for change in answer.changes if change.note),
        *(Paragraph(note, "quiet") for note in (fit, *answer.notes)),
    )
    return TextDocument("innodb-advisor: what if", blocks)


def _pair(amount: Amount) -> tuple[str, str]:
    return value_text(amount.now), value_text(amount.then)


def _cached(table: TableOutcome) -> str:
    passes = table.passes_until_cached
    if passes is None:
        return "never"
    return "at once" if passes == 0 else "after 1 pass" if passes == 1 else f"after {passes} passes"


def passes(passes: Sequence[Pass]) -> TextDocument:
    """One line per pass."""
    columns = ("step", "object", "pass", "pages read", "made young", "not made young", "young", "old", "free")
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (row.step, row.object, row.number, *map(round, row[3:])) for row in passes
    )
    return TextDocument("innodb-advisor: passes", (TextTable(columns, rows),))


def curve(curve: MissCurve) -> TextDocument:
    """A row with a bar for each size, the reads by table, and what the answer rests on."""
    blocks: list[Block] = [
        Paragraph(f"{curve.server}, watched {duration(curve.watched_seconds)}", "quiet"),
        Paragraph(_today(curve)),
        _sizes(curve),
    ]
    by_table = curve.by_table()
    if by_table:
        blocks += [Heading("Pages a second by table, without full scans"), _tables(curve, by_table)]
    notes = [Paragraph(note, "quiet") for note in (*_filled(curve), *curve.notes)]
    return TextDocument("innodb-advisor: the miss curve", (*blocks, *notes))


def _today(curve: MissCurve) -> str:
    measured, first = curve.pages_read_per_second, curve.first_pages_read_per_second
    today = f"innodb_buffer_pool_size = {exact_binary(curve.pool_bytes)}: {value_text(measured)} pages read a second"
    if not first.high:
        return today
    part = value_text(first.high) if first.low == first.high else f"{value_text(first.low)} to {value_text(first.high)}"
    return f"{today}, {part} of them for the first time, which no size saves: left out here"


def _sizes(curve: MissCurve) -> TextTable:
    scanned = ("by scans",) if curve.scanned else ()
    columns = ("pool", "times", "pages/s", "low to high", *scanned, "bytes/s", "")
    most = max(size.pages_read_per_second.high for size in curve.sizes)
    rows: list[tuple[Cell, ...]] = []
    for size in curve.sizes:
        reads = size.pages_read_per_second
        rows.append(
            (
                binary(size.bytes),
                size.name,
                value_text(reads.expected),
                f"{value_text(reads.low)} to {value_text(reads.high)}",
                *((value_text(size.scan_pages_read_per_second),) if scanned else ()),
                binary(reads.expected * curve.page_bytes),
                Bar(reads.low, reads.expected, reads.high, most),
            )
        )
    texts = range(len(columns) - 1)
    return TextTable(columns, tuple(rows), right=tuple(texts), optional=tuple(reversed(texts[4:])))


def _tables(curve: MissCurve, by_table: Mapping[str, Mapping[Number, Number]]) -> TextTable:
    """The tables with the most reads, and the rest together; sizes far from today's give way where room is short."""
    rows = [(name, *_reads(curve, reads)) for name, reads in [*by_table.items()][:_TABLES]]
    rest = [*by_table.values()][_TABLES:]
    if rest:
        sums = {size.times: tidy(round(sum(by.get(size.times, 0) for by in rest), 2)) for size in curve.sizes}
        rows.append((f"{len(rest)} others", *_reads(curve, sums)))
    numbers = range(1, len(curve.sizes) + 1)
    far = sorted(numbers, key=lambda number: abs(math.log(curve.sizes[number - 1].times)), reverse=True)
    columns = ("table", *(size.name for size in curve.sizes))
    return TextTable(columns, tuple(rows), right=tuple(numbers), optional=tuple(far[:-1]))


def _reads(curve: MissCurve, by_times: Mapping[Number, Number]) -> Iterator[str]:
    """Reads of a table at each size; empty where there is no answer for it."""
    return (value_text(by_times[size.times]) if size.times in by_times else "" for size in curve.sizes)


def _filled(curve: MissCurve) -> Iterator[str]:
    if curve.filled:
        first, last = curve.filled[0], curve.filled[-1]
        yield (
            f"measured while the pool filled: {value_text(first.pages_read_per_second)} pages a second at"
            f" {binary(first.bytes)}, {value_text(last.pages_read_per_second)} at {binary(last.bytes)}"
        )
