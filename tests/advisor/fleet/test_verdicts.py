from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pytest
from prometheus_client.core import Metric

from advisor.advice.metrics import families as advice_families
from advisor.contract.fleet import Source
from advisor.contract.links import Links
from advisor.contract.recommendation import Advice, Severity
from advisor.fleet.identity import Identity, ServerKey
from advisor.fleet.inventory import InventoryEntry, inventory
from advisor.fleet.reader import FleetReader
from advisor.fleet.report import ServerFindings
from advisor.fleet.series import Grid
from advisor.fleet.verdicts import verdicts
from advisor.observe.window import Window
from advisor.rules.rulebook import Rulebook, builtin_directory
from exporter.sampling import metrics
from exporter.server import identify
from tests.advisor.building import captured
from tests.advisor.fleet import reports
from tests.advisor.fleet.reports import FEW
from tests.advisor.fleet.scraped import AT, ScrapedSidecars

BOOK = Rulebook(builtin_directory())
RULES = BOOK.rule_set
IDENTITY = Identity()


def seen(name: str) -> tuple[Window, Advice]:
    return captured(name), reports.advice(name).model_copy(update={"computed_at": AT - 30})


def exposition(window: Window, advice: Advice) -> Iterable[Metric]:
    return [*metrics.families(window.latest), *advice_families(advice, BOOK, Links("http://db:9747"))]


def reader(client: ScrapedSidecars, selector: str = "") -> FleetReader:
    return FleetReader(client, IDENTITY, selector, Grid(AT, 0.0, 1))


def fleet_of(*names: str) -> ScrapedSidecars:
    return ScrapedSidecars({f"{name.replace('/', '-')}:9747": exposition(*seen(name)) for name in names})


async def read(
    client: ScrapedSidecars, selector: str = ""
) -> tuple[Mapping[ServerKey, InventoryEntry], Mapping[ServerKey, ServerFindings]]:
    known = await inventory(reader(client, selector))
    verdict_of, left = await verdicts(reader(client, selector), known.servers, RULES)
    assert left == {}
    return known.servers, verdict_of


async def test_findings_are_those_of_each_sidecar_with_the_same_sql() -> None:
    known, verdict_of = await read(fleet_of(*FEW))
    assert {server.source for server in known.values()} == {Source.VERDICT}
    compared = 0
    for name in FEW:
        window, advice = seen(name)
        [key] = [server for server in known if server.name == name.replace("/", "-")]
        server = known[key].server
        assert server
        assert replace(server, performance_schema=True) == replace(window.latest.server, performance_schema=True)
        assert {finding.fingerprint: reports.essence(finding) for finding in verdict_of[key].findings} == {
            recommendation.fingerprint: reports.essence(recommendation) for recommendation in advice.recommendations
        }
        blind, failed = ({verdict.rule for verdict in group} for group in (advice.blind, advice.failed))
        assert set(verdict_of[key].undecided) == blind | failed
        assert all(
            finding.changes or finding.notes[0].startswith("what to do is no setting")
            for finding in verdict_of[key].findings
        )
        compared += len(verdict_of[key].findings)
    assert compared >= 6


async def test_five_queries_do_for_the_fleet_and_five_a_shard_where_a_limit_is_hit() -> None:
    client = fleet_of(*FEW)
    _, whole = await read(client)
    assert len(client.asked) == 6 + 5
    client.most = 2
    servers = {key: replace(entry, key=key) for key, entry in (await _known(client)).items()}
    verdict_of, left = await verdicts(reader(client), servers, RULES)
    assert (verdict_of, left) == (whole, {})


async def _known(client: ScrapedSidecars) -> Mapping[ServerKey, InventoryEntry]:
    most, client.most = client.most, 100
    servers = (await inventory(reader(client))).servers
    client.most = most
    return servers


async def test_every_rule_that_is_undecided_says_what_it_lacks() -> None:
    name = next(name for name in FEW if seen(name)[1].blind)
    _, verdict_of = await read(fleet_of(name))
    [verdict] = verdict_of.values()
    assert {rule for rule, _, _ in verdict.lacks} == set(verdict.undecided)


async def test_an_incomplete_answer_is_said_of_each_server() -> None:
    client = fleet_of(FEW[0])
    client.warnings = ("store eu-2 is down",)
    _, verdict_of = await read(client)
    [verdict] = verdict_of.values()
    assert verdict.notes == ("incomplete answer: store eu-2 is down",)
    assert {*verdict.undecided} == {rule.id for rule in RULES.rules} - {finding.rule for finding in verdict.findings}


def _one(**more: object) -> list[Metric]:
    """The exposition of a sidecar with one finding, from before it told values."""
    family = Metric("innodb_advisor_recommendation", "", "gauge")
    labels = {"rule": "warmup-disabled", "severity": "dire", "subject": "", "setting": "innodb_old_blocks_pct", **more}
    family.add_sample("innodb_advisor_recommendation", {name: str(value) for name, value in labels.items()}, 1.0)
    return [family]


@pytest.mark.parametrize(
    ("server", "note"),
    [(identify({"version": "9.7.4"}), "older version"), (None, "its version is not known")],
)
async def test_a_sidecar_that_tells_no_values_has_findings_without_sql(server: object, note: str) -> None:
    key = IDENTITY.server({"instance": "db:9747"})
    assert key
    known = InventoryEntry(key, Source.VERDICT, server, judged_at=AT - 7_200)  # type: ignore[arg-type]
    client = ScrapedSidecars({"db:9747": _one()})
    verdict_of, _ = await verdicts(reader(client), {key: known}, RULES)
    [finding] = verdict_of[key].findings
    assert (finding.changes, finding.severity, finding.page_url) == ((), Severity.INFO, None)
    assert finding.notes[0] == "its sidecar judged last 2 h ago"
    assert note in finding.notes[1]


async def test_a_setting_that_is_an_empty_text_goes_back_to_it() -> None:
    """innodb_flush_method of MySQL 5.6, where nobody set it."""
    key = IDENTITY.server({"instance": "db:9747"})
    assert key
    known = InventoryEntry(key, Source.VERDICT, identify({"version": "5.6.24"}), judged_at=AT)
    words = Metric("innodb_advisor_recommendation_info", "", "gauge")
    labels = {"rule": "warmup-disabled", "subject": "", "from": "", "value": "O_DIRECT", "fingerprint": ""}
    words.add_sample(words.name, {**labels, "setting": "innodb_flush_method"}, 1.0)
    client = ScrapedSidecars({"db:9747": [*_one(setting="innodb_flush_method"), words]})
    verdict_of, _ = await verdicts(reader(client), {key: known}, RULES)
    [finding] = verdict_of[key].findings
    assert [(change.setting, change.from_, change.to) for change in finding.changes] == [
        ("innodb_flush_method", "", "O_DIRECT")
    ]


async def test_a_cloud_service_has_its_own_place_for_changes() -> None:
    name = "mysql-9.7/repeated-scan"
    client = fleet_of(name)
    known = await inventory(reader(client), services=[('job="mysql"', "rds")])
    verdict_of, _ = await verdicts(reader(client), known.servers, RULES)
    changes = [change for verdict in verdict_of.values() for finding in verdict.findings for change in finding.changes]
    assert changes
    assert {(change.apply, change.via) for change in changes} == {((), "DB parameter group (Amazon RDS)")}
