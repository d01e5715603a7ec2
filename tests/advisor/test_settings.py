"""What is known of a setting is what servers say and accept."""

from __future__ import annotations

from contextlib import suppress

import pymysql
import pytest

from advisor.settings import SETTINGS, SettingValue
from lab.servers import Server


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
