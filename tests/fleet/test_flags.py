"""What a real mysqld_exporter tells with its flags, as a real Prometheus has it, and what it does not."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import mkdtemp

import httpx

from advisor.contract.fleet import Source
from advisor.facts.base import SECONDARY
from advisor.fleet.client import PrometheusClient
from advisor.fleet.mysqld_exporter import FLAGS
from advisor.fleet.reader import FleetReader
from advisor.fleet.series import Grid
from advisor.fleet.windows import WindowReader
from advisor.observe.window import Window
from exporter.collectors.count_statements import COUNT_STATEMENTS
from exporter.collectors.index_sizes import INDEX_SIZES
from exporter.snapshot import Table
from lab.bench.exporters import PEER, create_accounts
from lab.processes.program import PLAIN
from lab.programs import mysqld_exporter, prometheus
from lab.servers import PrivateServer
from lab.servers.sql import execute
from tests.advisor.fleet.canned import IDENTITY
from tests.fleet.blocks import Blocks
from tests.unavailable import or_give_up
from tests.waiting import DEADLINE

BEGIN = time.time() // 60 * 60 - 600
DIGESTS = "mysql_perf_schema_events_statements_total"


def seen(url: str, grid: Grid) -> Window:
    """The server with its tables."""

    async def read() -> Window:
        async with PrometheusClient(url) as client:
            key = IDENTITY.server({"instance": "db-1"})
            assert key is not None
            reader = WindowReader(FleetReader(client, IDENTITY, "", grid), Source.MYSQLD_EXPORTER)
            windows = await reader.windows([key])
            window = windows[key]
            assert isinstance(window, Window), window
            [part] = [part async for part in reader.tables({key: window})]
            whole = part[key]
            assert isinstance(whole, Window), whole
            return whole

    return asyncio.run(read())


def test_a_flag_that_is_on_is_no_cure_and_names_the_only_secondary_index(
    start_server: Callable[..., PrivateServer], tmp_path: Path
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
    flags = {*FLAGS.values()}

    @contextmanager
    def asked(*scrapes: str) -> Iterator[tuple[prometheus.Prometheus, Window]]:
        """A Prometheus with these scrapes, a quarter of a minute apart, and what the fleet sees of them."""
        blocks, folder = Blocks(), Path(mkdtemp(dir=tmp_path))
        for number, text in enumerate(scrapes):
            blocks.add(text, [BEGIN + 15 * number], since=BEGIN - 1000, instance="db-1")
        grid = Grid.until(BEGIN + 15 * (len(scrapes) - 1), 15 * (len(scrapes) - 1))
        with or_give_up(prometheus.running(folder, [], data=blocks.write(folder))) as running:
            yield running, seen(running.url, grid)

    with ExitStack() as stack:
        more = flags - {*mysqld_exporter.FLAGS}
        exporter = stack.enter_context(or_give_up(mysqld_exporter.running(server, tmp_path, PEER, *more)))
        url = f"http://127.0.0.1:{exporter.port}/metrics"
        text = httpx.get(url, timeout=DEADLINE, **PLAIN).text
        succeeded = set(re.findall(r'^mysql_exporter_collector_success\{collector="([^"]+)"\} 1$', text, re.MULTILINE))
        assert {flag.removeprefix("--") for flag in flags} <= succeeded
        with asked(text, text, text) as (running, window):
            at = window.latest.at
            assert running.query("mysql_up", at)
            assert running.query(DIGESTS, at) == []  # all were executed without a default schema
        lack = window.latest.outcomes[COUNT_STATEMENTS.name]
        assert COUNT_STATEMENTS.name not in window.latest.sections
        assert "without a default schema" in (lack.reason or "")
        assert "sidecar" in (lack.cure or "")
        sizes = window.latest[INDEX_SIZES]
        assert sizes is not None
        assert {(index.table, index.index) for index in sizes.sizes} == {
            ("orders", "PRIMARY"),
            ("orders", "k"),
            ("items", "PRIMARY"),
            ("items", SECONDARY),
        }

        with server.connect(database="shop") as connection, connection.cursor() as cursor:
            cursor.execute("SELECT COUNT(*) FROM orders")
        counted = httpx.get(url, timeout=DEADLINE, **PLAIN).text
        with asked(text, text, counted) as (_, window):
            assert {*(window.latest[COUNT_STATEMENTS] or ())} == {Table("shop", "orders")}
