"""After a change a server with a hot set reads as many pages as the model predicted.

By hand, with `pytest -m long`, on an idle machine: when a page is looked up again decides whether it is promoted.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from advisor.facts import facts
from advisor.models.lru.scenario import Settings
from advisor.models.lru.workload import LOOKED_UP, ROUNDS, run
from advisor.observe.window import Window
from advisor.pool.model import PoolModel
from lab.harness.watch import observed_window
from lab.harness.workloads import ROWS_PER_PAGE, SCHEMA, make_table, scan
from lab.servers import PrivateServer

PAGES, HOT_PAGES = 2_719, 1_000
"""One page more in fact, which are 32 single pages and 42 whole extents: no unused page is there to be read ahead."""
LRU_SCAN_DEPTH = 100  # pages that the page cleaner frees ahead, by instance
OLD_BLOCKS_TIME, PAUSE = "300", 0.35  # ms, and slightly longer in seconds: scaled down with the tables
Start = Callable[..., PrivateServer]


@dataclass
class HotSetLoad:
    """Rounds of a scan and of point lookups beside it, one after the other; ``read`` has the pages of each."""

    server: PrivateServer
    lookups: int = 0
    even: bool = False
    read: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.connection = self.server.connect()
        self.chooser = random.Random(1)  # noqa: S311 - a workload

    def round(self) -> None:
        """One more."""
        before = self._pages_read()
        scan(self.connection, "orders")
        scanned = self._pages_read()
        pause = PAUSE / self.lookups if self.lookups and self.even else 0.0
        with self.connection.cursor() as cursor:
            for _ in range(self.lookups):
                row = self.chooser.randint(1, HOT_PAGES * ROWS_PER_PAGE)
                cursor.execute(f"SELECT id FROM {SCHEMA}.items WHERE id = {row} AND filler <> ''")
                cursor.fetchall()
                time.sleep(pause)
        if not pause:
            time.sleep(PAUSE)
        self.read.append((scanned - before, self._pages_read() - scanned))

    def rounds(self, times: int) -> list[tuple[int, int]]:
        """Run more rounds; return the pages that the scan and the lookups of each read."""
        for _ in range(times):
            self.round()
        return self.read[-times:]

    def watched(self, times: int) -> Window:
        """Run more rounds under the sidecar's collection."""
        return observed_window(self.server, self.round, times)

    def set(self, **settings: int) -> None:
        """SET GLOBAL."""
        with self.connection.cursor() as cursor:
            for name, value in settings.items():
                cursor.execute(f"SET GLOBAL {name} = {value}")

    def _pages_read(self) -> int:
        with self.connection.cursor() as cursor:
            cursor.execute("SELECT SUM(NUMBER_PAGES_READ) FROM information_schema.INNODB_BUFFER_POOL_STATS")
            return int(cursor.fetchall()[0][0])


def filled(start_server: Start, name: str) -> PrivateServer:
    """A full 64 MiB pool, about 4,090 pages; innodb_lru_scan_depth is scaled down with it."""
    options = {
        "innodb-buffer-pool-size": "64M",
        "innodb-lru-scan-depth": str(LRU_SCAN_DEPTH),
        "innodb-old-blocks-time": OLD_BLOCKS_TIME,
        "performance-schema": "ON",
    }
    server = start_server(name, **options)
    with server.connect() as connection:
        for table, pages in (("orders", PAGES), ("archive", 5_000), ("items", HOT_PAGES)):
            make_table(connection, table, pages)
        with connection.cursor() as cursor:
            cursor.execute(
                "SET GLOBAL innodb_fast_shutdown = 0"
            )  # otherwise MariaDB purges, and so reads, after the start
    server.restart()
    with server.connect() as connection:
        scan(connection, "archive")
    return server


def following(model: PoolModel, pct: int, rounds: int) -> list[float]:
    """The model's prediction of pages read in the first rounds after the change."""
    workload = replace(model.today.workload, lookups=model.lookups[0])
    simulated = run(workload, model.today.pool, (Settings(old_blocks_pct=pct), workload))
    passes = [
        simulated_pass for simulated_pass in simulated.passes if simulated_pass.object in ("shop.orders", LOOKED_UP)
    ][-2 * ROUNDS :]
    return [a.pages_read + b.pages_read for a, b in zip(passes[::2], passes[1::2], strict=True)][:rounds]


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "even"),
    [
        pytest.param("mysql-9.7", True, id="mysql-9.7 evenly"),
        pytest.param("mariadb-10.5", False, id="mariadb-10.5 in bursts"),
    ],
)
def test_with_a_hot_set_a_round_reads_to_five_percent_what_was_predicted(
    start_server: Start, name: str, *, even: bool
) -> None:
    """In both regimes: the old sublist still does not hold the table, and it does."""
    load = HotSetLoad(filled(start_server, name), lookups=800 if even else 1_500, even=even)
    load.rounds(6)
    window = load.watched(4)
    model = PoolModel(window, facts(window))
    assert model.error <= 0.05
    today = sum(map(sum, load.read[-4:])) / 4

    load.set(innodb_old_blocks_pct=60)
    read = [sum(round_) for round_ in load.rounds(5)]
    assert sum(read) / 5 == pytest.approx(sum(following(model, 60, 5)) / 5, abs=0.05 * today)

    load.set(innodb_old_blocks_pct=95)
    load.rounds(12)  # table and hot set settle; in which round depends on the pool's content
    read = [sum(round_) for round_ in load.rounds(3)]
    assert sum(read) / 3 == pytest.approx(following(model, 95, ROUNDS)[-1], abs=0.05 * today)
