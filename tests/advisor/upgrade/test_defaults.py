"""What an upgrade makes of the settings: the computed defaults are those of real servers, and what is set stays."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ruamel.yaml import YAML

from advisor.contract.settings import SETTINGS, SettingValue
from advisor.observe.window import Window
from advisor.upgrade.defaults import FORMULAS, settings_of
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
    different = {setting.name for setting in settings_of(window, window.latest.server, None).values() if setting.is_set}
    assert different <= {option.replace("-", "_") for option in options}


@pytest.mark.parametrize("name", IDLE)
def test_the_same_version_changes_nothing(name: str) -> None:
    window = captured(name)
    assert [name for name, setting in settings_of(window, window.latest.server, None).items() if setting.moves] == []


@pytest.mark.parametrize(
    ("configured", "is_set", "after"),
    [(None, False, "none"), ({}, False, "none"), ({CHANGE_BUFFERING: "all"}, True, "all")],
)
def test_what_is_set_keeps_its_value(configured: dict[str, SettingValue] | None, *, is_set: bool, after: str) -> None:
    setting = settings_of(captured("mysql-8.0/idle"), server("8.4.6"), configured)[CHANGE_BUFFERING]
    assert (setting.before, setting.after, setting.is_set) == ("all", after, is_set)


def test_without_origins_another_value_than_the_default_counts_as_set() -> None:
    window = Window((snapshot(10.0, of=server("8.0.43"), variables=variables(innodb_old_blocks_pct="20")),))
    setting = settings_of(window, server("8.4.6"), None)["innodb_old_blocks_pct"]
    assert (setting.before, setting.after, setting.is_set) == (20.0, 20.0, True)


def test_a_value_of_set_global_goes_with_the_restart() -> None:
    window = Window((snapshot(10.0, of=server("8.0.43"), variables=variables(innodb_old_blocks_pct="20")),))
    setting = settings_of(window, server("8.4.6"), {})["innodb_old_blocks_pct"]
    assert (setting.before, setting.after, setting.is_set) == (20.0, 37.0, True)


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


def on_machine(machine: Machine, version: str, **printed: str) -> dict[str, SettingValue | None]:
    """The settings of a version on a machine, where an older one has these values, and those that are set."""
    window = Window((snapshot(10.0, of=server("8.0.43"), machine=machine, variables=printed),))
    read = {name: SETTINGS[name].read(text) for name, text in printed.items() if name in SETTINGS}
    configured = {name: value for name, value in read.items() if value is not None}
    return {name: setting.after for name, setting in settings_of(window, server(version), configured).items()}


LARGE = Machine(cores=64.0, cores_source="cpu affinity", memory_bytes=256 << 30, memory_source="MemTotal")
SMALL = replace(LARGE, cores=4.0, memory_bytes=8 << 30)
CONTAINER = replace(LARGE, cores=2.5, cores_source="cgroup cpu.max", memory_source="cgroup memory.max")
HOSTED = replace(CONTAINER, host_cores=64, host_memory_bytes=256 << 30)
POOL = str(100 << 30)


@pytest.mark.parametrize(
    ("machine", "version", "name", "value"),
    [
        (LARGE, "8.0.43", "innodb_buffer_pool_instances", 8.0),
        (LARGE, "8.4.6", "innodb_buffer_pool_instances", 16.0),
        (LARGE, "8.0.43", "innodb_page_cleaners", 4.0),
        (LARGE, "8.4.6", "innodb_page_cleaners", 16.0),
        (LARGE, "8.0.43", "innodb_parallel_read_threads", 4.0),
        (LARGE, "8.4.6", "innodb_parallel_read_threads", 8.0),
        (LARGE, "8.4.6", "innodb_read_io_threads", 32.0),
        (LARGE, "8.0.43", "innodb_io_capacity_max", 2000.0),
        (LARGE, "8.4.6", "innodb_io_capacity_max", 20_000.0),
        (SMALL, "8.4.6", "innodb_purge_threads", 1.0),
        (LARGE, "8.4.6", "innodb_purge_threads", 4.0),
        (SMALL, "8.4.6", "temptable_max_ram", GIB),
        (LARGE, "8.4.6", "temptable_max_ram", 4 * GIB),
        (SMALL, "9.4.0", "innodb_log_writer_threads", "OFF"),
        (LARGE, "9.4.0", "innodb_log_writer_threads", "ON"),
        (SMALL, "9.7.4", "innodb_log_writer_threads", "OFF"),
        (LARGE, "9.7.4", "innodb_log_writer_threads", "ON"),
        (replace(LARGE, cores=16.0), "9.7.4", "innodb_log_writer_threads", None),  # the binary log decides
        (LARGE, "8.4.6", "innodb_redo_log_capacity", 100 * 2.0**20),
        (CONTAINER, "8.4.6", "innodb_parallel_read_threads", None),
        (HOSTED, "8.4.6", "innodb_parallel_read_threads", 8.0),
        (HOSTED, "8.4.6", "temptable_max_ram", 4 * GIB),
        (CONTAINER, "8.4.6", "innodb_log_writer_threads", "ON"),
        (CONTAINER, "9.7.4", "innodb_log_writer_threads", None),
        (CONTAINER, "8.4.6", "temptable_max_ram", None),
    ],
)
def test_a_default_follows_the_machine(machine: Machine, version: str, name: str, value: SettingValue | None) -> None:
    assert on_machine(machine, version, innodb_buffer_pool_size=POOL)[name] == value


@pytest.mark.parametrize(
    ("version", "pool", "capacity"),
    [("8.0.43", 192 * GIB, 128 * GIB), ("8.4.6", 192 * GIB, 16 * GIB), ("9.7.4", 192 * GIB, 16 * GIB)],
)
def test_a_dedicated_server_takes_the_machine(version: str, pool: float, capacity: float) -> None:
    settings = on_machine(LARGE, version, innodb_dedicated_server="ON")
    assert (settings["innodb_buffer_pool_size"], settings["innodb_redo_log_capacity"]) == (pool, capacity)


@pytest.mark.parametrize(
    ("memory", "pool", "capacity"), [(0.5, 0.125, 100 / 1024), (4.0, 2.0, 1.0), (8.0, 6.0, 3.0), (32.0, 24.0, 18.0)]
)
def test_a_dedicated_server_takes_less_of_a_smaller_machine(memory: float, pool: float, capacity: float) -> None:
    """In GiB."""
    machine = replace(LARGE, memory_bytes=int(memory * GIB))
    settings = on_machine(machine, "8.0.43", innodb_dedicated_server="ON")
    assert settings["innodb_buffer_pool_size"] == pool * GIB
    assert settings["innodb_redo_log_capacity"] == capacity * GIB
    assert on_machine(CONTAINER, "8.0.43", innodb_dedicated_server="ON")["innodb_buffer_pool_size"] is None


def test_a_server_that_is_aware_of_its_container_counts_its_limits() -> None:
    settings = on_machine(HOSTED, "9.7.4", container_aware="ON")
    assert (settings["innodb_parallel_read_threads"], settings["innodb_log_writer_threads"]) == (4.0, "OFF")


@pytest.mark.parametrize(("version", "capacity"), [("8.0.43", 2 * GIB), ("8.4.6", 2 * GIB), ("9.7.4", 100 * 2.0**20)])
def test_log_files_that_are_set_are_the_capacity_of_some_versions(version: str, capacity: float) -> None:
    assert on_machine(SMALL, version, innodb_log_file_size=str(1 << 30))["innodb_redo_log_capacity"] == capacity


def test_a_pool_is_rounded_by_the_new_instances() -> None:
    size = str(3 << 29)
    assert on_machine(SMALL, "8.0.43", innodb_buffer_pool_size=size)["innodb_buffer_pool_size"] == 2 * GIB
    assert on_machine(SMALL, "8.4.6", innodb_buffer_pool_size=size)["innodb_buffer_pool_size"] == 1.5 * GIB


def test_a_value_that_the_new_version_does_not_take_is_held_within_its_range_or_not_known() -> None:
    assert on_machine(LARGE, "8.0.30", innodb_redo_log_capacity=str(1 << 38))["innodb_redo_log_capacity"] == 2.0**37
    assert on_machine(LARGE, "9.7.4", innodb_log_file_size=str(1 << 30))["innodb_log_file_size"] is None
    assert on_machine(LARGE, "9.7.4", innodb_flush_method="ALL_O_DIRECT")["innodb_flush_method"] is None


def test_a_recording_without_a_variable_says_nothing_of_it() -> None:
    setting = settings_of(captured("mysql-8.0/idle"), server("8.4.6"), None)["temptable_max_mmap"]
    assert (setting.before, setting.after, setting.is_set) == (None, None, False)
