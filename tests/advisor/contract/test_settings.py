"""Values of settings are parsed as people and servers write them; tests/live/test_changes.py tries real servers."""

from __future__ import annotations

import pytest
from ruamel.yaml import YAML

from advisor.contract.settings import SETTINGS, SettingValue
from exporter.knowledge import Computed
from exporter.server import identify
from tests.advisor.building import capture, captured
from tests.advisor.building import server as server_of


@pytest.mark.parametrize(
    ("name", "printed", "value"),
    [
        ("innodb_old_blocks_pct", "37", 37.0),
        ("innodb_buffer_pool_size", "134217728", 134_217_728.0),
        ("innodb_change_buffering", "none", "none"),
        ("innodb_flush_method", "", ""),
        ("innodb_old_blocks_pct", None, None),
        ("innodb_old_blocks_pct", "ON", None),
    ],
)
def test_a_printed_value_is_read(name: str, printed: str | None, value: SettingValue | None) -> None:
    assert SETTINGS[name].read(printed) == value


@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [
        ("innodb_old_blocks_pct", 5.0, True),
        ("innodb_old_blocks_pct", 95.0, True),
        ("innodb_old_blocks_pct", 4.0, False),
        ("innodb_old_blocks_pct", 96.0, False),
        ("innodb_old_blocks_pct", 37.5, False),
        ("innodb_old_blocks_pct", float("inf"), False),
        ("innodb_old_blocks_pct", float("nan"), False),
        ("innodb_old_blocks_pct", "37", False),
        ("innodb_change_buffering", "none", True),
        ("innodb_change_buffering", "some", False),
        ("innodb_change_buffering", 0.0, False),
    ],
)
def test_only_a_value_of_its_kind_and_range_is_accepted(name: str, value: SettingValue, *, accepted: bool) -> None:
    assert SETTINGS[name].accepts(value) == accepted


@pytest.mark.parametrize(
    ("name", "written", "value"),
    [
        ("innodb_buffer_pool_size", "4G", 4 * 2.0**30),
        ("innodb_buffer_pool_size", "1.5g", 1.5 * 2**30),
        ("innodb_buffer_pool_size", " 512 MiB ", 2.0**29),
        ("innodb_buffer_pool_size", "1TB", 2.0**40),
        ("innodb_buffer_pool_size", 134_217_728, 2.0**27),
        ("innodb_old_blocks_pct", "80", 80.0),
        ("innodb_change_buffering", "none", "none"),
        ("innodb_change_buffering", " ALL ", "all"),
        ("innodb_flush_method", "o_direct", "O_DIRECT"),
        ("innodb_random_read_ahead", "on", "ON"),
        ("innodb_random_read_ahead", "true", "ON"),
        ("innodb_random_read_ahead", "0", "OFF"),
        ("innodb_random_read_ahead", 1, "ON"),
        ("innodb_random_read_ahead", 0.0, "OFF"),
    ],
)
def test_values_are_parsed_as_people_write_them(name: str, written: SettingValue, value: SettingValue) -> None:
    assert SETTINGS[name].parse(written) == value


@pytest.mark.parametrize(
    ("name", "written", "message"),
    [
        ("innodb_old_blocks_pct", "96", "96 is not a whole number from 5 to 95"),
        ("innodb_old_blocks_pct", 4.5, "4.5 is not a whole number from 5 to 95"),
        ("innodb_old_blocks_pct", "1e1", "1e1 is not a whole number from 5 to 95"),
        ("innodb_old_blocks_pct", "", " is not a whole number from 5 to 95"),
        ("innodb_lru_scan_depth", "1", "1 is not a whole number from 100 to 4294967295"),
        ("innodb_buffer_pool_size", "1K", "1K is not a whole number from 5242880 on"),
        ("innodb_random_read_ahead", "yes", "yes is not one of OFF, ON"),
        ("innodb_random_read_ahead", 2, "2 is not one of OFF, ON"),
        ("innodb_change_buffering", "1", "1 is not one of none, inserts, deletes, changes, purges, all"),
        ("innodb_change_buffering", "some", "some is not one of none, inserts, deletes, changes, purges, all"),
        ("innodb_change_buffering", 1.0, "1 is not one of none, inserts, deletes, changes, purges, all"),
    ],
)
def test_an_invalid_value_is_refused_with_the_accepted_ones(name: str, written: SettingValue, message: str) -> None:
    with pytest.raises(ValueError, match="is not") as caught:
        SETTINGS[name].parse(written)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("version", "dynamic"),
    [("5.6.24", False), ("5.7.4", False), ("5.7.5", True), ("9.7.4", True), ("10.1.48-MariaDB", False),
     ("10.2.2-MariaDB", True)],
)  # fmt: skip
def test_a_pool_is_resized_without_a_restart_from_some_version_on(version: str, *, dynamic: bool) -> None:
    assert SETTINGS["innodb_buffer_pool_size"].dynamic_on(server_of(version)) == dynamic
    assert SETTINGS["innodb_old_blocks_pct"].dynamic_on(server_of(version))
    assert not SETTINGS["innodb_page_size"].dynamic_on(server_of(version))


@pytest.mark.parametrize(
    ("version", "present"),
    [("8.0.13", False), ("8.0.14", True), ("26.7.0", True), ("11.8.6-MariaDB", False)],
)
def test_a_setting_exists_in_some_versions(version: str, *, present: bool) -> None:
    assert SETTINGS["innodb_parallel_read_threads"].exists_on(server_of(version)) == present
    assert SETTINGS["innodb_old_blocks_pct"].exists_on(server_of(version))


def test_accepted_values_depend_on_the_server() -> None:
    capacity, shutdown = SETTINGS["innodb_redo_log_capacity"], SETTINGS["innodb_fast_shutdown"]
    large = 2.0**38
    assert capacity.accepts(large)
    assert capacity.accepts(large, server_of("8.0.34"))
    assert not capacity.accepts(large, server_of("8.0.30"))
    assert capacity.range_on(server_of("8.0.30")) == "a whole number from 8388608 to 137438953472"
    assert shutdown.parse("3", server_of("11.8.6-MariaDB")) == 3.0
    with pytest.raises(ValueError, match="3 is not a whole number from 0 to 2"):
        shutdown.parse("3", server_of("9.7.4"))


def test_windows_has_its_own_words() -> None:
    windows = identify({"version": "8.4.5", "version_compile_os": "Win64"})
    assert SETTINGS["innodb_flush_method"].accepts("O_DIRECT", server_of("8.4.5"))
    assert not SETTINGS["innodb_flush_method"].accepts("O_DIRECT", windows)
    assert SETTINGS["innodb_flush_method"].accepts("unbuffered", windows)


@pytest.mark.parametrize("name", ["mysql-5.7/idle", "mysql-8.0/idle"])
def test_a_recorded_server_has_the_settings_and_defaults_of_its_version(name: str) -> None:
    """Of servers that the lab has recordings of, and no packages."""
    latest = captured(name).latest
    options = YAML(typ="safe").load(capture(name).with_name("note.yaml"))["options"]
    for setting in SETTINGS.values():
        value = setting.read(latest.setting(setting.name))
        if value is None and not setting.name.startswith("innodb"):
            continue  # of a recording that did not ask for it yet
        assert (value is not None) == setting.exists_on(latest.server), setting.name
        default = setting.entry.default.on(latest.server.family, latest.server.version)
        if value is not None and not isinstance(default, Computed) and setting.name.replace("_", "-") not in options:
            assert value == default, setting.name
