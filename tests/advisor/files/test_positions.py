"""Every character of a YAML value is found where it stands in the file, however the value is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from advisor.files.yaml_file import Document, Key, position

TEXT = """\
# a comment
plain: one two
continued: one
  two
single: 'it''s # two'
double: "a \\"b\\" \\\\ é
  two"
folded: >-   # a comment
  one

    more

  two
literal: |2
    one
  two
flow: {a: "q", 'b': [one, two], c: , d: x}
list:
  - one
  -
  - deep: two
empty:
wide: "😀 two"
escaped: "a\\tb two"
"""


def document(text: str) -> Document[None]:
    return Document(Path("a.yaml"), text, YAML().load(text), None)


def lines(text: str) -> list[str]:
    return text.split("\n")


def pointed(text: str, place: tuple[int, int], length: int = 3) -> str:
    line, column = place
    return lines(text)[line - 1][column - 1 : column - 1 + length]


def value(tree: Any, path: tuple[Key, ...]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


@pytest.mark.parametrize(
    "path",
    [
        ("plain",),
        ("continued",),
        ("single",),
        ("double",),
        ("folded",),
        ("literal",),
        ("flow", "b", 1),
        ("list", 2, "deep"),
        ("wide",),
    ],
    ids=lambda path: ".".join(map(str, path)),
)
def test_a_word_within_a_value_is_found(path: tuple[Key, ...]) -> None:
    text = str(getattr(scalar := value(YAML().load(TEXT), path), "value", scalar))
    line, column = position(text, text.index("two"))
    assert pointed(TEXT, document(TEXT).value_position(path, line, column)) == "two"


@pytest.mark.parametrize("path", [("plain",), ("single",), ("double",), ("folded",), ("literal",)])
def test_the_end_of_a_value_is_behind_its_last_character(path: tuple[Key, ...]) -> None:
    text = str(getattr(scalar := value(YAML().load(TEXT), path), "value", scalar)).rstrip()
    line, column = document(TEXT).value_position(path, *position(text, len(text)))
    assert pointed(TEXT, (line, column - 3)) == "two"


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (("plain",), (2, 8)),
        (("single",), (5, 9)),
        (("folded",), (9, 3)),
        (("flow",), (17, 7)),
        (("flow", "a"), (17, 11)),
        (("flow", "b"), (17, 21)),
        (("flow", "c"), (17, 33)),
        (("list", 1), (20, 4)),
        (("empty",), (22, 1)),
        (("list", 7), (19, 3)),
        (("list", 2, "absent", "below"), (21, 5)),
        (("absent",), (2, 1)),
    ],
)
def test_a_value_has_its_place_and_an_absent_one_that_of_what_would_hold_it(
    path: tuple[Key, ...], place: tuple[int, int]
) -> None:
    assert document(TEXT).value_position(path) == place


def test_a_value_with_a_rare_escape_is_pointed_at_as_a_whole() -> None:
    assert document(TEXT).value_position(("escaped",), 1, 5) == (24, 10)


@pytest.mark.parametrize(("path", "place"), [(("flow", "b"), (17, 16)), (("list", 2, "deep"), (21, 5))])
def test_a_key_has_its_place(path: tuple[Key, ...], place: tuple[int, int]) -> None:
    assert document(TEXT).key_position(path) == place


WORDS = st.lists(st.text("abcé'\"\\#:{}&!|>-", min_size=1, max_size=4), min_size=1, max_size=8)


STYLES: dict[str, Callable[[list[str]], str]] = {
    "'": lambda words: "'" + "\n    ".join(words).replace("'", "''") + "'",
    '"': lambda words: '"' + "\n    ".join(words).replace("\\", "\\\\").replace('"', '\\"') + '"',
    "|": lambda words: "|-\n    " + "\n    ".join(words),
    ">": lambda words: ">-\n    " + "\n    ".join(words),
}


@given(words=WORDS, style=st.sampled_from(list(STYLES)), data=st.data())
def test_any_word_of_any_style_is_found(words: list[str], style: str, data: st.DataObject) -> None:
    write = STYLES[style]
    text = f"key:\n  - {write(words)}\n"
    loaded = str(YAML().load(text)["key"][0])
    number = data.draw(st.integers(0, len(words) - 1))
    offset = sum(map(len, words[:number])) + number  # a line break or a blank between two
    assert loaded[offset:].startswith(words[number])

    line, column = document(text).value_position(("key", 0), *position(loaded, offset))
    quoted = style in "'\""
    column += quoted and number == 0  # a value's own place is its quote
    assert line == number + (2 if quoted else 3)
    assert lines(text)[line - 1][column - 1 :].startswith(write([words[number]])[1:-1] if quoted else words[number])
