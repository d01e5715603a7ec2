"""A fleet for people: on a terminal, and as plain text."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from advisor.contract.fleet import FleetFinding, FleetReport
from advisor.contract.recommendation import Severity
from advisor.render import fleet_phrases as phrases
from advisor.render.fleet_phrases import Section
from advisor.render.terminal import WIDTH, plain_table

_STYLE = {Severity.INFO: "cyan", Severity.WARNING: "yellow", Severity.CRITICAL: "bold red"}
_FINDINGS, _ROWS = 20, 20
"""Findings, and rows of each further table: what a person reads at a terminal."""


def print_fleet(out: Console, report: FleetReport) -> None:
    """What was read, the change that saves most, what to change first, sums, and what is not known."""
    for line in phrases.heading(report):
        out.print(Text(line, "dim"))
    if report.best is not None:
        out.print(Text("\nThe one change that saves most", "bold"))
        _print_finding(out, report.best, phrases.titles(report))
    if report.findings:
        _print_section(out, phrases.first(report, _FINDINGS))
    for section in phrases.sections(report, _ROWS):
        _print_section(out, section)


def text(report: FleetReport, width: int = WIDTH) -> str:
    """The output of ``print_fleet`` in a file of so many columns, without blanks at the ends of lines."""
    out = io.StringIO()
    print_fleet(Console(file=out, width=width, highlight=False), report)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def _print_finding(out: Console, found: FleetFinding, titles: Mapping[str, str]) -> None:
    head = phrases.name(found.server), phrases.summary(found, titles)
    out.print(Text.assemble((found.severity.value, _STYLE[found.severity]), "  ", head[0], "  ", (head[1], "bold")))
    out.print(Padding(Text("\n").join(_labelled(phrases.instructions(found), "dim")), (0, 0, 0, 2), expand=False))
    out.print(Padding(Text("\n").join(_labelled(phrases.details(found), "")), (0, 0, 0, 2), expand=False))


def _labelled(lines: Iterable[tuple[str, str]], style: str) -> list[Text]:
    return [Text.assemble((f"{label:<12}", style), line) for label, line in lines]


def _print_section(out: Console, section: Section) -> None:
    out.print(Text(f"\n{section.title}", "bold"))
    if section.note:
        out.print(Text(section.note, "dim"))
    table = plain_table(*section.columns, right=section.right)
    for row in section.rows:
        table.add_row(*(Text(cell, _style(cell) if number == 0 else "") for number, cell in enumerate(row)))
    out.print(table)


def _style(cell: str) -> str:
    """The colour of a severity; none for any other cell."""
    return _STYLE[Severity(cell)] if cell in set(Severity) else ""
