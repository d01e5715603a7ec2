"""Every name that expressions may use is explained."""

from __future__ import annotations

from advisor import facts
from advisor.rules import glossary
from advisor.rules.glossary import Name


def test_every_name_of_every_group_is_explained() -> None:
    names = {each.name for group in glossary.groups() for each in group.names if each.meaning}
    for group, shape in [*facts.GROUPS.items(), *facts.LISTS.values()]:
        assert facts.vocabulary(group, shape).keys() <= names
    assert {each.for_each for each in glossary.groups()} == {None, *facts.LISTS}
    assert all(group.about for group in glossary.groups())


def test_a_name_has_the_type_unit_and_meaning_of_its_field() -> None:
    names = {each.name: each for group in glossary.groups() for each in group.names}
    assert names["scan.passes"] == Name(
        "scan.passes", "number", "scans", "Scans in the window; a part of one counts as that part."
    )
    assert (names["scan.schema"].kind, names["scan.schema"].unit) == ("text", "")


def test_a_setting_says_its_unit_or_its_words() -> None:
    names = {each.name: each.meaning for each in glossary.settings()}
    assert names["setting.innodb_old_blocks_pct"] == "percent"
    assert names["setting.innodb_change_buffering"].startswith("`none`, `inserts`")


def test_a_table_has_a_row_for_each_name() -> None:
    names = [Name("a.b", "number", "pages", "One | two."), Name("a.c", "true or false", "", "Three.")]
    assert glossary.table(names).splitlines()[2:] == [
        "| `a.b` | number (pages) | One / two. |",
        "| `a.c` | true or false | Three. |",
    ]
