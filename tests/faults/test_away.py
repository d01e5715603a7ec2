"""The server is missing: not started yet, gone, paused, or replaced by another one."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import pytest

from lab.programs.proxy import FaultyProxy
from lab.servers import PrivateServer
from tests.faults.conftest import Account, create
from tests.faults.guard import Guard, ask
from tests.waiting import wait_for

STARTED_APART = 5
"""Seconds between two starts of a server, from which they are told apart for certain."""
Start = Callable[..., PrivateServer]
Guarded = Callable[..., Guard]


def test_the_sidecar_waits_for_a_server_that_is_not_up_yet(
    start_server: Start, account: Callable[..., Account], guarded: Guarded
) -> None:
    server = start_server("mysql-9.7", innodb_flush_log_at_trx_commit=1)
    who = account(server)
    server.kill()
    guard = guarded(server, login=who)
    refused = f"cannot connect to 127.0.0.1:{server.port}: Connection refused"
    guard.down(refused)
    assert not guard.look().by("innodb_exporter_collector_success", "collector")
    for path in ("/advise", "/snapshot"):
        answer = guard.sidecar.get(path)
        assert answer.status_code == 503
        assert refused in answer.text
    server.restart()
    guard.well()
    guard.agrees()


@pytest.mark.parametrize("name", ["mysql-9.7", "mariadb-11.8"])
def test_a_killed_and_restarted_server_begins_a_new_window(name: str, start_server: Start, guarded: Guarded) -> None:
    server = start_server(name, performance_schema="ON")
    guard = guarded(server)
    guard.well()
    ask(server, "CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY) ENGINE=InnoDB")
    guard.agrees()
    guard.until(lambda scrape: (scrape.get("innodb_server_uptime_seconds") or 0) > STARTED_APART)
    killed = time.time()
    server.kill()
    guard.down("Connection refused")
    assert guard.sidecar.get("/advise").status_code == 503
    server.restart()
    guard.well()
    guard.agrees()
    assert guard.both()
    # The window is of the server that runs now: it is younger than the snapshots of the killed one.
    advice = wait_for(lambda: answer.json() if (answer := guard.sidecar.get("/advise")).is_success else None)
    assert advice["at"] - advice["watched_seconds"] > killed


def test_a_paused_server_is_down_and_watched_again_once_it_resumes(start_server: Start, guarded: Guarded) -> None:
    server = start_server("mariadb-11.8", performance_schema="ON")
    guard = guarded(server, "--statement-timeout", "1s")
    guard.until(lambda scrape: scrape.up)
    os.kill(server.pid, signal.SIGSTOP)
    try:
        guard.until(lambda scrape: not scrape.up)
        assert not guard.tried_again().up
    finally:
        os.kill(server.pid, signal.SIGCONT)
    guard.until(lambda scrape: scrape.up)
    guard.agrees()
    assert guard.both()


def test_another_server_at_the_same_address_has_only_its_own_numbers(
    server_pair: tuple[PrivateServer, PrivateServer],
    account: Callable[..., Account],
    guarded: Guarded,
    proxied: Callable[[PrivateServer], FaultyProxy],
) -> None:
    old, new = server_pair
    who = account(old)
    create(new, who)
    proxy = proxied(old)
    guard = guarded(old, login=who, through=proxy)
    before, replaced = guard.well(), time.time()
    assert before.version == old.version
    assert "innodb_parallel_read_threads" in before.names
    proxy.upstream = (new.host, new.port)
    proxy.drop()
    after = guard.until(lambda scrape: scrape.version == new.version)
    guard.server = new
    guard.well()
    guard.agrees()
    for scrape in (after, guard.look()):
        assert "innodb_parallel_read_threads" not in scrape.names
        assert set(scrape.by("innodb_server_info", "version_text")) == {new.version}
        assert scrape.get("innodb_setting", name="innodb_parallel_read_threads") is None
    advice = wait_for(lambda: answer.json() if (answer := guard.sidecar.get("/advise")).is_success else None)
    assert advice["at"] - advice["watched_seconds"] > replaced


@pytest.fixture
def server_pair(start_server: Start) -> tuple[PrivateServer, PrivateServer]:
    return start_server("mysql-9.7"), start_server("mariadb-11.8", performance_schema="ON")
