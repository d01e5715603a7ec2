"""States of a server: full, locked, read-only, without performance_schema, with tables that come and go."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import NoReturn

import pymysql
import pytest

from lab.servers import PrivateServer
from tests.faults.conftest import Account
from tests.faults.guard import OF_COLLECTORS, Guard, admin, ask
from tests.waiting import wait_for

SOME = ("mysql-9.7", "mariadb-11.8", "mysql-5.6")
MOST = 10
"""Connections of a server that is to be full."""
Start = Callable[..., PrivateServer]
Guarded = Callable[..., Guard]


@pytest.mark.parametrize("name", SOME[:2])
def test_a_server_without_free_connections_is_watched_over_open_ones_or_once_one_is_free(
    name: str, start_server: Start, account: Callable[..., Account], guarded: Guarded
) -> None:
    server = start_server(name, performance_schema="ON", max_connections=MOST)
    who, late = account(server), account(server)
    guard = guarded(server, login=who)
    guard.well()
    both = guard.both()
    with taken(server, late):
        shut_out = guarded(server, login=late)
        shut_out.down("refused the connection: Too many connections")
        scrape = guard.collected()
        assert scrape.up
        assert not scrape.failing
    assert guard.both() == both
    guard.agrees()
    shut_out.well()
    shut_out.agrees()


@contextmanager
def taken(server: PrivateServer, account: Account) -> Iterator[None]:
    """Take all connections available to ordinary accounts, also those that are just being closed."""
    with ExitStack() as stack:

        def fill() -> NoReturn:
            while True:
                stack.enter_context(server.connect(user=account.user, password=account.password))

        def full() -> bool:
            with pytest.raises(pymysql.err.OperationalError, match="Too many connections"):
                fill()
            try:
                [(open_ones,)] = ask(server, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER LIKE 'w%'")
            except pymysql.err.OperationalError:  # what was just refused may still take the one that is left to root
                return False
            return int(open_ones) == MOST

        wait_for(full)
        yield


@pytest.mark.parametrize("name", SOME[:2])
def test_without_performance_schema_its_sources_are_disabled_and_the_rest_is_right(
    name: str, start_server: Start, guarded: Guarded
) -> None:
    server = start_server(name, performance_schema="OFF")
    guard = guarded(server)
    scrape = guard.until(lambda scrape: scrape.up and "data_files" in scrape.failing)
    assert not scrape.names & {OF_COLLECTORS[name] for name in ("data_files", "table_scans", "count_statements")}
    outcomes = guard.sidecar.get("/snapshot").json()["outcomes"]
    for collector in scrape.failing:
        assert outcomes[collector]["failure"] == "disabled", collector
        assert "performance_schema = ON" in outcomes[collector]["cure"]
    guard.agrees()
    server.restart({"performance-schema": "ON"})
    back = guard.well()
    assert back.get("innodb_data_file_reads_total") is not None


@pytest.mark.parametrize("server", SOME, indirect=True)
def test_a_read_only_server_is_watched_like_any_other(server: PrivateServer, guarded: Guarded) -> None:
    setting = "super_read_only" if server.name == "mysql-9.7" else "read_only"
    guard = guarded(server)
    guard.well()
    both = guard.both()
    ask(server, f"SET GLOBAL {setting} = ON")
    try:
        assert not guard.collected().failing
        guard.agrees()
        assert guard.both() == both
    finally:
        ask(server, f"SET GLOBAL {setting} = OFF", "SET GLOBAL read_only = OFF")


LOCKS = {
    "lock tables": ("LOCK TABLES locked.t WRITE",),
    "global read lock": ("FLUSH TABLES WITH READ LOCK",),
    "alter that waits": ("START TRANSACTION", "SELECT * FROM locked.t", "!ALTER TABLE locked.t ADD COLUMN x INT"),
}
"""Statements of a session that stays open; one after a ! waits in another."""


@pytest.mark.parametrize("server", SOME, indirect=True)
@pytest.mark.parametrize("lock", LOCKS)
def test_locks_of_others_delay_no_scrape(
    server: PrivateServer, lock: str, account: Callable[..., Account], guarded: Guarded
) -> None:
    ask(
        server,
        "DROP DATABASE IF EXISTS locked",
        "CREATE DATABASE locked",
        "CREATE TABLE locked.t (id INT PRIMARY KEY) ENGINE=InnoDB",
    )
    guard, late = guarded(server), account(server)
    guard.well()
    both = guard.both()
    with ExitStack() as stack:
        holder = stack.enter_context(admin(server))
        with holder.cursor() as cursor:
            for statement in LOCKS[lock]:
                if statement.startswith("!"):
                    stack.callback(_in_background(server, statement[1:]))
                else:
                    cursor.execute(statement)
        stack.callback(holder.rollback)  # before joining the waiting thread
        again = guarded(server, login=late)  # a scrape that has not seen it without the lock
        blind = WAITING_FOR_ALTER if lock == "alter that waits" and server.name == "mysql-9.7" else set()
        scrape = again.until(lambda scrape: scrape.up and scrape.failing == blind)
        if blind:
            assert "innodb_index_resident_pages" not in scrape.names
            outcomes = again.sidecar.get("/snapshot").json()["outcomes"]
            assert all("Lock wait timeout" in outcomes[collector]["reason"] for collector in blind)
        guard.agrees()
        assert guard.sessions() >= both
    again.well()
    again.agrees()


WAITING_FOR_ALTER = {"auto_increments", "cached_indexes", "indexes", "table_formats"}
"""MySQL 8.0 and later take a metadata lock on each table that these sources list (seen on 9.7.4)."""


def _in_background(server: PrivateServer, statement: str) -> Callable[[], None]:
    """Run a statement that waits; the returned function waits for its end."""
    thread = threading.Thread(target=ask, args=(server, statement), daemon=True)
    thread.start()
    waits = f"SELECT 1 FROM information_schema.PROCESSLIST WHERE INFO = '{statement}' AND STATE LIKE '%metadata lock%'"
    wait_for(lambda: ask(server, waits))
    return thread.join


@pytest.mark.parametrize("server", SOME, indirect=True)
def test_tables_that_come_and_go_during_a_collection_fail_nothing(server: PrivateServer, guarded: Guarded) -> None:
    ask(server, "DROP DATABASE IF EXISTS coming", "CREATE DATABASE coming")
    guard = guarded(server)
    guard.well()
    both, first, number = guard.both(), len(guard.scrapes), 0
    collections: set[float] = set()
    with admin(server) as connection, connection.cursor() as cursor:
        while len(collections) < 6:
            number += 1
            table = f"coming.t{number}"
            cursor.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, n INT, KEY (n)) ENGINE=InnoDB")
            cursor.execute(f"INSERT INTO {table} VALUES (1, 2), (3, 4)")
            cursor.execute(f"SELECT COUNT(*) FROM {table}")
            cursor.fetchall()
            cursor.execute(f"ALTER TABLE {table} ADD KEY k (n, id)")
            cursor.execute(f"DROP TABLE {table}")
            guard.look()
            collections.add(guard.source.history[-1].at)
    assert guard.both() == both
    assert not {name for scrape in guard.scrapes[first:] for name in scrape.failing}
    assert all(scrape.up for scrape in guard.scrapes[first:])
    guard.agrees()
    ask(server, "DROP DATABASE coming")
