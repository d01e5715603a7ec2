"""What the fleet sees of real servers under load, against what they count themselves and what their sidecars find.

The sidecars and the real mysqld_exporter are asked before the load and after each of its rounds, while nothing else
reads the table: so a server's own counts are those of the series to the page. A real Prometheus has their answers.
"""

from __future__ import annotations

import asyncio
import functools
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pymysql
import pytest

from advisor.contract.fleet import Source
from advisor.contract.upgrade import UpgradeForecast
from advisor.facts import facts
from advisor.fleet.client import PrometheusClient
from advisor.fleet.identity import Identity, ServerKey
from advisor.fleet.inventory import InventoryEntry
from advisor.fleet.judging import judge
from advisor.fleet.progress import Progress
from advisor.fleet.reader import FleetReader
from advisor.fleet.series import Grid
from advisor.fleet.upgrades import UpgradeStage
from advisor.fleet.windows import WindowReader
from advisor.observe.window import Window
from advisor.rules.rulebook import Rulebook, builtin_directory
from exporter.collectors.table_files import TABLE_FILES
from exporter.server import identify
from exporter.snapshot import Table
from lab.bench.exporters import GRANTS, OURS, PEER
from lab.harness.watch import rules
from lab.harness.workloads import SCHEMA, emptied, scan
from lab.processes.program import PLAIN
from lab.programs import mysqld_exporter, prometheus
from lab.proofs.scans import OTHER, OTHER_PAGES, PAGES, POOL, SCANNED
from lab.servers import PrivateServer
from lab.servers.sql import execute
from tests.advisor.in_process import InProcess
from tests.fleet.blocks import Blocks
from tests.unavailable import or_give_up
from tests.waiting import DEADLINE, wait_for

SERVERS = {
    "mysql-9.7": {},
    "mariadb-11.8": {"performance_schema_consumer_statements_digest": "ON"},
}
FLAGS = (
    "--collect.info_schema.tables",
    "--collect.info_schema.innodb_tablespaces",
    "--collect.perf_schema.indexiowaits",
    "--collect.perf_schema.tablelocks",
    "--collect.perf_schema.eventsstatements",
    "--collect.perf_schema.file_events",
    "--collect.perf_schema.file_instances",
)
IDENTITY = Identity(("db",))
ROUNDS = 8
STEP = 15.0
"""Seconds between two scrapes, by the clock of the series."""
END = time.time() // 60 * 60
BEGIN = END - ROUNDS * STEP
ORDERS = Table(SCHEMA, SCANNED)
COUNTS = {
    "pages_read": "SELECT VARIABLE_VALUE FROM {status} WHERE VARIABLE_NAME = 'Innodb_pages_read'",
    "gets": "SELECT VARIABLE_VALUE FROM {status} WHERE VARIABLE_NAME = 'Innodb_buffer_pool_read_requests'",
    "file_reads": "SELECT SUM(COUNT_READ) FROM performance_schema.file_summary_by_instance"
    f" WHERE FILE_NAME LIKE '%/{SCHEMA}/{SCANNED}.ibd'",
}
COMPARED = ("status", "pools", "table_scans", "count_statements", "table_files")
"""Sections of the sidecar."""
Counts = Mapping[str, float]


@dataclass
class Watched:
    """A server, what watches it, and its own counts before and after it was asked at the window's ends."""

    server: PrivateServer
    connection: pymysql.Connection[Any]
    sidecar: InProcess
    peer: str
    counts: list[tuple[Counts, Counts]]

    def count(self) -> Counts:
        mariadb = "mariadb" in self.server.version.lower()
        status = f"{'information_schema' if mariadb else 'performance_schema'}.global_status"
        with self.connection.cursor() as cursor:
            counts = {}
            for name, sql in COUNTS.items():
                cursor.execute(sql.format(status=status))
                counts[name] = float(cursor.fetchall()[0][0])
        return counts

    def scrape(self, name: str, blocks: Blocks) -> None:
        """Ask both exporters once the sidecar has read everything that is compared after the work so far."""
        before, now = self.count(), time.time()

        def is_newer() -> bool:
            answer = self.sidecar.get("/snapshot")
            read_at = answer.json()["read_at"] if answer.is_success else {}
            return all(read_at.get(section, 0.0) > now for section in COMPARED)

        wait_for(is_newer)
        own, peer = self.sidecar.get("/metrics").text, httpx.get(self.peer, timeout=DEADLINE, **PLAIN).text
        at = [BEGIN + STEP * len(self.counts)]
        blocks.add(own, at, BEGIN - 1000.0, db=name, instance=f"own-{name}")
        blocks.add(peer, at, BEGIN - 1000.0, db=name, instance=f"peer-{name}")
        self.counts.append((before, self.count()))

    def finds(self, subject: str) -> bool:
        """Whether the sidecar's last verdicts have a finding on a subject."""
        advice = self.sidecar.get("/advise")
        findings = advice.json()["recommendations"] if advice.is_success else []
        return subject in {str(finding["subject"]) for finding in findings}

    def growth(self, name: str) -> tuple[float, float]:
        """The least and the most that a count may have grown between the first scrape and the last."""
        first, last = self.counts[0], self.counts[-1]
        return last[0][name] - first[1][name], last[1][name] - first[0][name]


