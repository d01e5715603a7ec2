"""Settings of writes: said where the window shows them, and never with a number."""

from __future__ import annotations

from typing import Any

import pytest

from advisor.upgrade.writes import SETTINGS_OF_WRITES, writes
from exporter.knowledge import SETTINGS
from tests.advisor.upgrade.upgrades import said, upgrade_of

NEIGHBORS = "innodb_flush_neighbors"


def test_a_server_that_writes_hears_of_its_flushing() -> None:
    effects = said(writes, upgrade_of("mysql-8.0/write-pressure", "8.4"))
    assert {"innodb_io_capacity", "innodb_doublewrite_pages"} <= set(effects)
    assert all(effect.quantity is None and effect.evidence for effect in effects.values())
    assert all(effect.references for effect in effects.values())


def test_purge_is_said_with_its_history() -> None:
    altered = {"machine": {"cores": 4, "cores_source": "cpu affinity"}}
    effect = said(writes, upgrade_of("mysql-8.0/write-pressure", "9.7", **altered))["innodb_purge_threads"]
    assert (effect.from_, effect.to) == (4, 1)
    assert [evidence.name for evidence in effect.evidence][:2] == ["rows_changed_per_second", "history_list"]


def test_flushing_that_begins_earlier_is_said_of_dirty_pools() -> None:
    effects = said(writes, upgrade_of("mysql-5.6/write-pressure", "8.0"))
    assert effects["innodb_max_dirty_pages_pct_lwm"].to == 10


@pytest.mark.parametrize(("storage", "lines"), [("hdd", [f"{NEIGHBORS} = 1"]), ("ssd", [])])
def test_neighbours_are_worth_a_line_on_a_hard_disk(storage: str, lines: list[str]) -> None:
    machine: dict[str, Any] = {"storage_configured": storage, "rotational": None}
    effect = said(writes, upgrade_of("mysql-5.6/change-buffer-merges", "8.0", machine=machine))[NEIGHBORS]
    assert [line.line for line in effect.keep] == lines


@pytest.mark.parametrize(
    ("recording", "to"), [("mysql-5.6/repeated-scan", "8.4"), ("mysql-5.7/idle", "8.4"), ("mariadb-10.11/idle", "11.8")]
)
def test_servers_that_do_not_write_hear_nothing(recording: str, to: str) -> None:
    assert list(writes(upgrade_of(recording, to))) == []


def test_the_settings_are_known() -> None:
    assert {of_writes.name for of_writes in SETTINGS_OF_WRITES} <= set(SETTINGS)


def test_a_smaller_redo_log_gets_a_line_where_it_is_used() -> None:
    altered = {"settings": {"innodb_log_file_size": 2**26, "innodb_log_files_in_group": 2}}
    effect = said(writes, upgrade_of("mysql-5.6/write-pressure", "9.7", **altered))["innodb_redo_log_capacity"]
    assert (effect.from_, effect.better) == (2**27, False)
    assert [line.line for line in effect.keep] == ["innodb_redo_log_capacity = 134217728"]


def test_a_redo_log_of_the_same_size_is_not_worth_a_word() -> None:
    assert "innodb_redo_log_capacity" not in said(writes, upgrade_of("mysql-8.0/write-pressure", "8.4"))
