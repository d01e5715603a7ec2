"""The network breaks, stalls or is slow, and the server answers too late."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lab.programs.proxy import FaultyProxy
from lab.servers import PrivateServer
from tests.faults.guard import Guard, ask
from tests.waiting import wait_for

Guarded = Callable[..., Guard]
Proxied = Callable[[PrivateServer], FaultyProxy]
SOME = ("mysql-9.7", "mariadb-11.8")
PLAIN = "ssl-mode=DISABLED"  # so that the proxy can read the statements


CUTS = {"in the query": 0, "at the answer's begin": 5, "in the answer": 60}
"""Bytes of the answer that are let through before."""


@pytest.mark.parametrize("server", SOME, indirect=True)
def test_a_broken_connection_is_reopened_and_costs_one_collection(
    server: PrivateServer, guarded: Guarded, proxied: Proxied
) -> None:
    proxy = proxied(server)
    guard = guarded(server, through=proxy, query=PLAIN)
    guard.well()
    for after in CUTS.values():
        for collector in ("pools", "status", "data_files"):
            goal = proxy.cuts + 1
            proxy.cut_after, proxy.cut = after, f"innodb-advisor:{collector} ".encode()
            wait_for(_reached(proxy, goal))
            guard.well()
    guard.agrees()
    assert proxy.cuts == 9
    assert proxy.opened <= 2 + 2 * proxy.cuts


def _reached(proxy: FaultyProxy, goal: int) -> Callable[[], bool]:
    return lambda: proxy.cuts == goal


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
def test_the_sidecar_retries_while_new_connections_are_refused(
    server: PrivateServer, guarded: Guarded, proxied: Proxied
) -> None:
    proxy = proxied(server)
    guard = guarded(server, through=proxy)
    guard.well()
    both = guard.both()
    proxy.refuse()
    assert guard.collected().up
    assert guard.both() == both
    proxy.drop()
    guard.down("Connection refused")
    proxy.accept()
    guard.well()
    guard.agrees()


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
def test_a_stalled_network_is_down_after_the_deadline_and_up_when_it_recovers(
    server: PrivateServer, guarded: Guarded, proxied: Proxied
) -> None:
    proxy = proxied(server)
    guard = guarded(server, "--statement-timeout", "1s", through=proxy)
    guard.until(lambda scrape: scrape.up)
    proxy.stall()
    guard.down("sent no MySQL greeting|did not answer within")
    proxy.flow()
    guard.until(lambda scrape: scrape.up)
    guard.agrees()


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
def test_a_network_slow_within_the_deadlines_delays_but_loses_nothing(
    server: PrivateServer, guarded: Guarded, proxied: Proxied
) -> None:
    proxy = proxied(server)
    guard = guarded(server, through=proxy)
    guard.well()
    both = guard.both()
    proxy.delay_seconds = 0.1
    assert not guard.collected().failing
    assert not guard.collected().failing
    guard.agrees()
    proxy.delay_seconds = 0.0
    assert guard.both() == both


@pytest.mark.parametrize("server", ["mariadb-11.8"], indirect=True)
def test_a_statement_over_its_timeout_fails_alone(server: PrivateServer, guarded: Guarded) -> None:
    """A lock on the statistics table makes the statement exceed its timeout."""
    with server.connect() as holder, holder.cursor() as cursor:
        cursor.execute("LOCK TABLES mysql.innodb_index_stats WRITE")
        guard = guarded(server, "--statement-timeout", "1s")
        slow = guard.until(lambda scrape: scrape.up and scrape.failing == {"index_sizes"})
        assert "innodb_index_pages" not in slow.names
        outcome = guard.sidecar.get("/snapshot").json()["outcomes"]["index_sizes"]
        assert outcome["failure"] == "deadline"
        guard.agrees()
    assert ask(server, "SELECT COUNT(*) FROM mysql.innodb_index_stats")
