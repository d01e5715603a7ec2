"""The server behaviour behind the rules on counts and index builds; lab/proofs proves the rules themselves."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from advisor.contract.recommendation import Advice
from lab.captures.scenarios.index_builds import make_notes, rebuild
from lab.observation import by_rule
from lab.servers import Server
from lab.servers.sql import query_number
from lab.workloads import SCHEMA, count, make_table, scan

Start = Callable[..., Server]
Watch = Callable[[Server, Callable[[], None], int], Advice]


def pages_read(server: Server, table: str) -> float:
    return query_number(
        server,
        "SELECT SUM(COUNT_READ) FROM performance_schema.file_summary_by_instance"
        f" WHERE FILE_NAME LIKE '%{SCHEMA}/{table}.ibd'",
    )


def test_builds_of_small_indexes_get_no_advice(start_server: Start, watch: Watch) -> None:
    server = start_server("mysql-9.7", **{"innodb-parallel-read-threads": "32"})
    with server.connect() as connection:
        make_notes(connection, 20_000)
        advice = watch(server, partial(rebuild, connection), 1)
    assert by_rule(advice, "ddl-buffer-starved") == by_rule(advice, "ddl-threads-over-cores") == []


def test_a_server_without_the_bug_counts_by_the_secondary_index(start_server: Start) -> None:
    server = start_server("mysql-9.7", **{"innodb-buffer-pool-size": "24M"})
    with server.connect() as connection:
        make_table(connection, "orders", 2_000, indexes=1)
        make_table(connection, "archive", 3_000)
        scan(connection, "archive")
        before = pages_read(server, "orders")
        count(connection, "orders")
        assert pages_read(server, "orders") - before < 100
