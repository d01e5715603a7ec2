"""Documents in markdown, for a ticket or a chat."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from advisor.contract.visible import visible, visible_lines
from advisor.render import blocks

_MARKUP = re.compile(r"[\\`*\[\]|~]|&(?=#?\w+;)|(?<![^\W_])_|_(?![^\W_])|#(?=#*$)")
"""Marks of CommonMark and GFM, entities, underscores that do not lie within a word, and what ends a heading."""

_MARKS, _BAR = blocks.BarMarks(), 24
"""A bar's marks, and its longest in characters: as code it has the same width in each row."""


def markdown(document: blocks.TextDocument) -> str:
    """The title, and every block; folded ones are left out."""
    title = [f"# {inline(document.title)}"] if document.title else []
    return "\n\n".join((*title, *(part for block in document.blocks for part in _parts(block)))) + "\n"


def _parts(block: blocks.Block) -> Iterator[str]:
    """The paragraphs of a block; none of an empty one."""
    match block:
        case blocks.Heading():
            yield f"{'#' * block.level} {inline(block.text)}"
        case blocks.Paragraph():
            yield inline(block.text)
        case blocks.Instructions() if block.lines:
            yield _sql(block.lines)
        case blocks.Details() if block.lines:
            yield "\n".join(f"- {label}: {inline(blocks.plain(line))}" for label, line in block.lines)
        case blocks.TextTable() if block.rows:
            yield from _table(block)
        case blocks.Pasted():
            yield _fenced(block.text, block.language)
        case blocks.Card():
            title = ": ".join(inline(part) for part in (block.mark, blocks.plain(block.server), block.title) if part)
            yield f"{'#' * block.level} {title}"
            for inner in block.blocks:
                yield from _parts(inner)
        case blocks.Folded() | blocks.Instructions() | blocks.Details() | blocks.TextTable():
            pass


def _table(table: blocks.TextTable) -> Iterator[str]:
    """The table, and what its bars mean."""
    marks = ["---:" if table.is_right(number) else "---" for number in range(len(table.columns))]
    yield "\n".join((_row(map(inline, table.columns)), _row(marks), *(_row(map(_cell, row)) for row in table.rows)))
    if table.has_ranges:
        yield _MARKS.legend


def _cell(cell: blocks.Cell) -> str:
    if isinstance(cell, blocks.Bar):
        drawn = cell.drawn(_BAR, _MARKS)
        return f"`{drawn}`" if drawn else ""
    return inline(blocks.plain(cell))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _sql(lines: Iterable[tuple[str, str]]) -> str:
    """A block that can be pasted whole: it applies, and all else in it is a comment."""
    return _fenced("\n".join(text if label == "apply" else _comment(label, text) for label, text in lines), "sql")


def _fenced(text: str, language: str) -> str:
    """Lines between fences that are longer than any backticks in them."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return "\n".join((f"{fence}{language}", visible_lines(text), fence))


def _comment(label: str, text: str) -> str:
    shown = text if label in blocks.STATEMENTS else visible(text)
    return "\n".join(f"-- {line}" for line in f"{label}: {shown}".split("\n"))


def inline(text: str) -> str:
    """Text with its markup escaped: names come from the server.

    ``<`` becomes an entity, which is also how chats such as Slack write it: ``<!channel>`` calls nobody.
    """
    return _MARKUP.sub(r"\\\g<0>", " ".join(visible(text).split())).replace("<", "&lt;")
