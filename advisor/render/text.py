"""Advice and checks for people: on a terminal, and as plain text."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from advisor.contract.recommendation import Advice, Recommendation, SetAside, Severity
from advisor.contract.templates import duration
from advisor.render import phrases

WIDTH = 200
"""Columns of what goes into a file, a pipe or an HTTP response."""
_STYLE = {Severity.INFO: "cyan", Severity.WARNING: "yellow", Severity.CRITICAL: "bold red"}


@dataclass(frozen=True, slots=True)
class Check:
    """One source in ``innodb-advisor check``; ``needed_by`` names the rules that go blind without it."""

    source: str
    ok: bool | None
    reason: str
    cure: str | None
    needed_by: tuple[str, ...]


def console() -> Console:
    """Standard output; tables that go into a file or a pipe are not folded to a terminal that is not there."""
    return Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)


def print_advice(out: Console, advice: Advice) -> None:
    """Every recommendation with its evidence and SQL, then what is set aside and what the rules could not see."""
    out.print(
        f"{advice.server}, watched {duration(advice.watched_seconds)}", style="dim", markup=False, highlight=False
    )
    for found in advice.recommendations:
        out.print()
        out.print(_recommendation(found))
    if not advice.recommendations:
        out.print(phrases.NOTHING)
    for title, columns, rows in phrases.tables(advice):
        table = plain_table(*columns)
        for row in rows:
            table.add_row(*map(Text, row))
        out.print(f"\n{title}:")
        out.print(table)


def plain(advice: Advice) -> str:
    """What ``print_advice`` prints into a file."""
    out = io.StringIO()
    print_advice(Console(file=out, width=WIDTH, highlight=False), advice)
    return _trimmed(out)


def plain_finding(found: Recommendation | SetAside) -> str:
    """The same of one recommendation; where it is set aside, with the reason."""
    out = io.StringIO()
    to = Console(file=out, width=WIDTH, highlight=False)
    if isinstance(found, SetAside):
        to.print(Text(f"Set aside: {found.reason}"))
        found = found.recommendation
    to.print(_recommendation(found))
    return _trimmed(out)


def _trimmed(out: io.StringIO) -> str:
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def _recommendation(found: Recommendation) -> Group:
    head = Text.assemble((found.severity.value, _STYLE[found.severity]), "  ", (found.summary, "bold"))
    lines = [Text.assemble((f"{label:<12}", "dim"), line) for label, line in phrases.lines(found)]
    facts = [Text(f"{label:<12}{line}") for label, line in phrases.facts(found)]
    evidence = plain_table("evidence", "value", "unit", "source")
    evidence.columns[1].justify = "right"
    for item in found.evidence:
        evidence.add_row(*map(Text, (item.name.replace("_", " "), phrases.shown(item.value), item.unit, item.source)))
    parts = (Text("\n").join(lines), Text("\n").join(facts), evidence)
    return Group(head, *(Padding(part, (0, 0, 0, 2), expand=False) for part in parts))


def print_checks(out: Console, checks: Sequence[Check]) -> None:
    """One line a source."""
    table = plain_table("source", "", "why", "cure", "rules that need it")
    for check in checks:
        mark = Text("–", "dim") if check.ok is None else Text("ok", "green") if check.ok else Text("no", "red")
        blinds = ", ".join(check.needed_by) if check.ok is False else ""
        table.add_row(Text(check.source), mark, Text(check.reason), Text(check.cure or ""), Text(blinds))
    out.print(table)


def plain_table(*columns: str) -> Table:
    """An empty one without lines."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold")
    return table
