"""Insertions for which the change buffer must not be advised, and that no capture has."""

from __future__ import annotations

from collections.abc import Callable

from advisor.advice import evaluation
from advisor.casetest.execution import BUDGET_SECONDS
from lab.harness.measure import pages_read
from lab.harness.watch import observed_window, rules
from lab.harness.workloads import SCHEMA
from lab.proofs import insert_load
from lab.servers import PrivateServer
from lab.servers.sql import execute, query_number

WOULD_HELP = "change-buffering-would-help"


def test_buffering_is_not_promised_for_ascending_keys_beside_lookups(
    start_server: Callable[..., PrivateServer],
) -> None:
    server = start_server("mysql-9.7", **insert_load.PREPARING, **insert_load.UNBUFFERED)
    table, rows = f"{SCHEMA}.log", 2**17
    execute(
        server,
        f"CREATE DATABASE {SCHEMA}",
        f"CREATE TABLE {table} (id INT AUTO_INCREMENT PRIMARY KEY, t INT, f CHAR(100), KEY (t)) CHARACTER SET latin1",
        f"INSERT INTO {table} (t, f) VALUES (1, 'x')",
        *(f"INSERT INTO {table} (t, f) SELECT t + {2**n}, f FROM {table}" for n in range(17)),
        f"ANALYZE TABLE {table}",
    )
    server.restart({"innodb-buffer-pool-size": "8M"})

    def append_and_look_up() -> None:
        last = int(query_number(server, f"SELECT MAX(t) FROM {table}"))
        with server.connect() as connection, connection.cursor() as cursor:
            for number in range(400):
                cursor.execute(f"INSERT INTO {table} (t, f) VALUES ({last + number}, 'x')")
                for key in (2 * (last + number), 2 * (last + number) + 1):  # spread over the whole table
                    cursor.execute(f"SELECT f FROM {table} WHERE t = {key * 40_503 % rows}")
                    cursor.fetchall()

    before = pages_read(server)
    [rule] = [rule.with_budget(BUDGET_SECONDS) for rule in rules() if rule.id == WOULD_HELP]
    advice = evaluation.advise([rule], observed_window(server, append_and_look_up, 3), beside=rules())
    assert pages_read(server) - before > 1_000
    assert not advice.failed
    assert not advice.recommendations
