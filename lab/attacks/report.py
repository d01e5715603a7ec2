"""The table of the attacks: on the terminal, and from the record as a part of docs/security.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.table import Table
from rich.text import Text

from lab.attacks import record
from lab.attacks.attack import Attack, Line
from lab.attacks.record import AttackRecord
from lab.reports import markdown

TITLES = ("attack", "what was measured", "bound", "measured")
KEPT, BROKEN = "kept", "BROKEN"


def terminal(found: Mapping[str, Sequence[Line]]) -> Table:
    """The table of what was measured, by the attack's name."""
    table = Table(title="Attacks", title_justify="left", title_style="bold")
    for title in (*TITLES, ""):
        table.add_column(title)
    for name, lines in found.items():
        table.add_section()
        for cells in _rows(name, lines):
            table.add_row(*map(Text, cells), style="bold red" if cells[-1] == BROKEN else "")
    return table


def _rows(name: str, lines: Sequence[Line]) -> Iterator[tuple[str, ...]]:
    for number, line in enumerate(lines):
        yield "" if number else name, line.what, line.bound, line.measured, KEPT if line.kept else BROKEN


def section(attacks: Mapping[str, Attack]) -> str:
    """The table in markdown with where it was measured; empty while there is no record."""
    found = {name: each for name, each in record.load().attacks.items() if name in attacks}
    if not found:
        return ""
    rows = (row for name, each in found.items() for row in _told(attacks[name], each))
    return f"{markdown.table(TITLES, rows)}\n{_where(tuple(found.values()))}\n"


def _told(attack: Attack, found: AttackRecord) -> Iterator[tuple[str, ...]]:
    for number, line in enumerate(found.lines):
        measured = line.measured if line.kept else f"**{line.measured}** (broken)"
        yield "" if number else f"`{attack.name}`: {attack.title}", line.what, line.bound, measured


def _where(found: Sequence[AttackRecord]) -> str:
    newest = max(found, key=lambda each: each.date)
    oldest, machine = min(each.date for each in found), newest.machine
    when = f"on {newest.date}" if oldest == newest.date else f"from {oldest} to {newest.date}"
    return (
        f"Measured {when}, {machine['cores']} cores, {machine['memory_gib']:g} GiB, Linux"
        f" {machine['kernel']}: MySQL {newest.version}."
    )
