"""A snapshot as HTML: its sources, and each section, folded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from advisor.contract.templates import duration
from advisor.render import html
from advisor.render.phrases import moment
from exporter.json_values import jsonable
from exporter.snapshot import Snapshot

MOST_ROWS = 500
"""Rows of a section that are shown: browsers are slow with tables of 100,000."""


def content(snapshot: Snapshot) -> str:
    """All of it."""
    sections: dict[str, Any] = {name: jsonable(value) for name, value in snapshot.sections.items()}
    known = {name: value for name, value in sections.items() if value is not None}
    about = f"{snapshot.server}, seen as {snapshot.account} at {moment(snapshot.at)}."
    return "".join(
        (
            html.element("h1", "Snapshot"),
            html.element("p", about),
            html.element("p", "A program gets the same as JSON, with all rows.", "quiet"),
            html.element("h2", "Sources"),
            html.table(("source", "age", "took", "why not", "cure"), _sources(snapshot)),
            html.element("h2", "Sections"),
            *(section(name, value) for name, value in known.items()),
        )
    )


def _sources(snapshot: Snapshot) -> Iterator[tuple[html.Content, ...]]:
    for name, each in snapshot.outcomes.items():
        age, took = duration(max(0.0, snapshot.at - each.at)), f"{1000 * each.seconds:,.1f} ms"
        yield name, age, took, each.reason, each.cure or ""


def section(name: str, value: Any) -> str:
    """A section, folded; tables in it are folded again."""
    rows = value if isinstance(value, list) else None
    size = "" if not isinstance(value, list | dict) else f" ({len(value):,})"
    if rows and all(isinstance(each, dict) for each in rows):
        columns = list(dict.fromkeys(key for each in rows for key in each))
        shown = html.table(columns, [[_shown(each.get(key)) for key in columns] for each in rows[:MOST_ROWS]])
    elif isinstance(value, Mapping) and not any(_is_table(each) for each in value.values()):
        shown = html.table(("name", "value"), [(key, _shown(each)) for key, each in [*value.items()][:MOST_ROWS]])
    elif isinstance(value, Mapping):
        shown = "".join(section(key, each) for key, each in value.items())
    else:
        shown = html.preformatted(json.dumps(value, ensure_ascii=False, indent=1))
    if isinstance(value, list | dict) and len(value) > MOST_ROWS:
        shown += html.element("p", f"{len(value) - MOST_ROWS:,} more are in the JSON.", "quiet")
    return html.details(f"{name}{size}", shown)


def _is_table(value: Any) -> bool:
    return isinstance(value, list | dict) and bool(value)


def _shown(value: Any) -> html.Content | float | None:
    if isinstance(value, Mapping | Sequence) and not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return value if isinstance(value, str | int | float) or value is None else str(value)
