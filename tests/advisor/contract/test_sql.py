"""Names and texts as SQL and option files take them, on real servers and under every sql_mode that changes quoting."""

from __future__ import annotations

import pytest

from advisor.contract.changes import change_on
from advisor.contract.sql import identifier, literal, option
from lab.servers import PrivateServer
from tests.advisor.building import server as of_version
from tests.hostile_names import IDENTIFIERS, NAMES

MODES = ("", "ANSI_QUOTES", "NO_BACKSLASH_ESCAPES", "ANSI,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,IGNORE_SPACE")
TEXTS = [name for name in NAMES if name.encode("utf-8", "ignore").decode() == name]


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-11.8"], indirect=True)
def test_servers_read_names_and_texts_as_they_are(server: PrivateServer) -> None:
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE IF NOT EXISTS quoting")
        for mode in MODES:
            cursor.execute(f"SET NAMES utf8mb4, SESSION sql_mode = '{mode}'")
            for text in TEXTS:
                cursor.execute(f"SELECT {literal(text)}")
                assert cursor.fetchone() == (text,), mode
            for name in IDENTIFIERS:
                cursor.execute(f"CREATE TEMPORARY TABLE quoting.{identifier(name)} ({identifier(name)} INT)")
                cursor.execute(f"SELECT {identifier(name)} FROM quoting.{identifier(name)}")
                assert cursor.description[0][0] == name, mode
                cursor.execute(f"DROP TEMPORARY TABLE quoting.{identifier(name)}")


def test_a_value_that_a_server_made_up_ends_no_statement_and_no_line() -> None:
    odd = "all\\'; DROP TABLE t; -- \n[mysqld]\nskip-grant-tables # x"
    change = change_on(of_version("8.0.40"), "innodb_change_buffering", odd, "none")
    assert change.apply == ("SET GLOBAL innodb_change_buffering = 'none'",)
    [undo] = change.rollback
    assert "DROP" not in undo
    assert bytes.fromhex(undo.partition("X'")[2].rstrip("'")).decode() == odd
    back = change_on(of_version("8.0.40"), "innodb_change_buffering", "none", odd)
    assert "\n" not in back.config
    assert back.config.endswith('# x"')


def test_plain_texts_stay_plain() -> None:
    assert (literal("O_DIRECT"), option("O_DIRECT")) == ("'O_DIRECT'", "O_DIRECT")
    assert option("a b") == '"a b"'
