"""A snapshot as a document: its sources, and each section, folded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from advisor.contract.templates import duration
from advisor.render.blocks import Block, Cell, Folded, Heading, Paragraph, TextDocument, TextTable
from advisor.render.phrases import moment
from exporter.json_values import jsonable
from exporter.snapshot import Snapshot

MOST_ROWS = 500
"""Rows of a section that are shown: browsers are slow with tables of 100,000."""


def snapshot(snapshot: Snapshot) -> TextDocument:
    """Every source, with why it could not be read, and every section that could."""
    sections: dict[str, Any] = {name: jsonable(value) for name, value in snapshot.sections.items()}
    sources = tuple(
        (
            name,
            duration(max(0.0, snapshot.at - outcome.at)),
            f"{1000 * outcome.seconds:,.1f} ms",
            outcome.reason,
            outcome.cure or "",
        )
        for name, outcome in snapshot.outcomes.items()
    )
    blocks: tuple[Block, ...] = (
        Paragraph(f"{snapshot.server}, seen as {snapshot.account} at {moment(snapshot.at)}."),
        Paragraph("A program gets the same as JSON, with all rows.", "quiet"),
        Heading("Sources"),
        TextTable(("source", "age", "took", "why not", "cure"), sources),
        Heading("Sections"),
        *(section(name, value) for name, value in sections.items() if value is not None),
    )
    return TextDocument("Snapshot", blocks)


def section(name: str, value: Any) -> Folded:
    """A section, folded; tables in it are folded again."""
    size = f" ({len(value):,})" if isinstance(value, list | dict) else ""
    return Folded(f"{name}{size}", tuple(_content(value)))


def _content(value: Any) -> Iterator[Block]:
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        columns = tuple(dict.fromkeys(key for row in value for key in row))
        yield TextTable(columns, tuple(tuple(_cell(row.get(key)) for key in columns) for row in value[:MOST_ROWS]))
    elif isinstance(value, Mapping) and not any(isinstance(part, list | dict) and part for part in value.values()):
        yield TextTable(("name", "value"), tuple((key, _cell(part)) for key, part in [*value.items()][:MOST_ROWS]))
    elif isinstance(value, Mapping):
        yield from (section(key, part) for key, part in value.items())
    else:
        yield Paragraph(json.dumps(value, ensure_ascii=False))
    if isinstance(value, list | dict) and len(value) > MOST_ROWS:
        yield Paragraph(f"{len(value) - MOST_ROWS:,} more are in the JSON.", "quiet")


def _cell(value: Any) -> Cell:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping | Sequence) and not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return value if isinstance(value, str | int | float) or value is None else str(value)
