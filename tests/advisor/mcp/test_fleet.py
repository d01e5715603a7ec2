"""A fleet's service as the one who answers."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from advisor.contract.fleet import FleetReport
from advisor.fleet.progress import Progress
from advisor.fleet.reading import ReadingOptions
from advisor.fleet.watch import FleetWatch
from advisor.http import fleet as service
from advisor.mcp import application
from advisor.mcp.endpoint import LocalEndpoint
from advisor.mcp.pages import BOUNDS
from advisor.mcp.readings import FleetReadings
from advisor.mcp.sources import FleetAnswers
from advisor.rules.rulebook import Rulebook
from tests.advisor.building import RULES_FOLDER
from tests.advisor.fleet import reports
from tests.advisor.mcp.agent import Agent, beside

AWAY = "http://127.0.0.1:1"
GAPS = reports.with_gaps()
BLIND = GAPS.blind[0]
REPORT = GAPS.model_copy(
    update={
        "servers": tuple(
            server.model_copy(update={"undecided": (BLIND.rule,)}) if server.source is BLIND.source else server
            for server in GAPS.servers
        )
    }
)


async def report(_: Progress) -> FleetReport:
    return REPORT


def asked() -> AbstractAsyncContextManager[Agent]:
    """An agent beside the service."""
    watch = FleetWatch(report, 300)
    rules = Rulebook(RULES_FOLDER)
    app = service.create(watch, rules)
    readings = FleetReadings(watch, ReadingOptions(url=AWAY), rules)
    return beside(application.create(FleetAnswers(LocalEndpoint(app), readings), app))


async def test_servers_and_findings_come_with_all_their_pages() -> None:
    async with asked() as agent:
        pages = await agent.pages("list_servers")
        names = [server["name"] for page in pages for server in page.answer["servers"]]
        assert set(names) == {server.name for server in REPORT.servers} | {
            name for group in REPORT.not_asked for name in group.servers
        }
        lines = [line for page in await agent.pages("list_findings") for line in page.answer["findings"]]
        assert [line["fingerprint"] for line in lines] == [finding.fingerprint for finding in REPORT.findings]
        assert all(page.tokens < BOUNDS.tokens for page in pages)


async def test_a_finding_is_asked_for_with_its_server() -> None:
    async with asked() as agent:
        finding = REPORT.findings[0]
        answer = await agent.ask("get_finding", fingerprint=finding.fingerprint, server=finding.server)
        assert (answer.answer["server"], answer.answer["rule"]) == (finding.server, finding.rule)
        assert answer.tokens < BOUNDS.tokens


async def test_what_only_a_sidecar_knows_says_how_to_ask_it() -> None:
    async with asked() as agent:
        server = REPORT.servers[0].name
        for tool, arguments in (
            ("what_if", {"settings": {"innodb_old_blocks_pct": 80}}),
            ("miss_curve", {}),
            ("get_outcome", {}),
        ):
            why = await agent.refused(tool, server=server, **arguments)
            assert "ask the server's own sidecar" in why
            assert "innodb-advisor mcp --url" in why


async def test_plans_and_forecasts_are_read_from_prometheus() -> None:
    async with asked() as agent:
        finding = REPORT.findings[0]
        for tool, arguments in (
            ("forecast_upgrade", {"to": "26.7", "server": finding.server}),
            ("plan_change", {"fingerprint": finding.fingerprint, "target": "cnf", "server": finding.server}),
        ):
            assert "Connection refused" in await agent.refused(tool, **arguments)
        assert "list_servers has the names" in await agent.refused("forecast_upgrade", to="26.7")


async def test_blind_rules_of_a_server_have_their_cure() -> None:
    async with asked() as agent:
        server = next(server for server in REPORT.servers if server.undecided)
        answer = await agent.ask("explain_silence", server=server.name)
        [row] = answer.answer["silences"]
        assert (row["rule"], row["state"], row.get("cure")) == (BLIND.rule, "blind", BLIND.cure)
        assert "list_servers has the names" in await agent.refused("explain_silence", server="nobody")


async def test_the_report_is_a_resource() -> None:
    async with asked() as agent:
        [content] = (await agent.client.read_resource("innodb-advisor://report")).contents
        assert REPORT.servers[0].name.split("/", maxsplit=1)[0] in content.model_dump_json()
