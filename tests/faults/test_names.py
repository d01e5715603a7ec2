"""Schemas, tables and indexes with difficult names."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from lab.servers import PrivateServer
from tests.faults.guard import Guard, Scrape, admin, ask
from tests.unavailable import promtool_says

SOME = ("mysql-9.7", "mariadb-11.8", "mysql-5.6")
Guarded = Callable[..., Guard]

SCHEMA = 'sch"ema \\ ä'
TABLES = (
    'quote\'d "table"',
    "back\\slash",
    "back`tick",
    "new\nline\ttab",
    '{braces="x"} # HELP',
    "l" * 64,
    "日" * 64,
    "Ünïcödé ẞ",
    "dot.and/slash",
    "#sql-like",
    "%s %(x)s $1 ;--",
    " leading",
    "con",
    "@0041",
)
MORE_THAN_BMP = "emoji \U0001f600"
"""Identifiers are of the basic multilingual plane: a server refuses others, or keeps a question mark."""


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@pytest.fixture
def named(server: PrivateServer) -> set[str]:
    """The names of the tables that the server accepted; each was read from disk and scanned."""
    made: set[str] = set()
    ask(server, f"DROP DATABASE IF EXISTS {quoted(SCHEMA)}", f"CREATE DATABASE {quoted(SCHEMA)}")
    for name in (*TABLES, MORE_THAN_BMP):
        with admin(server) as connection, connection.cursor() as cursor:
            try:
                cursor.execute(
                    f"CREATE TABLE {quoted(SCHEMA)}.{quoted(name)} (id INT PRIMARY KEY, n INT, "
                    f"KEY {quoted(name[:60])} (n)) ENGINE=InnoDB STATS_PERSISTENT=1"
                )
            except connection.Error:
                continue
            cursor.execute(f"INSERT INTO {quoted(SCHEMA)}.{quoted(name)} VALUES (1, 1), (2, 2), (3, 3)")
            cursor.execute(f"SELECT SUM(id) FROM {quoted(SCHEMA)}.{quoted(name)} USE INDEX ()")
            cursor.execute(f"ANALYZE TABLE {quoted(SCHEMA)}.{quoted(name)}")
    with admin(server) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s", (SCHEMA,))
        made = {row[0] for row in cursor.fetchall()}
    assert len(made) >= len(TABLES) - 2
    return made


def tables_of(scrape: Scrape, metric: str) -> set[str]:
    """The schema's tables in a metric."""
    series = (dict(labels) for name, labels in scrape.values if name == metric)
    return {labels["table"] for labels in series if labels.get("schema") == SCHEMA}


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-11.8", "mysql-5.6", "mariadb-10.5"], indirect=True)
def test_names_are_served_unchanged(server: PrivateServer, named: set[str], guarded: Guarded) -> None:
    guard = guarded(server)
    scrape = guard.well()
    assert tables_of(scrape, "innodb_index_pages") == named
    assert tables_of(scrape, "innodb_table_scan_rows_total") == named
    if server.name == "mysql-9.7":
        assert tables_of(scrape, "innodb_index_resident_pages") == named
    for accept in ("text/plain", "application/openmetrics-text; version=1.0.0"):
        answer = guard.sidecar.get("/metrics", headers={"Accept": accept})
        assert answer.status_code == 200
        if accept == "text/plain":
            assert promtool_says(answer.text) == ""
    for path in ("/snapshot", "/advise", "/"):
        assert guard.sidecar.get(path).status_code == 200
    ask(server, f"DROP DATABASE {quoted(SCHEMA)}")


@pytest.mark.parametrize("server", SOME, indirect=True)
def test_statements_with_invalid_utf_8_do_not_break_metrics(server: PrivateServer, guarded: Guarded) -> None:
    """Identifiers are UTF-8, but INNODB STATUS shows running statements, whose text may have any bytes."""
    ask(
        server,
        "CREATE DATABASE IF NOT EXISTS bytes",
        "CREATE TABLE IF NOT EXISTS bytes.t (id INT PRIMARY KEY, b BLOB) ENGINE=InnoDB",
    )
    with server.connect(charset="latin1") as held, held.cursor() as cursor:
        cursor.execute("START TRANSACTION")
        held.query(b"INSERT INTO bytes.t VALUES (1, '\xff\xfe\x80\x00\xc3(') /* \xe9\xff \xf0\x9f\x98 */")
        waiting = threading.Thread(target=_wait_for_it, args=(server,))
        waiting.start()
        guard = guarded(server)
        guard.well()
        assert guard.sidecar.get("/snapshot").status_code == 200
        held.rollback()
        waiting.join()
    guard.agrees()
    ask(server, "DROP DATABASE bytes")


def _wait_for_it(server: PrivateServer) -> None:
    with server.connect(charset="latin1") as connection:
        connection.query(b"SELECT id FROM bytes.t WHERE id = 1 /* \xff\xfe \xc3( */ FOR UPDATE")
