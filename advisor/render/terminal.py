"""Standard output and tables for people."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

WIDTH = 200
"""Columns of text for a file, a pipe or an HTTP response."""


def console() -> Console:
    """Standard output; in a file or a pipe, tables are not folded to a terminal's width."""
    return Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)


def in_file(show: Callable[[Console], None]) -> str:
    """What is shown on a console, as it would be in a file, without blanks at the ends of lines."""
    out = io.StringIO()
    show(Console(file=out, width=WIDTH, highlight=False))
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def plain_table(*columns: str, right: tuple[int, ...] = ()) -> Table:
    """An empty table without lines; ``right`` are the numbers of the columns that are aligned to the right."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for number, column in enumerate(columns):
        table.add_column(column, overflow="fold", justify="right" if number in right else "left")
    return table
