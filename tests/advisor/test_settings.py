"""What is known of a setting is what servers say and accept."""

from __future__ import annotations

from contextlib import suppress

import pymysql
import pytest

from advisor.settings import SETTINGS, SettingValue
from lab.servers import Server
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
    ],
)
def test_what_a_person_writes_is_understood(name: str, written: SettingValue, value: SettingValue) -> None:
    assert SETTINGS[name].parse(written) == value


@pytest.mark.parametrize(
    ("name", "written", "said"),
    [
        ("innodb_old_blocks_pct", "96", "96 is not a whole number from 5 to 95"),
        ("innodb_old_blocks_pct", 4.5, "4.5 is not a whole number from 5 to 95"),
        ("innodb_old_blocks_pct", "1e1", "1e1 is not a whole number from 5 to 95"),
        ("innodb_old_blocks_pct", "", " is not a whole number from 5 to 95"),
        ("innodb_lru_scan_depth", "1", "1 is not a whole number from 100 on"),
        ("innodb_change_buffering", "some", "some is not one of none, inserts, deletes, changes, purges, all"),
        ("innodb_flush_method", 1.0, "1 is not a text"),
    ],
)
def test_what_is_not_understood_is_refused_with_what_would_be(name: str, written: SettingValue, said: str) -> None:
    with pytest.raises(ValueError, match="is not") as caught:
        SETTINGS[name].parse(written)
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("version", "dynamic"),
    [("5.6.24", False), ("5.7.4", False), ("5.7.5", True), ("9.7.4", True), ("10.1.48-MariaDB", False),
     ("10.2.2-MariaDB", True)],
)  # fmt: skip
def test_a_pool_is_resized_without_a_restart_from_some_version_on(version: str, *, dynamic: bool) -> None:
    assert SETTINGS["innodb_buffer_pool_size"].dynamic_on(server_of(version)) == dynamic
    assert SETTINGS["innodb_old_blocks_pct"].dynamic_on(server_of(version))
    assert not SETTINGS["innodb_page_size"].dynamic_on(server_of(version))


def test_a_server_agrees_on_which_settings_are_dynamic_and_takes_their_extremes(server: Server) -> None:
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL VARIABLES LIKE 'innodb%'")
        before = dict(cursor.fetchall())
        checked = 0
        for name, setting in SETTINGS.items():
            if name not in before or name == "innodb_buffer_pool_size":  # resizing is slow, and not for 5.6
                continue
            extremes = [setting.minimum, setting.maximum] if setting.kind == "number" else setting.words
            for value in (each for each in extremes if each is not None):
                shown = f"'{value}'" if isinstance(value, str) else str(int(value))
                taken = False
                with suppress(pymysql.MySQLError):
                    cursor.execute(f"SET GLOBAL {name} = {shown}")
                    cursor.execute(f"SHOW GLOBAL VARIABLES LIKE '{name}'")
                    taken = setting.read(cursor.fetchall()[0][1]) == (value if isinstance(value, str) else float(value))
                assert taken == setting.dynamic, f"{name} = {shown}"
                checked += 1
            if setting.dynamic:
                old = before[name] if setting.kind == "number" else f"'{before[name]}'"
                cursor.execute(f"SET GLOBAL {name} = {old}")
    assert checked >= 7
