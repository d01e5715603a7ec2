"""An upgrade of a fleet: a forecast for each server from its series, and one line for each lack of many."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest
from click.testing import CliRunner

from advisor.cli.main import main
from advisor.contract.fleet import Source
from advisor.contract.upgrade import FleetUpgrade
from advisor.contract.visible import json_of
from advisor.fleet.client import QueryError
from advisor.fleet.identity import ServerKey
from advisor.fleet.inventory import InventoryEntry
from advisor.fleet.progress import Progress
from advisor.fleet.series import QueryAnswer
from advisor.fleet.upgrades import UpgradeStage
from advisor.render import html, text
from advisor.render import upgrade as documents
from advisor.rules.rulebook import Rulebook, builtin_directory
from advisor.upgrade.forecast import forecast
from exporter.server import Server, identify
from tests.advisor.building import captured
from tests.advisor.fleet.answering import Answering
from tests.advisor.fleet.canned import CannedPrometheus, key, reader
from tests.advisor.fleet.scraped import AT
from tests.advisor.fleet.sources import mysqld_exporter as seen_by_mysqld_exporter
from tests.advisor.fleet.sources import sidecar as seen_by_sidecar
from tests.advisor.fleet.test_reading import fleet, sidecars
from tests.advisor.fleet.test_tables import with_tables
from tests.advisor.fleet.test_windows import SeriesByQuery, sidecar
from tests.hostile_names import NAMES

__all__ = ["sidecars"]

SERVERS = tuple(key(f"db-{n}") for n in range(4))
MYSQL = identify({"version": "9.7.4", "version_comment": "MySQL Community Server - GPL"})
MARIADB = identify({"version": "11.8.2-MariaDB"})


async def staged(
    series: SeriesByQuery | CannedPrometheus, source: Source, servers: Mapping[ServerKey, Server | None]
) -> UpgradeStage:
    client = series if isinstance(series, CannedPrometheus) else CannedPrometheus(series, servers=SERVERS)
    rules = Rulebook(builtin_directory()).rule_set
    stage = UpgradeStage(reader(client), "26.10", rules, 15.0, Progress())
    await stage.run({key: InventoryEntry(key, source, server) for key, server in servers.items()})
    return stage


@pytest.mark.parametrize(
    ("series", "source", "by"),
    [
        (with_tables(), Source.MYSQLD_EXPORTER, Source.MYSQLD_EXPORTER),
        (sidecar(), Source.SIDECAR, Source.SIDECAR),
        (sidecar(), Source.VERDICT, Source.SIDECAR),
    ],
)
async def test_each_server_is_forecast_by_its_series(series: SeriesByQuery, source: Source, by: Source) -> None:
    stage = await staged(series, source, dict.fromkeys(SERVERS, MYSQL))
    assert [(server.server, server.source, server.version) for server in stage.servers(whole=False)] == [
        (f"db-{n}", by, "mysql 9.7.4") for n in range(4)
    ]
    assert all(server.forecast is None for server in stage.servers(whole=False))
    assert all(server.forecast and server.forecast.assumed == "9.7" for server in stage.servers(whole=True))
    assert stage.not_asked == ()


async def test_what_series_lack_is_said_once_with_the_number_of_servers() -> None:
    stage = await staged(with_tables(), Source.MYSQLD_EXPORTER, dict.fromkeys(SERVERS, MYSQL))
    spots = [*stage.not_foretold()]
    assert spots
    assert {spot.servers for spot in spots} == {4}
    assert {spot.examples for spot in spots} == {("db-0", "db-1", "db-2")}


async def test_servers_that_cannot_be_upgraded_so_are_named_with_the_reason_and_not_asked() -> None:
    servers = {SERVERS[0]: MYSQL, SERVERS[1]: MARIADB, SERVERS[2]: None, SERVERS[3]: replace(MYSQL, flavour="aurora")}
    stage = await staged(with_tables(), Source.MYSQLD_EXPORTER, servers)
    assert [server.server for server in stage.servers(whole=False)] == ["db-0"]
    reasons = {group.servers: group.reason.partition(":")[0] for group in stage.not_asked}
    assert reasons == {
        ("db-1",): "26.10 is a version of MySQL, and this server is MariaDB",
        ("db-2",): "its version is not known",
        ("db-3",): "Aurora's InnoDB has versions of its own, which are not known here",
    }


async def test_a_shard_that_is_asked_for_again_names_each_server_once() -> None:
    class Wavering(CannedPrometheus):
        """One whose first answer about tables breaks a limit."""

        async def instant(self, query: str, at: float) -> QueryAnswer:
            if "mysql_info_schema_table_rows{" in query and faults:
                raise QueryError(faults.pop(), "limit")
            return await super().instant(query, at)

    faults = ["HTTP 422, execution: too many samples"]
    client = Wavering(with_tables(), servers=SERVERS[:3])
    stage = await staged(client, Source.MYSQLD_EXPORTER, dict.fromkeys(SERVERS, MYSQL))
    assert faults == []
    assert [server.server for server in stage.servers(whole=False)] == ["db-0", "db-1", "db-2"]
    assert [group.servers for group in stage.not_asked] == [("db-3",)]


@pytest.mark.parametrize("name", ["mysql-8.0/counted-beside-index", "mysql-5.6/change-buffer-merges"])
def test_a_forecast_from_series_promises_no_more_than_that_of_the_server(name: str) -> None:
    whole = {(effect.name, *effect.subject.values()) for effect in forecast(captured(name), "9.7").effects}
    for seen in (seen_by_sidecar, seen_by_mysqld_exporter):
        answer = forecast(seen(captured(name)), "9.7")
        assert {(effect.name, *effect.subject.values()) for effect in answer.effects} <= whole
        assert answer.not_foretold


def report(sidecars: Answering, *more: str) -> FleetUpgrade:
    done = CliRunner().invoke(main, ["upgrade", "--prometheus", sidecars.url, *more, "--format", "json"])
    assert done.exit_code == 0, done.output
    assert done.stderr == ""
    return FleetUpgrade.model_validate_json(done.stdout)


def test_a_fleet_without_windows_names_every_server_with_the_reason(sidecars: Answering) -> None:
    answer = report(sidecars, "--to", "26.10")
    assert {group.servers: group.reason.partition(":")[0] for group in answer.not_asked} == {
        ("db-1",): "not long enough since the first sample",
        ("db-2",): "its version is not known",
        ("db-3",): "26.10 is a version of MySQL, and this server is MariaDB",
    }
    assert [gone.server for gone in answer.vanished] == ["db-0"]
    for form in (text.text, html.file):
        written = form(documents.fleet(answer))
        assert "not long enough since the first sample" in written
        assert "db-0" in written


def test_a_version_that_no_server_takes_ends_with_the_reason(sidecars: Answering) -> None:
    for arguments in (("--to", "newest"), ("--to", "5.6", "--server", "db-1")):
        done = CliRunner().invoke(main, ["upgrade", "--prometheus", sidecars.url, *arguments])
        assert (done.exit_code, done.stdout) == (2, ""), done.output
        assert "newest' is not a version" in done.stderr or "5.6 is older" in done.stderr


def test_a_prometheus_without_servers_is_an_error() -> None:
    with fleet({}) as nobody:
        done = CliRunner().invoke(main, ["upgrade", "--prometheus", nobody.url, "--to", "8.4"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "no server" in done.stderr


async def test_hostile_names_show_and_are_bounded() -> None:
    stage = await staged(with_tables(), Source.MYSQLD_EXPORTER, dict.fromkeys(SERVERS, MYSQL))
    [server, *_] = stage.servers(whole=True)
    hostile = tuple(
        server.model_copy(update={"server": name * 100, "largest": name, "blockers": (name,), "notes": (name,)})
        for name in NAMES
    )
    answer = FleetUpgrade(
        at=AT, window_seconds=3600.0, prometheus="http://p", to="26.10", took_seconds=1.0, servers=hostile
    )
    written = text.text(documents.fleet(answer))
    assert "\x1b" not in written
    assert json.loads(json_of(answer, by_alias=True))["servers"][0]["server"] == NAMES[0] * 100
