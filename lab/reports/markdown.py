"""Markdown shared by the lab's pages: a table, and a record's origin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table, with a final line break."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def ran_on(record: Mapping[str, Any]) -> str:
    """A sentence with a record's date, machine and server versions."""
    versions = sorted({f"{part['server'].split('-')[0]} {part['version']}" for part in record["parts"].values()})
    machine = record["machine"]
    return (
        f"Measured on {record['date']}, {machine['cores']} cores, {machine['memory_gib']:g} GiB, Linux"
        f" {machine['kernel']}: {', '.join(versions)}."
    )
