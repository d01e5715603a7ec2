"""The names that expressions may use are explained, each once."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from advisor import facts
from advisor.rules import glossary
from advisor.rules.glossary import Name


def test_every_name_of_every_group_is_there() -> None:
    names = {each.name for group in glossary.groups() for each in group.names}
    for group, shape in facts.GROUPS.items():
        assert facts.vocabulary(group, shape).keys() <= names
    assert {each.for_each for each in glossary.groups()} == {None, *facts.LISTS}


def test_a_meaning_is_that_of_the_docstring() -> None:
    names = {each.name: each for group in glossary.groups() for each in group.names}
    assert names["scan.passes"] == Name(
        "scan.passes", "number", "Scans in the window; a part of one counts as that part.", ("scan.passes",)
    )
    assert names["scan.schema"].kind == "text"


def test_a_setting_says_its_unit_or_its_words() -> None:
    names = {each.name: each.meaning for each in glossary.settings()}
    assert names["setting.innodb_old_blocks_pct"] == "percent"
    assert names["setting.innodb_change_buffering"].startswith("`none`, `inserts`")


@dataclass
class Documented:
    """A class.

    It says more.

    Attributes:
        one: With ``code``,
            over two lines.
        two, three: Together.
        four, five,
            six: Over two lines of names.
    """

    one: float
    two: float
    three: str
    four: float
    five: float
    six: float
    seven: bool


def test_docstrings_are_read_as_they_are_written_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "GROUPS", {"d": Documented})
    glossary.groups.cache_clear()
    try:
        group = glossary.groups()[0]
    finally:
        glossary.groups.cache_clear()
    assert group.about == "A class. It says more."
    assert glossary.table(group.names).splitlines()[2:] == [
        "| `d.one` | number | With `code`, over two lines. |",
        "| `d.two`, `d.three` | number, text | Together. |",
        "| `d.four`, `d.five`, `d.six` | number | Over two lines of names. |",
        "| `d.seven` | true or false |  |",
    ]


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("scan.pages > 2.0 * pool.pages", ["scan.pages", "pool.pages"]),
        ('a == \'b.c\' && "d\\"e" != f', ["a", "f"]),
        ("math.ceil(x_1)", ["math.ceil", "x_1"]),
        ("1.5e3 > 1e3", []),
    ],
)
def test_names_are_found_in_expressions(expression: str, names: list[str]) -> None:
    assert glossary.names_in(expression) == names
