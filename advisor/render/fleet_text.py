"""A fleet for people: on a terminal, and as plain text."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.padding import Padding

from advisor.contract.fleet import FleetFinding, FleetReport
from advisor.contract.recommendation import Severity
from advisor.render import fleet_phrases as phrases
from advisor.render.fleet_phrases import Section
from advisor.render.terminal import WIDTH, in_file, joined, labelled, plain_table, words

_STYLE = {Severity.INFO: "cyan", Severity.WARNING: "yellow", Severity.CRITICAL: "bold red"}
_FINDINGS, _ROWS = 20, 20
"""Findings, and rows of each further table: what a person reads at a terminal."""


def print_fleet(out: Console, report: FleetReport) -> None:
    """What was read, the change that saves most, what to change first, sums, and what is not known."""
    for line in phrases.heading(report):
        out.print(words(line, "dim"))
    if report.best is not None:
        out.print()
        out.print(words("The one change that saves most", "bold"))
        _print_finding(out, report.best, phrases.titles(report))
    if report.findings:
        _print_section(out, phrases.first(report, _FINDINGS))
    for section in phrases.sections(report, _ROWS):
        _print_section(out, section)


def text(report: FleetReport, width: int = WIDTH) -> str:
    """The output of ``print_fleet`` in a file of so many columns, without blanks at the ends of lines."""
    return in_file(lambda out: print_fleet(out, report), width)


def _print_finding(out: Console, found: FleetFinding, titles: Mapping[str, str]) -> None:
    head = phrases.name(found.server), phrases.summary(found, titles)
    out.print(joined((found.severity.value, _STYLE[found.severity]), "  ", head[0], "  ", (head[1], "bold")))
    out.print(Padding(labelled(phrases.instructions(found)), (0, 0, 0, 2), expand=False))
    out.print(Padding(labelled(phrases.details(found), ""), (0, 0, 0, 2), expand=False))


def _print_section(out: Console, section: Section) -> None:
    out.print()
    out.print(words(section.title, "bold"))
    if section.note:
        out.print(words(section.note, "dim"))
    table = plain_table(*section.columns, right=section.right)
    for row in section.rows:
        table.add_row(*(words(cell, _style(cell) if number == 0 else "") for number, cell in enumerate(row)))
    out.print(table)


def _style(cell: str) -> str:
    """The colour of a severity; none for any other cell."""
    return _STYLE[Severity(cell)] if cell in set(Severity) else ""
