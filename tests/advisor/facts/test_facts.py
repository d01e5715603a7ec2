"""Facts have the types that expressions are checked with; a fact that a capture does not show is None."""

from __future__ import annotations

import pytest

from advisor import facts
from advisor.facts import GROUPS, LISTS, facts_in
from tests.advisor.facts.capture_facts import facts_of


def test_settings_are_read_and_those_the_server_lacks_are_not_known() -> None:
    settings = facts_of("mariadb-11.8/idle").setting
    assert settings["innodb_old_blocks_pct"] == 37.0
    assert settings["innodb_change_buffering"] is None
    assert settings["innodb_parallel_read_threads"] is None


def test_every_fact_has_the_type_of_its_field() -> None:
    of_capture = facts_of("mysql-9.7/repeated-scan")
    for group in [*(getattr(of_capture, name) for name in GROUPS), *of_capture.lists["scans"]]:
        for fact in facts_in("x", group.__class__):
            value = getattr(group, fact.name.removeprefix("x."))
            assert value is None or type(value) is fact.kind, fact
    assert set(LISTS) == set(of_capture.lists)


@pytest.mark.parametrize("for_each", LISTS)
def test_a_rule_may_name_settings_groups_and_the_items_of_its_own_list(for_each: str) -> None:
    names = facts.names(for_each, choose=False)
    item, _ = LISTS[for_each]
    assert {name.partition(".")[0] for name in names} == {"setting", *GROUPS, item}
    assert {name for name in facts.names(for_each, choose=True) if name not in names} == {
        fact.name for fact in facts_in("choice", facts.Choice)
    }


def test_a_name_has_the_type_unit_and_meaning_of_its_field() -> None:
    fact = facts.names("scans", choose=False)["scan.passes"]
    assert (fact.kind, fact.unit) == (float, "scans")
    assert fact.meaning == "Scans in the window; a part of one counts as that part."


def test_a_setting_says_its_unit_or_its_words() -> None:
    meanings = {fact.name: fact.meaning for fact in facts.SETTING_FACTS}
    assert meanings["setting.innodb_old_blocks_pct"] == "percent"
    assert meanings["setting.innodb_change_buffering"].startswith("`none`, `inserts`")
