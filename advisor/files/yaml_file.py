"""YAML files that a pydantic model describes; errors name file, line and column."""

from __future__ import annotations

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
from ruamel.yaml.reader import ReaderError

from advisor.files.positions import Key, Positions, position

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
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise FileError(f"{path}: cannot read it: {error.strerror}") from error
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8")
        raise _wrong(path, position(before, len(before)), f"not UTF-8 text: {error.reason}") from None
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
    if not isinstance(tree, root):
        raise _wrong(path, (1, 1), is_what)
    try:
        return Document(path, text, shape.model_validate(tree))
    except ValidationError as error:
        # An unknown key comes before a missing one: it is probably the same key, misspelt.
        first = min(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
        raise _misshapen(path, Positions(text), first, kinds) from None


class _Constructor(RoundTripConstructor):
    """Adds the position to errors of scalars that only look like a date, a number or a text, such as 2027-02-30."""

    def construct_object(self, node: Any, deep: bool = False) -> Any:  # noqa: FBT001, FBT002 - as ruamel has it
        try:
            found = super().construct_object(node, deep=deep)
        except ValueError as error:
            raise MarkedYAMLError(problem=str(error), problem_mark=node.start_mark) from error
        if isinstance(found, str) and _HALF.search(found):
            raise MarkedYAMLError(problem="half a surrogate pair is no character", problem_mark=node.start_mark)
        return found


def _wrong(path: Path, where: tuple[int, int], message: str) -> FileError:
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
