"""The server is missing: not started yet, gone, paused, or replaced by another one."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import pytest

from lab.programs.proxy import Proxy
from lab.servers import Server
from tests.faults.conftest import Account, create
from tests.faults.guard import Guard, ask

Start = Callable[..., Server]
Guarded = Callable[..., Guard]


def test_the_sidecar_waits_for_a_server_that_is_not_up_yet(
    start_server: Start, account: Callable[..., Account], guarded: Guarded
) -> None:
    server = start_server("mysql-9.7", innodb_flush_log_at_trx_commit=1)
    who = account(server)
    server.kill()
    guard = guarded(server, login=who)
    down = guard.until(lambda scrape: not scrape.up)
    assert not down.by("innodb_exporter_collector_success", "collector")
    for path in ("/readyz", "/advise", "/snapshot"):
        answer = guard.sidecar.get(path)
        assert answer.status_code == 503
        assert f"cannot connect to 127.0.0.1:{server.port}: Connection refused" in answer.text
    server.restart()
    guard.well()
    guard.agrees()


@pytest.mark.parametrize("name", ["mysql-9.7", pytest.param("mariadb-10.11", marks=pytest.mark.long)])
def test_a_killed_and_restarted_server_begins_a_new_window(name: str, start_server: Start, guarded: Guarded) -> None:
    server = start_server(name, performance_schema="ON")
    guard = guarded(server)
    guard.well()
    ask(server, "CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY) ENGINE=InnoDB")
    guard.agrees()
    server.kill()
    guard.until(lambda scrape: not scrape.up)
    for path in ("/readyz", "/advise"):
        assert guard.sidecar.get(path).status_code == 503
    server.restart()
    back = guard.well()
    assert (back.get("innodb_server_uptime_seconds") or 0) < 60
    guard.agrees()
    watched = guard.sidecar.get("/advise").json()["watched_seconds"]
    # The server tells its uptime in whole seconds, rounded down; a scrape from before the advice would be older.
    assert watched < (guard.well().get("innodb_server_uptime_seconds") or 0) + 1
    assert len(guard.kept()) == 2


def test_a_server_paused_for_a_minute_is_down_and_its_sessions_resume(start_server: Start, guarded: Guarded) -> None:
    server = start_server("mariadb-10.11", performance_schema="ON")
    guard = guarded(server, "--statement-timeout", "1s")
    guard.well()
    stopped = time.monotonic()
    os.kill(server.pid, signal.SIGSTOP)
    try:
        down = guard.until(lambda scrape: not scrape.up)
        while time.monotonic() < stopped + 60:
            time.sleep(1)
        since = [scrape for scrape in guard.scrapes if scrape.at >= down.at]
        assert not any(scrape.up for scrape in since)
    finally:
        os.kill(server.pid, signal.SIGCONT)
    guard.well()
    guard.agrees()
    assert len(guard.kept()) == 2


def test_another_server_at_the_same_address_has_only_its_own_numbers(
    server_pair: tuple[Server, Server],
    account: Callable[..., Account],
    guarded: Guarded,
    proxied: Callable[[Server], Proxy],
) -> None:
    old, new = server_pair
    who = account(old)
    create(new, who)
    proxy = proxied(old)
    guard = guarded(old, login=who, through=proxy)
    before = guard.well()
    assert before.version == old.version
    assert "innodb_parallel_read_threads" in before.names
    proxy.upstream = (new.host, new.port)
    proxy.drop()
    after = guard.until(lambda scrape: scrape.version == new.version)
    guard.server = new
    guard.well()
    guard.agrees()
    for scrape in (after, guard.now):
        assert "innodb_parallel_read_threads" not in scrape.names
        assert set(scrape.by("innodb_server_info", "version_text")) == {new.version}
        assert scrape.get("innodb_setting", name="innodb_parallel_read_threads") is None
    assert guard.sidecar.get("/advise").json()["watched_seconds"] < 30


@pytest.fixture
def server_pair(start_server: Start) -> tuple[Server, Server]:
    return start_server("mysql-9.7"), start_server("mariadb-10.11", performance_schema="ON")