@pytest.fixture
def watched(start_server: Callable[..., PrivateServer], tmp_path: Path) -> Iterator[dict[str, Watched]]:
    with ExitStack() as stack:
        servers = {}
        for name, options in SERVERS.items():
            server = start_server(name, **POOL, **options)
            for account, grants in GRANTS.items():
                execute(server, f"CREATE USER {account}@'127.0.0.1'")
                execute(server, *(f"GRANT {grant} TO {account}@'127.0.0.1'" for grant in grants))
            connection = stack.enter_context(emptied(server, {SCANNED: PAGES, OTHER: OTHER_PAGES}))
            connection.select_db(SCHEMA)  # mysqld_exporter leaves out statements without a default schema
            execute(server, "SET GLOBAL innodb_old_blocks_time = 60000")  # a slow scan makes nothing young either
            scan(connection, OTHER)
            folder = tmp_path / name
            folder.mkdir()
            sidecar = stack.enter_context(
                InProcess("--dsn", f"mysql://{OURS}@{server.host}:{server.port}", "--interval", "1s")
            )
            peer = stack.enter_context(or_give_up(mysqld_exporter.running(server, folder, PEER, *FLAGS)))
            servers[name] = Watched(server, connection, sidecar, f"http://127.0.0.1:{peer.port}/metrics", [])
        yield servers


def key(name: str) -> ServerKey:
    server = IDENTITY.server({"db": name})
    assert server is not None
    return server


async def seen(url: str, grid: Grid, source: Source) -> dict[str, Window]:
    """The windows with their tables."""
    whole: dict[str, Window] = {}
    async with PrometheusClient(url) as client:
        reader = WindowReader(FleetReader(client, IDENTITY, "", grid), source)
        of = await reader.windows([key(name) for name in SERVERS])
        clear = {server: window for server, window in of.items() if isinstance(window, Window)}
        assert len(clear) == len(SERVERS), of
        async for part in reader.tables(clear):
            whole |= {server.name: window for server, window in part.items() if isinstance(window, Window)}
    return whole


def judged(window: Window, source: Source) -> set[tuple[str, str]]:
    """What the rules find, models included, as rule and subject."""
    verdicts = judge(rules(), window, source)
    verdicts = judge(rules(), window, source, before=verdicts, seconds=math.inf)
    return {(finding.rule, str(dict(finding.subject))) for finding in verdicts.findings}


async def forecast(url: str, grid: Grid, source: Source, watched: Watched) -> UpgradeForecast:
    """Of an upgrade of MySQL, from its series."""
    mysql = key("mysql-9.7")
    entry = InventoryEntry(mysql, source, identify({"version": watched.server.version}))
    async with PrometheusClient(url) as client:
        rule_set = Rulebook(builtin_directory()).rule_set
        stage = UpgradeStage(FleetReader(client, IDENTITY, "", grid), "26.10", rule_set, 60.0, Progress())
        await stage.run({mysql: entry})
    [server] = stage.servers(whole=True)
    assert server.forecast is not None
    return server.forecast


def test_the_fleet_counts_as_servers_do_and_finds_what_their_sidecars_find(
    watched: dict[str, Watched], tmp_path: Path
) -> None:
    blocks = Blocks()
    for name, server in watched.items():
        server.scrape(name, blocks)
    for _ in range(ROUNDS):
        for name, server in watched.items():
            scan(server.connection, SCANNED)
            server.scrape(name, blocks)
    scanned = ("scan-exceeds-old-sublist", str({"schema": SCHEMA, "table": SCANNED}))
    with or_give_up(prometheus.running(tmp_path, [], data=blocks.write(tmp_path))) as asked:
        for source in (Source.SIDECAR, Source.MYSQLD_EXPORTER):
            for name, window in asyncio.run(seen(asked.url, Grid(END, STEP), source)).items():
                known = facts(window)
                growths = {
                    "pages_read": known.pool.pages_read,
                    "gets": known.pool.gets,
                    "file_reads": window.growth(lambda s: s[TABLE_FILES], ORDERS, lambda f: float(f.reads)),
                }
                for what, grown in growths.items():
                    least, most = watched[name].growth(what)
                    assert grown is not None
                    assert least <= grown <= most, (name, source, what)
                assert watched[name].growth("file_reads")[0] == growths["file_reads"]
                assert scanned in judged(window, source), (name, source)
            upgrade = asyncio.run(forecast(asked.url, Grid(END, STEP), source, watched["mysql-9.7"]))
            assert upgrade.assumed == "9.7"
            assert (upgrade.blockers, upgrade.effects) == ((), ())
    for server in watched.values():
        # Which of the scan rules it is depends on how fast the machine was.
        wait_for(functools.partial(server.finds, scanned[1]))
