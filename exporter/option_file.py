"""Option files (my.cnf), read as the server and its clients read them (mysys/my_default.cc)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_SPACE = " \t\r\n\v\f"
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "s": " ", '"': '"', "'": "'", "\\": "\\"}
_ESCAPE = re.compile(r"""\\([ntrbs"'\\])""")


class OptionFileError(ValueError):
    """The text is no option file. The message does not quote it: a line may hold a password."""

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line}: not an option file ([section] and name = value)")
        self.line = line


@dataclass(frozen=True, slots=True)
class Option:
    """A line."""

    group: str
    name: str
    """In lower case, with ``-`` between words."""
    value: str | None
    """Without quotes; None where the line has no ``=``."""
    line: int
    """Its number in the text, from 1."""


@dataclass(frozen=True, slots=True)
class OptionFile:
    """The contents of a file."""

    groups: Mapping[str, int]
    """By name: the number of the last line that is its header or an option of it."""
    options: tuple[Option, ...]
    """In their order: of equal names the last one counts."""
    includes: tuple[str, ...]
    """The lines !include and !includedir, which are not followed."""


def read(text: str) -> OptionFile:
    """The options of a file's text.

    Raises:
        OptionFileError: It is not an option file.
    """
    groups: dict[str, int] = {}
    options, includes = [], []
    group = None
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip(_SPACE)
        if line.startswith("!include"):
            includes.append(line)
        if not line or line[0] in "#;!":
            continue
        if line[0] == "[" and "]" in line:
            group = line[1 : line.index("]")].rstrip(_SPACE)
            groups[group] = number
            continue
        if line[0] == "[" or group is None:
            raise OptionFileError(number)
        name, equals, value = _without_comment(line).partition("=")
        name = name.rstrip(_SPACE).lower().replace("_", "-")
        options.append(Option(group, name, _value(value.strip(_SPACE)) if equals else None, number))
        groups[group] = number
    return OptionFile(groups, tuple(options), tuple(includes))


def with_value(line: str, value: str) -> str:
    """An option's line with another value, written as an option file takes it. Its name, spaces and comment stay."""
    bare = _without_comment(line)
    name, equals, before = bare.partition("=")
    named, space = (name, before[: len(before) - len(before.lstrip(_SPACE))]) if equals else (name.rstrip(_SPACE), " ")
    end = bare[len(bare.rstrip(_SPACE)) :] + line[len(bare) :]
    return f"{named}{'=' if equals else ' ='}{space}{value}{end}"


def _without_comment(line: str) -> str:
    """The line up to a ``#`` that is outside quotes."""
    quote, escaped = "", False
    for position, character in enumerate(line):
        if character in "\"'" and not escaped:
            quote = "" if quote == character else quote or character
        if character == "#" and not quote:
            return line[:position]
        escaped = bool(quote) and character == "\\" and not escaped
    return line


def _value(value: str) -> str:
    """A value without the quotes around it, its escapes undone."""
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    return _ESCAPE.sub(lambda match: _ESCAPED[match[1]], value)
