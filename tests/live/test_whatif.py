"""After a change the server reads as many pages as the model predicted."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable

import pytest

from advisor.observe.window import Window
from advisor.pool.what_if import what_if
from exporter.connection.target import from_dsn
from exporter.sampling.sampler import Sampler
from lab.harness.measure import pages_read
from lab.harness.watch import observed_window
from lab.harness.workloads import make_table, scan
from lab.lru_scenarios import settle
from lab.servers import PrivateServer
from lab.servers.sql import execute, query_number
from tests.waiting import wait_for

PAGES = 1_375
"""One page more in fact, which are 32 single pages and 21 whole extents: no unused page is there to be read ahead."""
CATALOGUE_PAGES = 64
"""Pages of the server's own that a collection reads, and that then are anywhere in its list."""
OLD_BLOCKS_TIME, PAUSE = "300", 0.35  # ms, and slightly longer in seconds
OPTIONS = {
    "innodb-buffer-pool-size": "32M",
    "innodb-lru-scan-depth": "100",
    "innodb-old-blocks-time": OLD_BLOCKS_TIME,
}
Start = Callable[..., PrivateServer]


def test_a_scan_alone_reads_what_was_predicted(start_server: Start) -> None:
    """On MySQL, whose page cleaner frees no page while nothing is written: the same pages under any schedule."""
    server = start_server("mysql-9.7", **OPTIONS)
    with server.connect() as connection:
        for table, pages in (("orders", PAGES), ("archive", 2_500)):
            make_table(connection, table, pages)
    server.restart()
    with server.connect() as connection:
        settle(connection)
        scan(connection, "archive")

        def one_round() -> None:
            scan(connection, "orders")
            time.sleep(PAUSE)

        def settled(pct: int) -> list[int]:
            """Pages read by the scans of two rounds, once the change has had its effect."""
            execute(server, f"SET GLOBAL innodb_old_blocks_pct = {pct}")
            for _ in range(3):
                one_round()
            counts = [pages_read(server)]
            for _ in range(2):
                one_round()
                counts.append(pages_read(server))
            return [after - before for before, after in itertools.pairwise(counts)]

        for _ in range(3):
            one_round()
        window = observed_window(server, one_round, 3)
        # A smaller old sublist leaves its pages to the young one; a larger one that does not hold the table gains
        # nothing; one that does holds it from the second pass on.
        now, unchanged = predicted(window, 50)
        expected = {pct: predicted(window, pct)[1] for pct in (20, 80)}
        assert now == pytest.approx(PAGES, abs=CATALOGUE_PAGES)
        assert unchanged == pytest.approx(now, abs=CATALOGUE_PAGES)
        assert 0.5 * PAGES < expected[20] < 0.95 * now
        assert expected[80] == 0
        for pct, then in expected.items():
            assert settled(pct) == pytest.approx([then] * 2, abs=CATALOGUE_PAGES)


def predicted(window: Window, pct: int) -> tuple[float, float]:
    """Pages read per pass by the only scanned table, now and after the change."""
    answer = what_if(window, {"innodb_old_blocks_pct": pct})
    [table] = answer.tables
    assert answer.error < 0.02
    assert answer.confidence == 1.0
    return float(table.pages_read_per_pass.now), float(table.pages_read_per_pass.then)


@pytest.mark.parametrize("name", ["mysql-9.7", "mariadb-11.8"])
def test_a_size_is_rounded_as_the_server_rounds_it(start_server: Start, name: str) -> None:
    server = start_server(name, **{"innodb-buffer-pool-size": "128M", "performance-schema": "ON"})
    size = ((100 if name == "mariadb-11.8" else 150) << 20) + 1  # MariaDB's only shrinks by default
    expected = what_if(asyncio.run(_idle(server)), {"innodb_buffer_pool_size": size}).changes[0].to
    execute(server, f"SET GLOBAL innodb_buffer_pool_size = {size}")
    wait_for(lambda: query_number(server, "SELECT @@innodb_buffer_pool_size") == expected)


async def _idle(server: PrivateServer) -> Window:
    sampler = Sampler(from_dsn(server.dsn), interval=1.0)
    try:
        for _ in range(2):
            await sampler.collect()
            await asyncio.sleep(0.3)
        return Window.of(sampler.history, longest=3600)
    finally:
        await sampler.close()
