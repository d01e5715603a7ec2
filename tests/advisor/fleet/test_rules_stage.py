"""Servers without verdicts, from their series to findings: in shards, with models at the end."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from advisor.contract.fleet import Source
from advisor.fleet import windows
from advisor.fleet.client import QueryError
from advisor.fleet.identity import ServerKey
from advisor.fleet.inventory import InventoryEntry
from advisor.fleet.progress import Progress
from advisor.fleet.report import FleetFindings
from advisor.fleet.rules_stage import RulesStage
from advisor.fleet.series import Grid, QueryAnswer
from advisor.rules.rulebook import Rulebook, builtin_directory
from exporter.server import Managed, identify
from tests.advisor.fleet.canned import GRID, CannedPrometheus, key, reader
from tests.advisor.fleet.test_tables import with_tables
from tests.advisor.fleet.test_windows import STATUS_NAME, SeriesByQuery, growing, mysqld_exporter

SERVERS = tuple(key(f"db-{n}") for n in range(5))
WASTED, SCAN = "read-ahead-wasted", "scan-exceeds-old-sublist"
TELLING = {
    "mysqld-exporter-status": {
        **mysqld_exporter()["mysqld-exporter-status"],
        (STATUS_NAME.format("innodb_buffer_pool_read_ahead"),): growing(60),
        (STATUS_NAME.format("innodb_buffer_pool_read_ahead_rnd"),): growing(60),
        (STATUS_NAME.format("innodb_buffer_pool_read_ahead_evicted"),): growing(50),
    },
    "mysqld-exporter-settings": {
        **mysqld_exporter()["mysqld-exporter-settings"],
        ("mysql_global_variables_innodb_read_ahead_threshold",): 56.0,
    },
}


class Limited(CannedPrometheus):
    """One that refuses queries about more than two servers, and only has what was asked for."""

    most = 2

    async def instant(self, query: str, at: float) -> QueryAnswer:
        return await self._of(query, super().instant, at)

    async def grid(self, query: str, grid: Grid, *, downsampled: bool = False) -> QueryAnswer:
        return await self._of(query, functools.partial(super().grid, downsampled=downsampled), grid)

    async def _of(self, query: str, ask: Callable[[str, Any], Awaitable[QueryAnswer]], when: Any) -> QueryAnswer:
        whole, self.servers = self.servers, tuple(key for key in SERVERS if f"{key.name}:9104" in query)
        try:
            answer = await ask(query, when)
        finally:
            self.servers = whole
        if len({series.labels["instance"] for series in answer.series}) > self.most:
            raise QueryError("HTTP 422, execution: too many samples", "limit")
        return answer


def known(managed: Managed | None = None) -> Mapping[ServerKey, InventoryEntry]:
    server = replace(identify({"version": "9.7.4", "version_comment": "MySQL Community Server - GPL"}), managed=managed)
    return {key: InventoryEntry(key, Source.MYSQLD_EXPORTER, server, up=True) for key in SERVERS}


async def staged(
    client: CannedPrometheus, servers: Mapping[ServerKey, InventoryEntry], model_seconds: float = 0.0
) -> tuple[FleetFindings, Progress]:
    findings, progress = FleetFindings(), Progress()
    stage = RulesStage(reader(client), Rulebook(builtin_directory()).rule_set, model_seconds, progress, findings)
    await stage.run(servers)
    return findings, progress


async def test_rules_find_what_series_tell_and_count_what_they_lack_once_in_whatever_shards() -> None:
    answers = []
    for client in (
        CannedPrometheus(mysqld_exporter(**TELLING), servers=SERVERS),
        Limited(mysqld_exporter(**TELLING), servers=SERVERS),
    ):
        findings, progress = await staged(client, known())
        assert {name: [finding.rule for finding in server.findings] for name, server in findings.servers.items()} == {
            key.name: [WASTED] for key in SERVERS
        }
        assert findings.not_asked == ()
        spots = findings.blind_spots
        assert {spot.servers for spot in spots} == {5}
        undecided = {rule for server in findings.servers.values() for rule in server.undecided}
        assert {spot.rule for spot in spots} <= undecided
        assert WASTED not in undecided
        assert any(spot.cure and "--collect." in spot.cure for spot in spots)
        assert {"windows", "rules", "models"} <= progress.seconds.keys()
        answers.append((findings.servers, spots))
    assert answers[0] == answers[1]


async def test_a_finding_has_summary_sql_and_effect_as_of_a_sidecar() -> None:
    findings, _ = await staged(CannedPrometheus(mysqld_exporter(**TELLING), servers=SERVERS), known())
    [finding] = findings.servers["db-0"].findings
    assert (finding.source, finding.subject) == (Source.MYSQLD_EXPORTER, {})
    assert finding.summary.endswith("pages read")
    assert [change.apply for change in finding.changes] == [("SET GLOBAL innodb_random_read_ahead = OFF",)]
    assert finding.evidence
    rds, _ = await staged(CannedPrometheus(mysqld_exporter(**TELLING), servers=SERVERS), known("rds"))
    [finding] = rds.servers["db-0"].findings
    assert [(change.apply, change.via) for change in finding.changes] == [((), "DB parameter group (Amazon RDS)")]


async def test_a_finding_carries_the_scrape_interval_where_samples_tell_it() -> None:
    async def interval(more: SeriesByQuery) -> float | None:
        findings, _ = await staged(CannedPrometheus(mysqld_exporter(**TELLING, **more), servers=SERVERS), known())
        [finding] = findings.servers["db-0"].findings
        return finding.scrape_interval_seconds

    assert await interval({"mysqld-exporter-scrapes": {(): 30.0}}) == 15.0
    assert await interval({}) is None


async def test_a_shard_that_is_asked_for_again_has_only_the_notes_of_its_last_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Wavering(CannedPrometheus):
        """One whose first answer about tables is a part, and whose second breaks a limit."""

        async def instant(self, query: str, at: float) -> QueryAnswer:
            answer = await super().instant(query, at)
            if "mysql_info_schema_table_rows{" not in query or not faults:
                return answer
            if faults.pop(0):
                return replace(answer, partial=True)
            raise QueryError("HTTP 422, execution: too many samples", "limit")

    faults = [True, False]
    monkeypatch.setattr(windows, "TABLE_SERIES", 1)
    tables: SeriesByQuery = {"mysqld-exporter-tables-count": {(): 5.0}, "mysqld-exporter-statements": {(): 1.0}}
    findings, _ = await staged(Wavering(mysqld_exporter(**TELLING) | tables, servers=SERVERS), known())
    assert faults == []
    assert [server.notes for server in findings.servers.values()] == [()] * 5


async def test_nothing_is_said_of_servers_whose_answers_are_incomplete_or_whose_samples_ended() -> None:
    findings, _ = await staged(CannedPrometheus(mysqld_exporter(**TELLING), servers=SERVERS, partial=True), known())
    assert {left.reason for left in findings.not_asked} == {"incomplete answer: store gateway is away"}
    assert (findings.servers, findings.blind_spots) == ({}, ())
    gone = CannedPrometheus(mysqld_exporter(**TELLING), servers=SERVERS, missing=frozenset(GRID.points[-2:]))
    findings, _ = await staged(gone, known())
    assert {left.reason for left in findings.not_asked} == {"no sample at the window's end"}


async def test_models_answer_within_their_seconds_and_servers_without_an_answer_are_named() -> None:
    series = with_tables()
    sizes = {"buffer_pool_size": 2.0**27, "old_blocks_time": 1000.0, "lru_scan_depth": 1024.0}
    for name, value in sizes.items():
        series["mysqld-exporter-settings"][f"mysql_global_variables_innodb_{name}",] = value
    findings, _ = await staged(CannedPrometheus(series, servers=SERVERS), known())
    assert findings.not_modelled == tuple(key.name for key in SERVERS)
    assert all(SCAN in server.undecided for server in findings.servers.values())
    assert {spot.servers for spot in findings.blind_spots} == {5}
    findings, _ = await staged(CannedPrometheus(series, servers=SERVERS[:1]), dict([*known().items()][:1]), 600.0)
    assert findings.not_modelled == ()
    assert SCAN not in findings.servers["db-0"].undecided
