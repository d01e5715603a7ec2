"""Trouble of the last minutes on a real server, found beside an hour in which the same table was cached.

The hour has passed in seconds: a collection after each pass, and snapshots that are dated a minute apart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from advisor.advice import evaluation
from advisor.advice.judgement import judge
from advisor.casetest.execution import BUDGET_SECONDS
from advisor.contract.recommendation import Recommendation
from advisor.observe.window import Window
from exporter.collectors.status import STATUS
from exporter.collectors.variables import VARIABLES
from exporter.connection.target import from_dsn
from exporter.sampling.sampler import Sampler
from exporter.snapshot import Snapshot
from lab.harness.watch import rules
from lab.harness.workloads import look_up_pages, make_table, scan
from lab.lru_scenarios import settle
from lab.servers import PrivateServer
from lab.servers.sql import execute

SCAN = "scan-exceeds-old-sublist"
PASS_SECONDS = 60.0
CACHED, READ = 53, 7  # passes
PAGES, OTHER_PAGES = 750, 1_400  # of the pool's 1,535, whose old sublist has 566
QUICK = {
    "innodb-buffer-pool-size": "24M",
    "innodb-lru-scan-depth": "100",
    "innodb-old-blocks-time": "10",
    "innodb-buffer-pool-load-at-startup": "OFF",
}


async def passes(server: PrivateServer) -> list[Snapshot]:
    """A collection before the first and after each pass; the last ones find nothing of the table in the pool."""
    sampler, snapshots = Sampler(from_dsn(server.dsn), interval=0.001), []
    with server.connect() as connection:
        settle(connection)
        for _ in range(3):
            scan(connection, "orders")
            await asyncio.sleep(0.05)
        try:
            snapshots.append(await sampler.collect())
            for number in range(CACHED + READ):
                if number == CACHED:  # a job makes the pages of another table young; nobody asks for them again
                    for first in range(1, OTHER_PAGES, 200):
                        for _ in range(2):
                            look_up_pages(connection, "archive", range(first, min(first + 200, OTHER_PAGES)))
                            await asyncio.sleep(0.02)
                    execute(server, "SET GLOBAL innodb_old_blocks_time = 3600000")  # no pause makes a page young
                await asyncio.to_thread(scan, connection, "orders")
                snapshots.append(await sampler.collect())
        finally:
            await sampler.close()
    return snapshots


def dated(snapshot: Snapshot, number: int, began: float) -> Snapshot:
    """The snapshot as of this pass, a minute after the one before."""
    at, status, variables = number * PASS_SECONDS, snapshot[STATUS], snapshot[VARIABLES]
    assert status is not None
    assert variables is not None
    sections = {
        "status": {**status, "uptime": 100_000 + at},
        "variables": {**variables, "innodb_old_blocks_time": "1000"},
    }
    return replace(snapshot, at=began + at, sections={**snapshot.sections, **sections})


def test_a_table_that_is_read_whole_for_seven_minutes_is_found(start_server: Callable[..., PrivateServer]) -> None:
    server = start_server("mysql-9.7", **QUICK)
    with server.connect() as connection:
        for table, pages in (("orders", PAGES), ("archive", OTHER_PAGES)):
            make_table(connection, table, pages)
    server.restart()
    snapshots = asyncio.run(passes(server))
    history = [dated(snapshot, number, snapshots[0].at) for number, snapshot in enumerate(snapshots)]
    patient = [rule.with_budget(BUDGET_SECONDS) for rule in rules() if rule.id == SCAN]
    window = Window.of(history, 3600)
    assert SCAN not in [finding.rule for finding in evaluation.advise(patient, window).recommendations]
    evaluations = [evaluation for judged in judge(patient, window) for evaluation in judged.evaluations]
    [late] = [
        evaluation.verdict
        for evaluation in evaluations
        if evaluation.rule == SCAN and isinstance(evaluation.verdict, Recommendation)
    ]
    assert late.trend == "worse"
    assert late.watched_seconds == 300.0
    began = history[CACHED].at
    assert late.since is not None
    assert abs(late.since - began) <= 450.0
