"""Rules for people: on a terminal."""

from __future__ import annotations

import click
from rich.markdown import Markdown

from advisor.contract.visible import visible_lines
from advisor.render import terminal
from advisor.rules.rulebook import Rulebook

_PAGE_WIDTH = 100


def print_list(book: Rulebook) -> None:
    """One line per rule."""
    table = terminal.plain_table("rule", "severity", "origin", "title")
    for each in book.rules:
        table.add_row(each.id, each.file.severity.value, book.origin(each.id), terminal.words(each.file.title))
    terminal.console().print(table)


def print_page(markdown: str) -> None:
    """The page of a rule."""
    out = terminal.console()
    with out.capture() as captured:
        # A link shows where it leads: rules can be of others.
        out.print(Markdown(visible_lines(markdown), hyperlinks=False), width=min(out.width, _PAGE_WIDTH))
    click.echo("\n".join(line.rstrip() for line in captured.get().strip("\n").splitlines()))
