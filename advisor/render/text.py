"""Documents as text: on a terminal with its colours and width, or in a file. No text of a document is rich's markup."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from advisor.contract.visible import visible, visible_lines
from advisor.render import blocks

WIDTH = 200
"""Columns of text for a file, a pipe or an HTTP response."""


@dataclass(frozen=True, slots=True)
class TextLayout:
    """Columns of a terminal.

    Attributes:
        sentences: Of a page of sentences, at most: longer lines are hard to read.
        indent: Before the blocks of a card.
        gap: Between two columns of a table.
        label: Of the label before a line.
        longest_bar, shortest_bar: Of a bar; where there is room for less than the shortest, there are no bars.
        folded: That a table leaves to a text, which may be folded; a number may not.
    """

    sentences: int = 100
    indent: int = 2
    gap: int = 2
    label: int = 12
    longest_bar: int = 48
    shortest_bar: int = 8
    folded: int = 24


_LAYOUT = TextLayout()
_TONES: Mapping[blocks.Tone | None, str] = {
    "good": "green",
    "info": "cyan",
    "warning": "yellow",
    "critical": "bold red",
    None: "bold",
}
_KINDS = {"plain": "", "quiet": "dim", "problem": "red"}


def console() -> Console:
    """Standard output; in a file or a pipe, tables are not folded to a terminal's width."""
    return _console(None, None if sys.stdout.isatty() else WIDTH)


def show(document: blocks.TextDocument, out: Console | None = None) -> None:
    """Print a document: on standard output where no console is given."""
    out = out or console()
    before: blocks.Block | None = None
    for block in document.blocks:
        if _apart(before, block):
            out.print()
        before = block
        for renderable in _renderables(block, out, out.width):
            out.print(renderable)


def text(document: blocks.TextDocument, width: int = WIDTH) -> str:
    """A document in a file of so many columns, without blanks at the ends of lines."""
    file = io.StringIO()
    show(document, _console(file, width))
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


def _apart(before: blocks.Block | None, block: blocks.Block) -> bool:
    """Whether an empty line is between two blocks."""
    if before is None or isinstance(before, blocks.Heading):
        return False
    return isinstance(before, blocks.TextTable | blocks.Card) or isinstance(block, blocks.Heading | blocks.Card)


def show_markdown(text: str) -> None:
    """Print a text in markdown on standard output."""
    out = console()
    with out.capture() as capture:
        # A link shows where it leads: rules can be of others.
        out.print(Markdown(visible_lines(text), hyperlinks=False), width=min(out.width, _LAYOUT.sentences))
    print("\n".join(line.rstrip() for line in capture.get().strip("\n").splitlines()))


def _console(file: IO[str] | None, width: int | None) -> Console:
    return Console(file=file, width=width, highlight=False, markup=False, emoji=False)


def _renderables(block: blocks.Block, out: Console, width: int) -> list[RenderableType]:
    """What rich prints of a block; nothing for an empty one."""
    match block:
        case blocks.Heading():
            return [_words(block.text, "bold")]
        case blocks.Paragraph():
            return [_words(block.text, _KINDS[block.kind])]
        case blocks.Instructions() | blocks.Details():
            return [_labelled(block.lines)] if block.lines else []
        case blocks.TextTable():
            return [_table(block, out, width)] if block.rows else []
        case blocks.Pasted():
            return [Padding(Text(visible_lines(block.text)), (0, 0, 0, _LAYOUT.indent), expand=False)]
        case blocks.Card():
            return [_card(block, out, width)]
        case blocks.Folded():
            return []


def _words(text: str, style: str = "") -> Text:
    """A text of anybody's in one line."""
    return Text(visible(text), style)


def _card(card: blocks.Card, out: Console, width: int) -> Group:
    style = _TONES[card.tone]
    parts = [(card.mark, style), (blocks.plain(card.server), ""), (card.title, "bold" if card.mark else style)]
    head = Text("  ").join(_words(part, style) for part, style in parts if part)
    parts_below = [part for block in card.blocks for part in _renderables(block, out, width - _LAYOUT.indent)]
    return Group(head, *(Padding(part, (0, 0, 0, _LAYOUT.indent), expand=False) for part in parts_below))


def _labelled(lines: blocks.LabelledLines) -> Text:
    return Text("\n").join(
        Text.assemble((f"{label:<{_LAYOUT.label}}", "dim"), _line(label, blocks.plain(line))) for label, line in lines
    )


def _line(label: str, line: str) -> str:
    return visible_lines(line) if label in blocks.STATEMENTS else visible(line)


def _table(table: blocks.TextTable, out: Console, width: int) -> RenderableType:
    """A table without lines, and with those of its columns that there is room for."""
    bars = [number for number in range(len(table.columns)) if isinstance(table.rows[0][number], blocks.Bar)]
    widths = {number: _width(table, number) for number in range(len(table.columns)) if number not in bars}
    least = {number: size if table.is_right(number) else min(size, _LAYOUT.folded) for number, size in widths.items()}
    for number in table.optional:
        if sum(least.values()) > width:
            del least[number]
    room = min(width - sum(widths[number] for number in least), _LAYOUT.longest_bar)
    drawn = bars if room >= _LAYOUT.shortest_bar else []
    written = RichTable(box=None, pad_edge=False, header_style="dim", padding=(0, _LAYOUT.gap, 0, 0))
    shown = sorted((*least, *drawn))
    for number in shown:
        title = _words(table.columns[number])
        written.add_column(title, overflow="fold", justify="right" if table.is_right(number) else "left")
    for row in table.rows:
        written.add_row(*(_cell(row[number], out, room) for number in shown))
    if not drawn or not table.has_ranges:
        return written
    return Group(written, _words(_marks(out).legend, "dim"))


def _width(table: blocks.TextTable, number: int) -> int:
    """Columns of the terminal that a column takes if nothing is folded."""
    texts = (table.columns[number], *(blocks.plain(row[number]) for row in table.rows))
    return max(cell_len(visible(text)) for text in texts) + _LAYOUT.gap


def _cell(cell: blocks.Cell, out: Console, room: int) -> Text:
    if isinstance(cell, blocks.Bar):
        return Text(cell.drawn(room, _marks(out)), no_wrap=True)
    return _words(blocks.plain(cell), _TONES[cell.tone] if isinstance(cell, blocks.Toned) else "")


def _marks(out: Console) -> blocks.BarMarks:
    return blocks.BarMarks("#", "-", "|") if out.options.ascii_only else blocks.BarMarks()
