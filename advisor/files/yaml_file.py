"""YAML files that a pydantic model describes; errors name file, line and column."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.constructor import RoundTripConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode
from ruamel.yaml.reader import ReaderError

from advisor.files.positions import Key, Positions, position
from exporter import files

_HALF = re.compile("[\ud800-\udfff]")
"""Which has no form in UTF-8."""
Shape = TypeVar("Shape", bound=BaseModel)

_WORDS = {
    "extra_forbidden": "there is no such key",
    "missing": "this key is missing",
    "string_type": "must be a text",
    "invalid_key": "a key must be a text",
    "string_too_short": "must not be empty",
    "float_type": "must be a number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "tuple_type": "must be a list",
    "too_short": "must not be empty",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
}
"""Pydantic's kinds of errors, in plain words."""


LARGEST_BYTES = 256 << 10
"""Size of a file: reading one takes 60 µs a line, and the largest that came with the project has 40 KiB."""
_MOST_NODES = 50_000
"""Keys, values and lists of a file in which each alias stands for what it names: ten lines can name a billion."""
_LONGEST_MESSAGE = 500
"""Characters: a message repeats what is wrong."""


class FileError(ValueError):
    """A file cannot be used; the text begins with file:line:column, or with the file where it cannot be read."""


@dataclass(frozen=True, slots=True)
class Document(Generic[Shape]):
    """A file's content, and its text for messages that point into it."""

    path: Path
    text: str
    content: Shape

    def error(self, path: tuple[Key, ...], message: str, line: int = 1, column: int = 1) -> FileError:
        """An error at the value at ``path``, or at a character of its text."""
        where = Positions(self.text).value(path, line, column)
        return _wrong(self.path, where, f"{'.'.join(map(str, path))}: {message}")


def read(
    path: Path, shape: type[Shape], is_what: str, kinds: frozenset[str] = frozenset(), *, root: type = Mapping
) -> Document[Shape]:
    """Read a file of this shape.

    Args:
        path: The file.
        shape: The model that it must match.
        is_what: The message for a file with another root: "a rule file is a mapping with id, …".
        kinds: Tags of the unions in ``shape``: pydantic puts them between the keys in the location of an error.
        root: The type of the file's root, a mapping or a list.

    Raises:
        FileError: It cannot be read, or anything in it is wrong.
    """
    return parse(path, content(path), shape, is_what, kinds, root=root)


def content(path: Path) -> str:
    """A file's text, with newlines as line ends.

    Raises:
        FileError: It cannot be read.
    """
    try:
        text = files.content(path, LARGEST_BYTES).decode("utf-8")
    except OSError as error:
        raise FileError(f"{path}: cannot read it: {error.strerror}") from error
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8")
        raise _wrong(path, position(before, len(before)), f"not UTF-8 text: {error.reason}") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse(
    path: Path,
    text: str,
    shape: type[Shape],
    is_what: str,
    kinds: frozenset[str] = frozenset(),
    *,
    root: type = Mapping,
) -> Document[Shape]:
    """The text of a file, as ``read`` has it.

    Raises:
        FileError: Anything in it is wrong.
    """
    try:
        yaml = YAML(typ="rt", pure=True)
        yaml.Constructor = _Constructor
        tree = yaml.load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise _wrong(path, where, error.problem or "not YAML") from None
    except ReaderError as error:
        forbidden = text[error.position : error.position + 1]
        raise _wrong(path, position(text, error.position), f"YAML forbids the character {forbidden!a}") from None
    except YAMLError as error:
        raise _wrong(path, (1, 1), f"not YAML: {error}") from None
    except RecursionError:
        raise _wrong(path, (1, 1), "nested too deeply") from None
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        # ruamel.yaml raises whatever it meets in a file that is damaged on purpose.
        raise _wrong(path, (1, 1), f"not YAML: {type(error).__name__}: {error}") from None
    if not isinstance(tree, root):
        raise _wrong(path, (1, 1), is_what)
    try:
        return Document(path, text, shape.model_validate(tree))
    except ValidationError as error:
        # An unknown key comes before a missing one: it is probably the same key, misspelt.
        first = min(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
        raise _misshapen(path, Positions(text), first, kinds) from None


class _Constructor(RoundTripConstructor):
    """Refuses aliases that multiply without end, before they are followed.

    Adds the position to errors of scalars that only look like a date, a number or a text, such
    as 2027-02-30.
    """

    def construct_document(self, node: Any) -> Any:
        if _nodes(node, {}) > _MOST_NODES:
            raise MarkedYAMLError(
                problem=f"its aliases stand for more than {_MOST_NODES:,} values", problem_mark=node.start_mark
            )
        return super().construct_document(node)

    def construct_object(self, node: Any, deep: bool = False) -> Any:  # noqa: FBT001, FBT002 - as ruamel has it
        try:
            found = super().construct_object(node, deep=deep)
        except ValueError as error:
            raise MarkedYAMLError(problem=str(error), problem_mark=node.start_mark) from error
        if isinstance(found, str) and _HALF.search(found):
            raise MarkedYAMLError(problem="half a surrogate pair is no character", problem_mark=node.start_mark)
        return found


def _nodes(node: Any, known: dict[int, float]) -> float:
    """The nodes in a tree whose aliases are followed; infinite where one stands for what it is in."""
    if id(node) not in known:
        known[id(node)] = math.inf  # while it is counted
        below = [each for pair in node.value for each in pair] if isinstance(node, MappingNode) else node.value
        known[id(node)] = 1 + (0 if isinstance(node, ScalarNode) else sum(_nodes(each, known) for each in below))
    return known[id(node)]


def _wrong(path: Path, where: tuple[int, int], message: str) -> FileError:
    if len(message) > _LONGEST_MESSAGE:
        message = f"{message[:_LONGEST_MESSAGE]} …"
    return FileError(f"{path}:{where[0]}:{where[1]}: {message}")


def _misshapen(path: Path, places: Positions, error: ErrorDetails, kinds: frozenset[str]) -> FileError:
    loc = tuple(_keys(error["loc"], kinds))
    of_key = loc[-1:] == ("[key]",) or error["type"] in ("extra_forbidden", "invalid_key")
    if loc[-1:] == ("[key]",):
        loc = loc[:-1]
    where = places.key(loc) if of_key else places.value(loc)
    message = _WORDS.get(error["type"], error["msg"].removeprefix("Value error, "))
    return _wrong(path, where, f"{'.'.join(map(str, loc))}: {message}" if loc else message)


def _keys(loc: tuple[Key, ...], kinds: frozenset[str]) -> Iterator[Key]:
    """The location of an error, without the kinds of the items of lists."""
    for before, key in zip((None, *loc), loc, strict=False):
        if not (isinstance(before, int) and key in kinds):
            yield key
