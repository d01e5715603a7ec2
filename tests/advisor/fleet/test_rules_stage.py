"""Servers without verdicts, from their series to findings: in shards, with models at the end."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from advisor.contract.fleet import Source
from advisor.fleet import windows
from advisor.fleet.client import LimitHit
from advisor.fleet.identity import ServerKey
from advisor.fleet.inventory import InventoryEntry
from advisor.fleet.progress import Progress, ReadingStage
from advisor.fleet.report import Findings
from advisor.fleet.rules_stage import RulesStage
from advisor.fleet.series import Grid, QueryAnswer
from advisor.rules.rulebook import Rulebook, builtin_directory
from exporter.server import Managed, Server, identify
from tests.advisor.fleet.test_windows import STATUS_NAME, Tellings, growing, peer
from tests.advisor.fleet.told import GRID, Told, key, reader

SERVERS = tuple(key(f"db-{n}") for n in range(5))
WASTED = "read-ahead-wasted"
TELLING = {
    "mysqld-exporter-status": {
        **peer()["mysqld-exporter-status"],
        (STATUS_NAME.format("innodb_buffer_pool_read_ahead"),): growing(60),
        (STATUS_NAME.format("innodb_buffer_pool_read_ahead_rnd"),): growing(60),
        (STATUS_NAME.format("innodb_buffer_pool_read_ahead_evicted"),): growing(50),
    },
    "mysqld-exporter-settings": {
        **peer()["mysqld-exporter-settings"],
        ("mysql_global_variables_innodb_read_ahead_threshold",): 56.0,
    },
}


class Limited(Told):
    """One that refuses queries about more than two servers, and only has what was asked for."""

    most = 2

    async def instant(self, query: str, at: float) -> QueryAnswer:
        return await self._of(query, super().instant, at)

    async def grid(self, query: str, grid: Grid) -> QueryAnswer:
        return await self._of(query, super().grid, grid)

    async def _of(self, query: str, ask: Callable[[str, Any], Awaitable[QueryAnswer]], when: Any) -> QueryAnswer:
        whole, self.servers = self.servers, tuple(each for each in SERVERS if f"{each.name}:9104" in query)
        try:
            found = await ask(query, when)
        finally:
            self.servers = whole
        if len({series.labels["instance"] for series in found.series}) > self.most:
            raise LimitHit("HTTP 422, execution: too many samples")
        return found


def known(managed: Managed | None = None) -> Mapping[ServerKey, InventoryEntry]:
    def server() -> Server:
        found = identify({"version": "9.7.4", "version_comment": "MySQL Community Server - GPL"})
        return (
            found
            if managed is None
            else Server(**{**{n: getattr(found, n) for n in found.__slots__}, "managed": managed})
        )

    return {each: InventoryEntry(each, Source.MYSQLD_EXPORTER, server(), up=True) for each in SERVERS}


async def staged(client: Told, servers: Mapping[ServerKey, InventoryEntry]) -> tuple[Findings, Progress]:
    findings, progress = Findings(), Progress()
    stage = RulesStage(reader(client), Rulebook(builtin_directory()).rule_set, 0.0, progress, findings)
    await stage.run(servers)
    return findings, progress


async def test_rules_find_what_series_tell_and_count_what_they_lack_once_in_whatever_shards() -> None:
    answers = []
    for client in (Told(peer(**TELLING), servers=SERVERS), Limited(peer(**TELLING), servers=SERVERS)):
        found, progress = await staged(client, known())
        assert {server: [each.rule for each in some] for server, some in found.findings.items()} == {
            each.name: [WASTED] for each in SERVERS
        }
        assert found.not_asked == ()
        lines = found.blind_spots
        assert {line.servers for line in lines} == {5}
        assert {line.rule for line in lines} | {WASTED} <= {
            rule for some in found.undecided.values() for rule in some
        } | {WASTED}
        assert any(line.cure and "--collect." in line.cure for line in lines)
        assert {ReadingStage.WINDOWS, ReadingStage.RULES, ReadingStage.MODELS} <= progress.seconds.keys()
        answers.append((found.findings, found.undecided, lines))
    assert answers[0] == answers[1]


async def test_a_finding_has_summary_sql_and_effect_as_of_a_sidecar() -> None:
    found, _ = await staged(Told(peer(**TELLING), servers=SERVERS), known())
    [finding] = found.findings["db-0"]
    assert (finding.source, finding.subject) == (Source.MYSQLD_EXPORTER, {})
    assert finding.summary.endswith("pages read")
    assert [each.apply for each in finding.changes] == [("SET GLOBAL innodb_random_read_ahead = OFF",)]
    assert finding.evidence
    rds, _ = await staged(Told(peer(**TELLING), servers=SERVERS), known("rds"))
    [finding] = rds.findings["db-0"]
    assert [(each.apply, each.via) for each in finding.changes] == [((), "DB parameter group (Amazon RDS)")]


async def test_a_finding_carries_the_scrape_interval_where_samples_tell_it() -> None:
    scraped: Tellings = {"mysqld-exporter-scrapes": {(): 30.0}}
    [known_one] = (await staged(Told(peer(**TELLING, **scraped), servers=SERVERS), known()))[0].findings["db-0"]
    [unknown] = (await staged(Told(peer(**TELLING), servers=SERVERS), known()))[0].findings["db-0"]
    assert (known_one.scrape_interval_seconds, unknown.scrape_interval_seconds) == (15.0, None)


async def test_a_shard_that_is_asked_for_again_has_only_the_notes_of_its_last_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Wavering(Told):
        """One whose first answer about tables is a part, and whose second breaks a limit."""

        async def instant(self, query: str, at: float) -> QueryAnswer:
            found = await super().instant(query, at)
            if "mysql_info_schema_table_rows{" not in query or not faults:
                return found
            if faults.pop(0):
                return replace(found, partial=True)
            raise LimitHit("HTTP 422, execution: too many samples")

    faults = [True, False]
    monkeypatch.setattr(windows, "TABLE_SERIES", 1)
    told: Tellings = {"mysqld-exporter-tables-count": {(): 5.0}, "mysqld-exporter-statements": {(): 1.0}}
    found, _ = await staged(Wavering(peer(**TELLING) | told, servers=SERVERS), known())
    assert faults == []
    assert (found.notes, len(found.findings)) == ({}, 5)


async def test_nothing_is_said_of_servers_whose_answers_are_incomplete_or_whose_samples_ended() -> None:
    found, _ = await staged(Told(peer(**TELLING), servers=SERVERS, partial=True), known())
    assert {left.reason for left in found.not_asked} == {"incomplete answer: store gateway is away"}
    assert (found.findings, found.blind_spots) == ({}, ())
    gone = Told(peer(**TELLING), servers=SERVERS, missing=frozenset(GRID.points[-2:]))
    found, _ = await staged(gone, known())
    assert {left.reason for left in found.not_asked} == {"no sample at the window's end"}
