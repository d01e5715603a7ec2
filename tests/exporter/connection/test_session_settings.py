"""Settings of the server that change what statements return: the sidecar's own sessions are independent of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import pymysql
import pytest

from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.collectors.parallel_readers import PARALLEL_READERS
from exporter.connection import session_settings
from exporter.connection.errors import ServerError
from exporter.connection.session import Session
from exporter.connection.target import Target, from_dsn
from exporter.sampling.sampler import Sampler
from exporter.snapshot import Snapshot
from lab.servers import NAMES, PrivateServer
from tests.conftest import start_or_skip
from tests.exporter.exposition import exposed
from tests.waiting import DEADLINE, until

Watch = Callable[..., Sampler]
Series = Mapping[tuple[str, tuple[str, ...]], float]

USER, PASSWORD = "watcher", "secret"
TABLES = ("é", "ä", "日本", "orders")
OPTIONS = {
    "performance-schema": "ON",
    "loose-character-set-client-handshake": "OFF",  # MySQL 9 no longer has it
    "character-set-server": "latin1",
}
GLOBALS: Mapping[str, object] = {
    "autocommit": 0,
    "big_tables": 1,
    "div_precision_increment": 0,
    "group_concat_max_len": 4,
    "lc_messages": "'de_DE'",
    "lc_time_names": "'de_DE'",
    "max_heap_table_size": 16384,
    "max_join_size": 1,
    "max_sort_length": 8,
    "old_mode": "''",
    "sql_mode": "'ANSI_QUOTES,HIGH_NOT_PRECEDENCE,IGNORE_SPACE,NO_BACKSLASH_ESCAPES,NO_UNSIGNED_SUBTRACTION,"
    "PAD_CHAR_TO_FULL_LENGTH,PIPES_AS_CONCAT,REAL_AS_FLOAT'",
    "sql_quote_show_create": 0,
    "sql_safe_updates": 1,
    "sql_select_limit": 3,
    "time_zone": "'-11:00'",
    "tmp_table_size": 1024,
}
"""Global values that new sessions begin with."""
ON_CONNECT = "SET NAMES latin1, sql_buffer_result = 1, sql_big_selects = 0, autocommit = 0, wait_timeout = 1"
"""Statements that the server runs for each new session of an account without SUPER."""


@pytest.fixture(scope="module", params=NAMES)
def server(request: pytest.FixtureRequest) -> Iterator[PrivateServer]:
    """A server with an account without SUPER, and tables whose names latin1 cannot hold."""
    with start_or_skip(request.param, OPTIONS) as started:
        with started.connect(charset="utf8mb4") as connection, connection.cursor() as cursor:
            for statement in (
                f"CREATE USER {USER}@'%' IDENTIFIED BY '{PASSWORD}'",
                f"GRANT PROCESS ON *.* TO {USER}@'%'",
                f"GRANT SELECT ON performance_schema.* TO {USER}@'%'",
                f"GRANT SELECT ON mysql.innodb_index_stats TO {USER}@'%'",
                *(f"CREATE DATABASE `{name}`" for name in ("é", "ä")),
                *(
                    sql.format(f"`{schema}`.`{table}`")
                    for schema in ("é", "ä")
                    for table in TABLES
                    for sql in (
                        "CREATE TABLE {} (id INT PRIMARY KEY, n INT, KEY (n)) ENGINE=InnoDB",
                        "INSERT INTO {} VALUES (1, 1), (2, 2)",
                        "SELECT SUM(id + n) FROM {}",
                        "SELECT COUNT(*) FROM {}",
                    )
                ),
            ):
                cursor.execute(statement)
        yield started


def target(server: PrivateServer) -> Target:
    return replace(from_dsn(server.dsn), user=USER, password=PASSWORD)


@pytest.fixture
def hostile(server: PrivateServer) -> Iterator[None]:
    """The server with every one of these settings; they are taken back at the end."""
    names = ", ".join(f"'{name}'" for name in GLOBALS)
    with server.connect(charset="utf8mb4") as root, root.cursor() as cursor:
        cursor.execute(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})")
        before = {str(name): str(value) for name, value in cursor.fetchall()}
        cursor.execute("SET GLOBAL init_connect = %s", (ON_CONNECT,))
        for name in before:
            cursor.execute(f"SET GLOBAL {name} = {GLOBALS[name]}")
        cursor.execute("SET GLOBAL TRANSACTION ISOLATION LEVEL SERIALIZABLE")
        yield
        cursor.execute("SET GLOBAL init_connect = ''")
        cursor.execute("SET GLOBAL TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        for name, value in before.items():
            cursor.execute(f"SET GLOBAL {name} = %s", (int(value) if value.isdigit() else value,))


def series(snapshot: Snapshot) -> Series:
    """All but those of the hostile settings themselves."""
    return {
        (name, labels): value
        for name, values in exposed(snapshot).items()
        for labels, value in values.items()
        if not GLOBALS.keys() & labels
    }


def failures(snapshot: Snapshot) -> dict[str, str]:
    return {
        name: outcome.reason for name, outcome in snapshot.outcomes.items() if outcome.failure not in (None, "absent")
    }


async def observed(server: PrivateServer, watch: Watch) -> Snapshot:
    sampler = watch(target(server))
    await sampler.collect()

    async def complete() -> Snapshot | None:
        snapshot = await sampler.collect()
        return snapshot if PARALLEL_READERS.name in snapshot.outcomes else None

    return await until(complete)


async def test_hostile_settings_change_no_series(
    server: PrivateServer, watch: Watch, request: pytest.FixtureRequest
) -> None:
    usual = await observed(server, watch)
    request.getfixturevalue("hostile")
    with pymysql.connect(host=server.host, port=server.port, user=USER, password=PASSWORD) as plain:
        cursor = plain.cursor()
        cursor.execute("SELECT @@sql_select_limit, @@sql_big_selects, @@autocommit, @@sql_mode LIKE '%ANSI_QUOTES%'")
        assert cursor.fetchone() == (3, 0, 0, 1)  # the settings do reach a session that does not set its own
    session = await Session.open(target(server), statement_seconds=DEADLINE)
    assert (await session.query("test", "SELECT @@SESSION.wait_timeout", DEADLINE)).rows == ((3600,),)
    await session.close()
    snapshot = await observed(server, watch)
    assert failures(snapshot) == failures(usual) == {}
    before, after = series(usual), series(snapshot)
    assert after.keys() == before.keys()
    same = [key for key in before if key[0] in ("innodb_setting", "innodb_index_pages", "innodb_table_scan_rows_total")]
    assert {key: after[key] for key in same} == {key: before[key] for key in same}
    sizes = snapshot[INDEX_SIZES]
    assert sizes is not None
    named = {(index.schema, index.table) for index in sizes.sizes}
    assert {(schema, table) for schema in ("é", "ä") for table in TABLES} <= named
    assert not [name for name in named if "?" in "".join(name)]


@pytest.mark.thorough
async def test_a_setting_that_a_server_clips_is_an_error_with_the_cure(
    start_server: Callable[..., PrivateServer],
) -> None:
    server = start_server("mariadb-10.11", maximum_max_sort_length=100)  # the server clips values, with a warning
    with pytest.raises(ServerError, match=r"settings: max_sort_length is 100; .* take --maximum-… options .* away"):
        await Session.open(from_dsn(server.dsn), statement_seconds=DEADLINE)


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        (
            "SET SESSION no_such_setting = 1",
            "refuses the session's settings: error 1193: .*; connect to the server",
        ),
        (
            session_settings.FIRST_SQL.replace("max_sort_length = 1024", "max_sort_length = 100"),
            "does not keep the session's settings: max_sort_length is 100; .*take --maximum-… options for these",
        ),
    ],
    ids=["refused", "not kept"],
)
async def test_a_setting_that_cannot_be_had_is_an_error_with_the_cure(
    server: PrivateServer, monkeypatch: pytest.MonkeyPatch, sql: str, reason: str
) -> None:
    monkeypatch.setattr(session_settings, "FIRST_SQL", sql)
    with pytest.raises(ServerError, match=reason):
        await Session.open(from_dsn(server.dsn), statement_seconds=DEADLINE)


async def test_a_session_is_ready_after_four_statements(server: PrivateServer) -> None:
    session = await Session.open(from_dsn(server.dsn), statement_seconds=DEADLINE)
    status = await session.query("test", "SHOW SESSION STATUS LIKE 'Questions'", DEADLINE)
    await session.close()
    assert status.rows[0][1] == "5"  # with this one


async def test_the_settings_are_the_sessions_own_and_not_the_servers(server: PrivateServer) -> None:
    with server.connect() as root, root.cursor() as cursor:
        cursor.execute("SHOW GLOBAL VARIABLES")
        before = cursor.fetchall()
        session = await Session.open(from_dsn(server.dsn), statement_seconds=DEADLINE)
        cursor.execute("SHOW GLOBAL VARIABLES")
        after = cursor.fetchall()
        await session.close()
    moving = {"timestamp", "gtid_executed", "innodb_buffer_pool_load_status"}
    assert [row for row in after if row[0] not in moving] == [row for row in before if row[0] not in moving]
