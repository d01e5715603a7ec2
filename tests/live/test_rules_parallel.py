"""The server behaviour behind the rules on counts; lab/proofs proves the rules themselves."""

from __future__ import annotations

from collections.abc import Callable

from lab.harness.workloads import SCHEMA, count, make_table, scan
from lab.servers import PrivateServer
from lab.servers.sql import query_number


def pages_read(server: PrivateServer, table: str) -> float:
    return query_number(
        server,
        "SELECT SUM(COUNT_READ) FROM performance_schema.file_summary_by_instance"
        f" WHERE FILE_NAME LIKE '%{SCHEMA}/{table}.ibd'",
    )


def test_a_server_without_the_bug_counts_by_the_secondary_index(start_server: Callable[..., PrivateServer]) -> None:
    server = start_server("mysql-9.7", **{"innodb-buffer-pool-size": "8M"})
    with server.connect() as connection:
        make_table(connection, "orders", 600, indexes=1)
        make_table(connection, "archive", 700)
        scan(connection, "archive")
        before = pages_read(server, "orders")
        count(connection, "orders")
        assert pages_read(server, "orders") - before < 100
        scan(connection, "orders")
        assert pages_read(server, "orders") - before > 100
