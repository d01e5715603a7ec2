"""Positions of keys and values in a YAML file: line and column as an editor shows them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

Key = str | int
_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")  # anchor and tag, which a node's own mark points at
_UNITS = {
    '"': re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|\r?\n|.)|[^\\]", re.DOTALL),
    "'": re.compile(r"''|.", re.DOTALL),
}
_CHARACTER = re.compile(r".", re.DOTALL)
_WHITE_ESCAPES = " \t\r\ntnvfrN_LP"


class Positions:
    """The positions in one YAML text. A ``path`` leads from the root to a value, by keys and indices."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._root = YAML(typ="rt", pure=True).compose(text)

    def value(self, path: Sequence[Key], line: int = 1, column: int = 1) -> tuple[int, int]:
        """The position of the value at ``path``, or of a character in its text; of the key if the value is empty.

        A missing value has the position of its closest existing parent.
        """
        key, node = self._find(path)
        if key is not None and node.start_mark.index == node.end_mark.index:
            return _shown(key)
        if not isinstance(node, ScalarNode) or ((line, column) == (1, 1) and node.style not in ("|", ">")):
            return _shown(node)
        text = node.value.replace("\a", "")  # ruamel.yaml marks where it folded
        before = text.split("\n")[: line - 1]
        return position(self._text, self._index(node, text, sum(map(len, before)) + len(before) + column - 1))

    def key(self, path: Sequence[Key]) -> tuple[int, int]:
        """The position of the key at ``path``."""
        key, node = self._find(path)
        return _shown(key or node)

    def _find(self, path: Sequence[Key]) -> tuple[Any, Any]:
        key, node = None, self._root
        for step in path:
            if isinstance(node, MappingNode):
                found = next((pair for pair in node.value if pair[0].value == str(step)), None)
            elif isinstance(node, SequenceNode) and isinstance(step, int) and step < len(node.value):
                found = (None, node.value[step])
            else:
                found = None
            if found is None:
                break
            key, node = found
        return key, node

    def _index(self, node: ScalarNode, text: str, offset: int) -> int:
        """The index in the file of the character at ``offset`` of a scalar's text.

        YAML folds, indents and continues white space. All other characters are the same in the file and in the text.
        """
        wanted = sum(not character.isspace() for character in text[:offset])
        units = self._units(node)
        if offset < len(text) and not text[offset].isspace():
            return next(islice(units, wanted, None), (node.start_mark.index, 0))[0]
        return next(islice(units, wanted - 1, None), (0, node.start_mark.index))[1] if wanted else node.start_mark.index

    def _units(self, node: ScalarNode) -> Iterator[tuple[int, int]]:
        """Begin and end in the file of each character of a scalar; without white space."""
        begin, end = node.start_mark.index, node.end_mark.index
        properties = _PROPERTIES.match(self._text, begin, end)
        begin = properties.end() if properties else begin
        if node.style in ("|", ">"):
            begin = self._text.index("\n", begin) + 1
        elif node.style:
            begin, end = begin + 1, end - 1
        for unit in _UNITS.get(node.style or "", _CHARACTER).finditer(self._text, begin, end):
            if not _white(unit):
                yield unit.span()


def position(text: str, index: int) -> tuple[int, int]:
    """Line and column, both from 1, of the character at ``index``."""
    return text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)


def _white(unit: re.Match[str]) -> bool:
    text = unit[0]
    if not text.startswith("\\") or len(text) == 1:
        return text.isspace()
    digits = next((digits for digits in unit.groups() if digits), None)
    return chr(int(digits, 16)).isspace() if digits else text[-1] in _WHITE_ESCAPES


def _shown(node: Any) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1
