"""What a real mysqld_exporter tells with its flags, as a real Prometheus has it, and what it does not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from advisor.contract.fleet import Source
from advisor.fleet.client import Prometheus
from advisor.fleet.peer import FLAGS
from advisor.fleet.series import Grid
from advisor.fleet.tables import tables
from advisor.fleet.windows import windows
from advisor.observe.window import Window
from exporter.collectors.count_statements import COUNT_STATEMENTS
from exporter.collectors.index_sizes import INDEX_SIZES, SECONDARY
from exporter.snapshot import Table
from lab.bench.exporters import PEER, create_accounts
from lab.programs import mysqld_exporter, prometheus
from lab.servers import Server
from lab.servers.sql import execute
from tests.advisor.fleet.told import IDENTITY
from tests.unavailable import or_give_up
from tests.waiting import wait_for

DIGESTS = "mysql_perf_schema_events_statements_total"


def seen(url: str) -> Window:
    """The last eight seconds of the server, with its tables."""

    async def read() -> Window:
        grid = Grid(float(int(time.time())), 1.0)
        async with Prometheus(url) as client:
            key = IDENTITY.server({"instance": "db-1"})
            assert key is not None
            found = await windows(client, grid, [key], Source.PEER, identity=IDENTITY)
            window = found[key]
            assert isinstance(window, Window), window
            [part] = [each async for each in tables(client, grid, {key: window}, Source.PEER, identity=IDENTITY)]
            whole = part[key]
            assert isinstance(whole, Window), whole
            return whole

    return asyncio.run(read())


def test_a_flag_that_is_on_is_no_cure_and_names_the_only_secondary_index(
    start_server: Callable[..., Server], tmp_path: Path
) -> None:
    server = start_server("mariadb-11.8", performance_schema="ON")
    create_accounts(server)
    execute(
        server,
        "CREATE DATABASE shop",
        "CREATE TABLE shop.orders (id INT PRIMARY KEY, k INT, KEY (k))",
        "CREATE TABLE shop.items (id INT PRIMARY KEY, k INT, j INT, KEY (k), UNIQUE (j))",
        *(f"INSERT INTO shop.{table} (id, k) VALUES (1, 1)" for table in ("orders", "items")),
        "SELECT COUNT(*) FROM shop.orders",
    )
    with ExitStack() as stack:
        flags = {*FLAGS.values()}
        more = flags - {*mysqld_exporter.FLAGS}
        exporter = stack.enter_context(or_give_up(mysqld_exporter.running(server, tmp_path, PEER, *more)))
        named = [{"target_label": "instance", "replacement": "db-1"}]
        job = prometheus.job("peer", f"127.0.0.1:{exporter.port}", relabel_configs=named)
        asked = stack.enter_context(or_give_up(prometheus.running(tmp_path, [job])))
        wait_for(lambda: len(asked.query("mysql_up == 1 and mysql_up offset 4s == 1")) == 1)
        told = {each.labels["collector"] for each in asked.query("mysql_exporter_collector_success == 1")}
        assert {flag.removeprefix("--") for flag in flags} <= told

        window = seen(asked.url)
        assert asked.query(DIGESTS) == []  # all were executed without a default schema
        lack = window.latest.outcomes[COUNT_STATEMENTS.name]
        assert COUNT_STATEMENTS.name not in window.latest.sections
        assert "without a default schema" in (lack.reason or "")
        assert "sidecar" in (lack.cure or "")
        sizes = window.latest[INDEX_SIZES]
        assert sizes is not None
        assert {(each.table, each.index) for each in sizes.sizes} == {
            ("orders", "PRIMARY"),
            ("orders", "k"),
            ("items", "PRIMARY"),
            ("items", SECONDARY),
        }

        with server.connect(database="shop") as connection, connection.cursor() as cursor:
            cursor.execute("SELECT COUNT(*) FROM orders")
        counted = wait_for(lambda: seen(asked.url).latest[COUNT_STATEMENTS])
        assert {*(counted or ())} == {Table("shop", "orders")}
