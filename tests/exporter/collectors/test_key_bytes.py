"""The size of the primary keys of large counted tables is asked for with PROCESS alone, and only if there are any."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from exporter.collectors import key_bytes
from exporter.collectors.count_statements import COUNT_STATEMENTS, CountStatement
from exporter.collectors.index_sizes import INDEX_SIZES, IndexSize, IndexSizes
from exporter.collectors.key_bytes import KEY_BYTES
from exporter.connection.target import from_dsn
from exporter.rows import Rows
from exporter.sampling.sampler import Sampler
from exporter.server import identify
from exporter.snapshot import Index, Snapshot, Table
from lab.harness.workloads import SCHEMA, make_table
from lab.servers import NAMES, PrivateServer
from tests.exporter.exposition import exposed

Ask = Callable[..., list[tuple[Any, ...]]]
COUNTED = Table(SCHEMA, "counted")
KEYS = {
    "plain": ("id BIGINT, x INT", "id"),
    "wide": (
        "a DECIMAL(10, 2), b DATETIME, c BINARY(16), d ENUM('x', 'y'), e CHAR(3) CHARACTER SET latin1",
        "a, b, c, d, e",
    ),
    "text": ("id VARCHAR(50) CHARACTER SET latin1", "id"),
    "mixed": ("id INT, t TEXT", "id, t(20)"),
    "unicode": ("id CHAR(36) CHARACTER SET utf8", "id"),
}
"""Columns, and the primary key."""
SIZES = {"plain": 8, "wide": 5 + 5 + 16 + 1 + 3}
"""Bytes of the keys whose columns all have a fixed length."""


@pytest.fixture(params=NAMES)
def counted(start_server: Callable[..., PrivateServer], request: pytest.FixtureRequest) -> PrivateServer:
    """A server with a large table that is to be counted, and tables with every kind of key."""
    server = start_server(request.param, performance_schema="ON")
    with server.connect() as connection, connection.cursor() as cursor:
        make_table(connection, COUNTED.table, 1_100)
        for table, (columns, key) in KEYS.items():
            cursor.execute(f"CREATE TABLE {SCHEMA}.{table} ({columns}, PRIMARY KEY ({key})) ENGINE=InnoDB")
    return server


async def test_process_is_enough_for_the_keys_of_fixed_length(
    counted: PrivateServer, ask: Ask, watch: Callable[..., Sampler]
) -> None:
    user = f"advisor{secrets.token_hex(4)}"
    ask(
        counted,
        f"CREATE USER {user}@localhost",
        f"GRANT PROCESS ON *.* TO {user}@localhost",
        f"GRANT SELECT ON performance_schema.* TO {user}@localhost",
        f"GRANT SELECT ON mysql.innodb_index_stats TO {user}@localhost",
    )
    sampler = watch(replace(from_dsn(counted.dsn), user=user))
    assert KEY_BYTES.name not in (await sampler.collect()).outcomes
    ask(counted, f"SELECT COUNT(*) FROM {SCHEMA}.{COUNTED.table}")
    snapshot = await sampler.collect()
    assert snapshot.outcomes[KEY_BYTES.name].failure is None
    sizes = snapshot[KEY_BYTES] or {}
    assert {table.table: size for table, size in sizes.items() if table.table in KEYS} == SIZES
    assert exposed(snapshot)["innodb_table_key_bytes"] == {(SCHEMA, COUNTED.table): 4}


def test_partitions_are_one_table_and_the_servers_own_tables_are_left_out() -> None:
    columns = ["table_name", "key_columns", "fixed_columns", "bytes"]
    rows = [
        ["shop/t#P#p0", 1, 1, 4],
        ["shop/t#P#p1", 1, 1, 4],
        ["mysql/gtid_slave_pos", 2, 2, 12],
        ["SYS_VIRTUAL", 2, 2, 16],
    ]
    assert key_bytes.parse([Rows.of(columns, rows)]) == {Table("shop", "t"): 4}


@pytest.mark.parametrize(
    ("pages", "indexes", "counted_table", "needed"),
    [
        (1_000, ["PRIMARY"], COUNTED, True),
        (999, ["PRIMARY"], COUNTED, False),
        (1_000, ["PRIMARY", "k"], COUNTED, False),
        (1_000, ["PRIMARY"], Table(SCHEMA, "other"), False),
    ],
)
def test_only_a_large_counted_table_without_a_secondary_index_is_worth_the_statement(
    pages: int, indexes: list[str], counted_table: Table, *, needed: bool
) -> None:
    sizes = {Index(COUNTED.schema, COUNTED.table, name): IndexSize(pages, pages, 9) for name in indexes}
    sections = {
        INDEX_SIZES.name: IndexSizes(sizes, 0),
        COUNT_STATEMENTS.name: {counted_table: CountStatement(1, 0.0, 0, 0)},
    }
    known = Snapshot(0.0, identify({"version": "9.7.4"}), "", sections=sections)
    assert key_bytes.is_needed(known) == needed
