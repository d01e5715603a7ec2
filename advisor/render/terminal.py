"""Standard output, texts and tables for people. Nothing that is printed here is markup, and all of it shows."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable
from typing import IO, Any

from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

from advisor.contract.visible import visible, visible_lines

WIDTH = 200
"""Columns of text for a file, a pipe or an HTTP response."""


class People(Console):
    """A console that takes texts as they are: rich would obey ``[red]``, ``[link=…]`` and ``:warning:`` in them."""

    def __init__(self, *, width: int | None, file: IO[str] | None = None) -> None:
        """Standard output where no file is given; as wide as the terminal where no width is."""
        super().__init__(file=file, width=width, highlight=False, markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """A text that shows."""
        return super().render_str(visible_lines(text), **options)


def console() -> Console:
    """Standard output; in a file or a pipe, tables are not folded to a terminal's width."""
    return People(width=None if sys.stdout.isatty() else WIDTH)


def in_file(show: Callable[[Console], None], width: int = WIDTH) -> str:
    """What is shown on a console, as it would be in a file of so many columns, without blanks at the ends of lines."""
    out = io.StringIO()
    show(People(file=out, width=width))
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def words(text: str, style: str | Style = "") -> Text:
    """A text of anybody's in one line. Only this module makes rich's texts."""
    return Text(visible(text), style)


def joined(*parts: str | tuple[str, str]) -> Text:
    """Words, each with its style where it has one."""
    styled = ((part, "") if isinstance(part, str) else part for part in parts)
    return Text.assemble(*((visible(text), style) for text, style in styled))


def labelled(lines: Iterable[tuple[str, str]], style: str = "dim") -> Text:
    """Lines after their labels. A statement may have several lines."""
    return Text("\n").join(Text.assemble((f"{label:<12}", style), visible_lines(line)) for label, line in lines)


def plain_table(*columns: str, right: tuple[int, ...] = ()) -> Table:
    """An empty table without lines; ``right`` are the numbers of the columns that are aligned to the right."""
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for number, column in enumerate(columns):
        table.add_column(column, overflow="fold", justify="right" if number in right else "left")
    return table
