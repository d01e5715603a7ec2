"""What an upgrade makes of the settings: the computed defaults are those of real servers, and what is set stays."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ruamel.yaml import YAML

from advisor.contract.settings import SETTINGS, SettingValue
from advisor.observe.window import Window
from advisor.upgrade.defaults import FORMULAS, ServerStart, settings_of
from exporter.collectors.machine import Machine
from exporter.knowledge import Computed
from tests.advisor.building import capture, captured, server, snapshot, variables

GIB = 2.0**30
CHANGE_BUFFERING = "innodb_change_buffering"
IDLE = [
    "mysql-5.6/idle", "mysql-5.7/idle", "mysql-8.0/idle", "mysql-9.7/idle",
    "mariadb-10.5/idle", "mariadb-10.11/idle", "mariadb-11.8/idle",
]  # fmt: skip


def test_every_formula_of_the_knowledge_file_is_there_and_used() -> None:
    defaults = [default for setting in SETTINGS.values() for default in setting.entry.default.values()]
    assert {default.computed for default in defaults if isinstance(default, Computed)} == set(FORMULAS)


@pytest.mark.parametrize("name", IDLE)
def test_a_recorded_server_has_the_defaults_that_are_computed_for_it(name: str) -> None:
    window = captured(name)
    options = YAML(typ="safe").load(capture(name).with_name("note.yaml"))["options"]
    different = {
        setting.name
        for setting in settings_of(window, window.latest.server, None).values()
        if setting.at_default is False
    }
    assert different <= {option.replace("-", "_") for option in options}


@pytest.mark.parametrize("name", IDLE)
def test_the_same_version_changes_nothing(name: str) -> None:
    window = captured(name)
    assert [name for name, setting in settings_of(window, window.latest.server, None).items() if setting.moves] == []


@pytest.mark.parametrize(
    ("configured", "at_default", "after"),
    [(None, None, "none"), ({}, True, "none"), ({CHANGE_BUFFERING: "all"}, False, "all")],
)
def test_what_is_set_keeps_its_value(
    configured: dict[str, SettingValue] | None, *, at_default: bool | None, after: str
) -> None:
    setting = settings_of(captured("mysql-8.0/idle"), server("8.4.6"), configured)[CHANGE_BUFFERING]
    assert (setting.before, setting.after, setting.at_default) == ("all", after, at_default)


def test_without_origins_another_value_than_the_default_counts_as_set() -> None:
    window = Window((snapshot(10.0, of=server("8.0.43"), variables=variables(innodb_old_blocks_pct="20")),))
    setting = settings_of(window, server("8.4.6"), None)["innodb_old_blocks_pct"]
    assert (setting.before, setting.after, setting.at_default) == (20.0, 20.0, False)


def test_a_value_of_set_global_goes_with_the_restart() -> None:
    window = Window((snapshot(10.0, of=server("8.0.43"), variables=variables(innodb_old_blocks_pct="20")),))
    setting = settings_of(window, server("8.4.6"), {})["innodb_old_blocks_pct"]
    assert (setting.before, setting.after, setting.at_default) == (20.0, 37.0, False)


@pytest.mark.parametrize(
    ("before", "after", "name", "moves"),
    [
        ("5.7.44", "8.0.43", "innodb_flush_method", False),    # "" and fsync are one
        ("8.0.43", "8.4.6", "innodb_flush_method", True),
    ],
)  # fmt: skip
def test_an_empty_value_is_the_one_that_it_stands_for(before: str, after: str, name: str, *, moves: bool) -> None:
    printed = "" if before == "5.7.44" else "fsync"
    window = Window((snapshot(10.0, of=server(before), variables=variables(innodb_flush_method=printed)),))
    assert settings_of(window, server(after), None)[name].moves == moves


def on(machine: Machine, version: str, **set_values: SettingValue) -> ServerStart:
    return ServerStart.on(machine, server(version), set_values)


LARGE = Machine(cores=64.0, cores_source="cpu affinity", memory_bytes=256 * int(GIB), memory_source="MemTotal")
CONTAINER = replace(LARGE, cores=2.5, cores_source="cgroup cpu.max", memory_source="cgroup memory.max")


@pytest.mark.parametrize(
    ("version", "name", "value"),
    [
        ("8.0.43", "innodb_buffer_pool_instances", 8.0),
        ("8.4.6", "innodb_buffer_pool_instances", 16.0),
        ("8.4.6", "innodb_page_cleaners", 16.0),
        ("8.0.43", "innodb_page_cleaners", 4.0),
        ("8.0.43", "innodb_parallel_read_threads", 4.0),
        ("8.4.6", "innodb_parallel_read_threads", 8.0),
        ("8.4.6", "innodb_read_io_threads", 32.0),
        ("8.4.6", "innodb_io_capacity_max", 20_000.0),
        ("8.0.43", "innodb_io_capacity_max", 2_000.0),
    ],
)
def test_a_large_machine_has_defaults_of_its_own(version: str, name: str, value: SettingValue) -> None:
    assert on(LARGE, version, innodb_buffer_pool_size=100 * GIB).value(name) == value


def test_a_container_hides_the_cores_that_older_versions_count() -> None:
    assert on(CONTAINER, "8.4.6").value("innodb_parallel_read_threads") is None
    assert on(CONTAINER, "9.7.4").value("innodb_parallel_read_threads") == 4.0


def test_a_pool_is_rounded_by_the_new_instances() -> None:
    small = replace(LARGE, cores=4.0)
    assert on(small, "8.0.43", innodb_buffer_pool_size=1.5 * GIB).value("innodb_buffer_pool_size") == 2 * GIB
    assert on(small, "8.4.6", innodb_buffer_pool_size=1.5 * GIB).value("innodb_buffer_pool_size") == 1.5 * GIB


def test_a_value_beyond_the_new_range_is_held_within_it() -> None:
    assert on(LARGE, "8.0.30", innodb_redo_log_capacity=2.0**38).value("innodb_redo_log_capacity") == 2.0**37
    assert on(LARGE, "9.7.4", innodb_log_file_size=GIB).value("innodb_log_file_size") is None
    assert on(LARGE, "9.7.4", innodb_flush_method="ALL_O_DIRECT").value("innodb_flush_method") is None
