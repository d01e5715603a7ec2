"""Tables whose names a page must show as text."""

from __future__ import annotations

from typing import Any

import pymysql

from lab.servers import PrivateServer

SCHEMA = "<i>names</i>"
TABLES = (
    "<script>document.title = 1</script>",
    '"><img src=x onerror=alert(1)>',
    'it\'s "quoted" `back`',
    "&lt;b&gt; &amp;",
    "w" * 64,
    "订单" * 25,  # 50 letters, each of five in the name of its file
    "⚡ ☃ ❤",  # identifiers are of the basic multilingual plane, emoji too
)
_ROWS = 800


def quoted(name: str) -> str:
    """An identifier in SQL."""
    return f"`{name.replace('`', '``')}`"


def create(server: PrivateServer) -> None:
    """The tables, each of a few pages."""
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {quoted(SCHEMA)}")
        for name in TABLES:
            table = f"{quoted(SCHEMA)}.{quoted(name)}"
            cursor.execute(f"CREATE TABLE {table} (id INT AUTO_INCREMENT PRIMARY KEY, filler CHAR(200)) ENGINE=InnoDB")
            cursor.execute(f"INSERT INTO {table} (filler) VALUES {', '.join(['(1)'] * _ROWS)}")
            cursor.execute(f"ANALYZE TABLE {table}")


def drop(server: PrivateServer) -> None:
    """Remove them."""
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE {quoted(SCHEMA)}")


def scan_all(connection: pymysql.Connection[Any]) -> None:
    """A full scan of each."""
    with connection.cursor() as cursor:
        for name in TABLES:
            cursor.execute(f"SELECT SUM(LENGTH(filler)) FROM {quoted(SCHEMA)}.{quoted(name)}")
            cursor.fetchall()
