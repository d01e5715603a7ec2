"""Facts have the types of their vocabulary; a fact that a capture does not show is None."""

from __future__ import annotations

from advisor import facts
from advisor.facts import GROUPS, LISTS
from tests.advisor.facts.capture_facts import facts_of


def test_settings_are_read_and_those_the_server_lacks_are_not_known() -> None:
    found = facts_of("mariadb-11.8/idle").setting
    assert found["innodb_old_blocks_pct"] == 37.0
    assert found["innodb_change_buffering"] is None
    assert found["innodb_parallel_read_threads"] is None


def test_every_fact_is_a_number_or_a_text_as_the_vocabulary_says() -> None:
    found = facts_of("mysql-9.7/repeated-scan")
    values = [*(getattr(found, group) for group in GROUPS), *found.lists["scans"]]
    for each in values:
        for name, kind in facts.vocabulary("x", type(each)).items():
            value = getattr(each, name.removeprefix("x."))
            assert value is None or type(value) is kind, name
    assert set(LISTS) == set(found.lists)
