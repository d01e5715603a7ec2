"""YAML files that a pydantic model describes; errors name file, line and column."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Generic, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedBase
from ruamel.yaml.constructor import RoundTripConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode
from ruamel.yaml.reader import ReaderError

from advisor.files.quantities import go_duration, size
from exporter import files

Key = str | int
Shape = TypeVar("Shape", bound=BaseModel)
Content_co = TypeVar("Content_co", bound=BaseModel | None, covariant=True)
Bytes = Annotated[int, BeforeValidator(size)]
Seconds = Annotated[float, BeforeValidator(go_duration)]

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
    "string_unicode": "half a surrogate pair is no character",
}
"""Pydantic's kinds of errors, in plain words."""
_UNKNOWN_KEY: Final = "unknown_key"
"""The kind of FileModel's error about a key."""
_WRITTEN = {"'": r"''|\S", '"': r'\\["\\/]|\S'}
"""By the quote of a value, a character that is no white space."""
LARGEST_BYTES = 256 << 10
"""Size of a file: reading one takes 60 µs a line, and the largest that came with the project has 40 KiB."""
_MOST_NODES = 50_000
"""Keys, values and lists of a file in which each alias stands for what it names: ten lines can name a billion."""
_LONGEST_MESSAGE = 500
"""Characters: a message quotes the wrong value."""


class FileModel(BaseModel):
    """Keys of a file: an unknown one is refused, with the keys that there are. Errors show no value."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_key(cls, written: object) -> object:
        keys = [field.alias or name for name, field in cls.model_fields.items()]
        for key in written if isinstance(written, Mapping) else ():
            if isinstance(key, str) and key not in keys:
                message = "there is no such key; there are {keys}"
                raise PydanticCustomError(_UNKNOWN_KEY, message, {"key": key, "keys": ", ".join(keys)})
        return written


class FileError(ValueError):
    """A file cannot be used; the text begins with file:line:column, or with the file where it cannot be read."""


@dataclass(frozen=True, slots=True)
class Document(Generic[Content_co]):
    """A file's content, and the positions in its text: line and column, both from 1, as an editor shows them.

    A ``path`` leads from the root of the YAML to a value, by keys and indices.

    Attributes:
        tree: As ruamel.yaml loads it for a round trip, with the positions of keys and values.
        content: As a model; None where it has no valid one.
    """

    path: Path
    text: str
    tree: Any
    content: Content_co

    def error(self, path: Sequence[Key], message: str, line: int = 1, column: int = 1) -> FileError:
        """An error at the value at ``path``, or at a character of its text."""
        return _wrong(self.path, self.value_position(path, line, column), f"{'.'.join(map(str, path))}: {message}")

    def key_position(self, path: Sequence[Key]) -> tuple[int, int]:
        """The position of the key at ``path``."""
        return self._positions(path)[0]

    def value_position(self, path: Sequence[Key], line: int = 1, column: int = 1) -> tuple[int, int]:
        """The position of the value at ``path``, or of a character in its text; of the key if the value is empty.

        A missing value has the position of its closest existing parent.
        """
        key, place, value = self._positions(path)
        begin = sum(map(len, self.text.splitlines(keepends=True)[: place[0] - 1])) + place[1] - 1
        if value is None and not re.compile("null|~", re.IGNORECASE).match(self.text, begin):
            return key
        is_block = self.text[begin : begin + 1] in ("|", ">")
        if not isinstance(value, str) or ((line, column) == (1, 1) and not is_block):
            return place
        before = value.split("\n")[: line - 1]
        return position(self.text, _index(self.text, begin, value, sum(map(len, before)) + len(before) + column - 1))

    def _positions(self, path: Sequence[Key]) -> tuple[tuple[int, int], tuple[int, int], Any]:
        """The positions of a key and its value, and the value; of an item of a list only the value's."""
        node = self.tree
        key = value = (node.lc.line + 1, node.lc.col + 1)
        for step in path:
            places = (isinstance(node, CommentedBase) and node.lc.data) or {}
            name = next((name for name in places if str(name) == str(step)), None)
            if name is None:
                break
            place = [number + 1 for number in places[name]]  # two numbers of an item; of a mapping the key's come first
            key, value = (place[0], place[1]), (place[-2], place[-1])
            node = node[name]
        return key, value, node


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
        return Document(path, text, tree, shape.model_validate(tree))
    except ValidationError as error:
        # An unknown key comes before a missing one: it is probably the same key, misspelt.
        first = min(error.errors(), key=lambda e: e["type"] not in (_UNKNOWN_KEY, "extra_forbidden"))
        raise _misshapen(Document(path, text, tree, None), first, kinds) from None


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
            return super().construct_object(node, deep=deep)
        except ValueError as error:
            raise MarkedYAMLError(problem=str(error), problem_mark=node.start_mark) from error


def _nodes(node: Any, counts: dict[int, float]) -> float:
    """The nodes in a tree whose aliases are followed; infinite where one stands for what it is in."""
    if id(node) not in counts:
        counts[id(node)] = math.inf  # while it is counted
        below = [part for pair in node.value for part in pair] if isinstance(node, MappingNode) else node.value
        counts[id(node)] = 1 + (0 if isinstance(node, ScalarNode) else sum(_nodes(part, counts) for part in below))
    return counts[id(node)]


def _wrong(path: Path, where: tuple[int, int], message: str) -> FileError:
    if len(message) > _LONGEST_MESSAGE:
        message = f"{message[:_LONGEST_MESSAGE]} …"
    return FileError(f"{path}:{where[0]}:{where[1]}: {message}")


def _misshapen(document: Document[None], error: ErrorDetails, kinds: frozenset[str]) -> FileError:
    keys = tuple(_keys(error["loc"], kinds))
    if error["type"] == _UNKNOWN_KEY:
        keys += (error["ctx"]["key"],)
    of_key = keys[-1:] == ("[key]",) or error["type"] in (_UNKNOWN_KEY, "extra_forbidden", "invalid_key")
    if keys[-1:] == ("[key]",):
        keys = keys[:-1]
    place = document.key_position(keys) if of_key else document.value_position(keys)
    message = _WORDS.get(error["type"], error["msg"].removeprefix("Value error, "))
    return _wrong(document.path, place, f"{'.'.join(map(str, keys))}: {message}" if keys else message)


def _keys(loc: tuple[Key, ...], kinds: frozenset[str]) -> Iterator[Key]:
    """The location of an error, without the kinds of the items of lists."""
    for before, key in zip((None, *loc), loc, strict=False):
        if not (isinstance(before, int) and key in kinds):
            yield key


def position(text: str, index: int) -> tuple[int, int]:
    """Line and column, both from 1, of the character at ``index``."""
    return text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)


def _index(text: str, begin: int, value: str, offset: int) -> int:
    """The index in a file of the character at ``offset`` of a value that begins at ``begin``.

    YAML folds, indents and continues white space. All other characters are the same in the file and in the value, but
    for quotes and backslashes that are escaped. A value with a rarer escape or a tag is pointed at as a whole.
    """
    style = text[begin]
    end = text.index("\n", begin) if style in "|>" else begin + (style in "\"'")
    written = re.compile(_WRITTEN.get(style, r"\S")).finditer(text, end)
    for expected, character in zip(re.finditer(r"\S", value[:offset]), written, strict=False):
        if character[0][-1] != expected[0]:
            return begin
        end = character.end()
    if offset < len(value) and not value[offset].isspace():
        end += len(text[end:]) - len(text[end:].lstrip())
    return end
