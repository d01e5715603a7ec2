"""After a change a server with a hot set reads as many pages as the model predicted of its lookups.

The same at any speed: no page is looked up twice within innodb_old_blocks_time, so that each further lookup promotes
it, and a scan is done with a page in far less. On MySQL, whose page cleaner frees no page while nothing is written.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest

from advisor.facts import facts
from advisor.models.lru.popularity import Pages
from advisor.pool.model import PoolModel
from advisor.pool.trials import ROUGH
from lab.harness.measure import pages_read
from lab.harness.watch import observed_window
from lab.harness.workloads import emptied, look_up_pages, scan
from lab.lru_scenarios import settle
from lab.servers import PrivateServer
from lab.servers.sql import execute

PAGES, HOT_PAGES = 2_719, 3_000
"""One page more in fact, which are 32 single pages and 42 whole extents: no unused page is there to be read ahead. The
young sublist, of 2,580 pages at the default, holds most of the hot set."""
BURSTS, LOOKUPS = 4, 200
"""Bursts of lookups between two scans, and lookups of a burst, no two of the same page."""
OLD_BLOCKS_TIME, PAUSE = "20", 0.1  # ms, and longer in seconds
OPTIONS = {
    "innodb-buffer-pool-size": "64M",
    "innodb-lru-scan-depth": "100",
    "innodb-old-blocks-time": OLD_BLOCKS_TIME,
}
CHUNK = 1_000
"""Pages that the old sublist holds until they are looked up again."""


def test_a_round_beside_a_hot_set_reads_what_was_predicted(start_server: Callable[..., PrivateServer]) -> None:
    """In both regimes: the old sublist still does not hold the table, and it does."""
    server, chooser = start_server("mysql-9.7", **OPTIONS), random.Random(1)  # noqa: S311 - a workload
    with emptied(server, {"orders": PAGES, "archive": 5_000, "items": HOT_PAGES}) as connection:
        settle(connection)
        scan(connection, "archive")
        for first in range(0, HOT_PAGES, CHUNK):  # the young sublist is full of them from the start
            for _ in range(2):
                look_up_pages(connection, "items", range(first, first + CHUNK))
                time.sleep(PAUSE)

        def one_round() -> None:
            scan(connection, "orders")
            for _ in range(BURSTS):
                time.sleep(PAUSE)
                look_up_pages(connection, "items", chooser.sample(range(HOT_PAGES), LOOKUPS))
            time.sleep(PAUSE)

        def pages_per_round(rounds: int) -> float:
            before = pages_read(server)
            for _ in range(rounds):
                one_round()
            return (pages_read(server) - before) / rounds

        pages_per_round(2)
        window = observed_window(server, one_round, 3)
        model = PoolModel(window, facts(window))
        assert model.error <= ROUGH  # of what was watched: the lookups it finds explain it, and need not be these
        seconds = model.today.workload.round_seconds
        lookups = (Pages(HOT_PAGES, BURSTS * LOOKUPS / HOT_PAGES / seconds),)

        def predicted(**changes: float) -> float:
            return model.sizes.load.predict(changes, lookups, model.check_time).rates.read * seconds

        today = pages_per_round(3)
        off = ROUGH * today
        assert today == pytest.approx(predicted(), abs=off)
        execute(server, "SET GLOBAL innodb_old_blocks_pct = 60")
        pages_per_round(2)  # until the young sublist is shorter
        more = pages_per_round(3)
        assert more - today > off
        assert more == pytest.approx(predicted(innodb_old_blocks_pct=60), abs=off)
        execute(server, "SET GLOBAL innodb_old_blocks_pct = 95")
        pages_per_round(2)  # the first of these reads the table
        less = pages_per_round(3)
        assert less == pytest.approx(predicted(innodb_old_blocks_pct=95), abs=off)
        assert less < PAGES / 2
