"""A document for people, as a tree of blocks: phrases build it; text.py, markdown.py and html.py write it.

Texts are plain, and may hold anything: each form makes visible what does not show, and escapes its own markup.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

from advisor.contract.recommendation import Severity

Tone = Literal["good", "info", "warning", "critical"]
"""What a finding or an outcome means for its reader; forms colour by it."""
TONES: Mapping[Severity, Tone] = {
    Severity.INFO: "info",
    Severity.WARNING: "warning",
    Severity.CRITICAL: "critical",
}
STATEMENTS = frozenset({"apply", "roll back", "keep"})
"""Labels of lines that are SQL: they may be pasted, and only they may have several lines."""


@dataclass(frozen=True, slots=True)
class Link:
    """A text that leads to a path or an address on a page; other forms have the text alone."""

    text: str
    path: str


@dataclass(frozen=True, slots=True)
class Toned:
    """A word with its colour."""

    text: str
    tone: Tone


@dataclass(frozen=True, slots=True)
class BarMarks:
    """Characters of a bar: up to its low bound, up to its high one, and at the value to expect."""

    solid: str = "█"
    light: str = "░"
    stroke: str = "│"

    @property
    def legend(self) -> str:
        """What they mean."""
        return f"{self.solid} at least, {self.stroke} expected, {self.light} at most"


@dataclass(frozen=True, slots=True)
class Bar:
    """A range drawn as a bar, on the scale of its column.

    Attributes:
        low, expected, high: The range, and the value to expect.
        most: The value at the bar's full length.
    """

    low: float
    expected: float
    high: float
    most: float

    @classmethod
    def exact(cls, value: float, most: float) -> Self:
        """The bar of a value that is no range, such as a measured one."""
        return cls(value, value, value, most)

    def drawn(self, width: int, marks: BarMarks) -> str:
        """The bar in so many characters: solid up to the low bound, light up to the high one."""
        low, expected, high = (
            round(width * value / self.most) if self.most else 0 for value in (self.low, self.expected, self.high)
        )
        letters = [marks.solid] * low + [marks.light] * (high - low)
        if low < expected <= high:
            letters[expected - 1] = marks.stroke
        return "".join(letters) or (marks.stroke if self.high else "")


Cell: TypeAlias = str | float | Link | Toned | Bar | None
LabelledLines: TypeAlias = tuple[tuple[str, str | Link], ...]


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; that of the whole document is level 1."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A sentence or more."""

    text: str
    kind: Literal["plain", "quiet", "problem"] = "plain"


@dataclass(frozen=True, slots=True)
class Instructions:
    """What to do: lines after their labels. Those labelled as `STATEMENTS` are SQL as it can be pasted."""

    lines: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Details:
    """What to know: lines after their labels."""

    lines: LabelledLines


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table.

    Attributes:
        right: Numbers of the columns of texts that are aligned to the right; those of numbers always are.
        optional: Numbers of the columns that a narrow terminal leaves out, in this order.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    right: tuple[int, ...] = ()
    optional: tuple[int, ...] = ()

    def is_right(self, number: int) -> bool:
        """Whether a column is aligned to the right: it is one of `right`, or has nothing but numbers."""
        return number in self.right or all(isinstance(row[number], int | float) for row in self.rows)

    @property
    def has_ranges(self) -> bool:
        """Whether one of its bars is a range, and needs a legend."""
        return any(isinstance(cell, Bar) and cell.low < cell.high for row in self.rows for cell in row)


@dataclass(frozen=True, slots=True)
class Pasted:
    """Lines to paste as they are: of an option file or another one, SQL, PromQL, or a command.

    Attributes:
        language: As a fence in markdown names it.
    """

    text: str
    language: Literal["hcl", "ini", "json", "promql", "sh", "sql", "yaml"]


@dataclass(frozen=True, slots=True)
class Folded:
    """Blocks that a page unfolds by their summary; text and markdown leave them out."""

    summary: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """A finding or an outcome: its title, and what belongs to it.

    Attributes:
        mark: A word before the title: the severity.
        server: The server that it is about, where there are several.
    """

    title: str
    blocks: tuple[Block, ...]
    mark: str = ""
    tone: Tone | None = None
    server: str | Link = ""
    level: int = 2


Block: TypeAlias = Heading | Paragraph | Instructions | Details | TextTable | Pasted | Folded | Card


@dataclass(frozen=True, slots=True)
class TextDocument:
    """A whole document. Its title heads markdown and a page; a terminal has the command above it instead."""

    title: str
    blocks: tuple[Block, ...]


def plain(cell: Cell) -> str:
    """The text of a cell."""
    match cell:
        case None | Bar():
            return ""
        case Link() | Toned():
            return cell.text
        case str():
            return cell
        case _:
            return f"{cell:,}"
