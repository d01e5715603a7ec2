"""The whole way of an agent: from an alert to a finding, to a plan, to the outcome of the change.

The server, the load and the sidecar are real; a change is measured over windows of seconds, and not of minutes. The
agent knows nothing but what the tools say of themselves: it takes the tool whose description has the words of its need,
and fills the arguments by their names.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from advisor.advice.ledger_recorder import LedgerRecorder
from advisor.advice.service import Service
from advisor.alerting.server_alerts import ServerAlerts
from advisor.contract.links import Links
from advisor.http import app as application
from advisor.http.limits import Limits
from advisor.ledger.ledger import Ledger
from advisor.rules.rulebook import Rulebook
from exporter.connection.target import from_dsn
from exporter.sampling.sampler import Sampler
from lab.harness.workloads import BackgroundLoad, emptied, scan
from lab.proofs.scans import OTHER, OTHER_PAGES, PAGES, POOL, SCANNED
from lab.servers import PrivateServer
from lab.servers.sql import execute
from tests.advisor.building import RULES_FOLDER
from tests.advisor.http.listening import listening
from tests.advisor.in_process import UNLIMITED
from tests.advisor.mcp.agent import Novice, started
from tests.waiting import until

pytestmark = pytest.mark.long  # a script of the lab: an agent that waits for an outcome

RULE = "scan-exceeds-old-sublist"
WINDOW_SECONDS, SCAN_PAUSE = 5.0, 1.5
"""That a change is measured over; between two scans, longer than innodb_old_blocks_time."""


@asynccontextmanager
async def watched(server: PrivateServer) -> AsyncIterator[tuple[Service, str]]:
    """A sidecar of the server, and its URL."""
    source = Sampler(from_dsn(server.dsn), interval=1.0)
    recorder = LedgerRecorder(Ledger(window_seconds=WINDOW_SECONDS))
    service = Service(
        source, Rulebook(RULES_FOLDER), recorder=recorder, target="db1:3306", links=Links("http://db1:9747")
    )
    app = application.create(service)
    app.state.limits = Limits(UNLIMITED)
    async with app.router.lifespan_context(app), listening(app) as listener:
        yield service, f"http://127.0.0.1:{listener.port}"


async def test_an_agent_gets_from_an_alert_to_a_plan_to_its_outcome(
    start_server: Callable[..., PrivateServer],
) -> None:
    server = start_server("mysql-9.7", **POOL)
    with emptied(server, {SCANNED: PAGES, OTHER: OTHER_PAGES}) as connection, BackgroundLoad(server.connect) as load:
        scan(connection, OTHER)
        load.repeat(partial(scan, table=SCANNED), pause=SCAN_PAUSE)
        async with watched(server) as (service, url), started("--url", url) as agent:
            novice = Novice(agent)
            alerts = ServerAlerts("db1", Links("http://db1:9747"), 60.0)

            async def alert() -> dict[str, Any] | None:
                bodies = [alert.body() for alert in (await alerts.look(service, {}))[0]]
                return next((body for body in bodies if body["labels"]["rule"] == RULE), None)

            body = await until(alert)
            fingerprint = body["annotations"]["page_url"].rpartition("#")[2]
            paragraph, finding = await novice.ask("For an alert begin here", fingerprint=fingerprint)
            assert (finding["rule"], finding["state"]) == (RULE, "standing")
            assert "plan_change" in paragraph

            _, plan = await novice.ask("ready to be merged", fingerprint=fingerprint, target="cnf")
            [change] = plan["changes"]
            assert any(change["setting"] in step["patch"]["text"] for step in plan["steps"] if "patch" in step)

            async def remembered() -> bool:
                return fingerprint in service.ledger.findings

            await until(remembered)  # the ledger takes new advice once a second
            for statement in change["apply"]:  # a person reviews it, and applies it
                assert re.fullmatch(r"SET GLOBAL \w+ = \d+", statement)
                execute(server, statement)

            async def outcome() -> dict[str, Any] | None:
                _, history = await novice.ask("What became of changes", fingerprint=fingerprint)
                closed = (outcome for outcome in history["outcomes"] if outcome.get("result", "open") != "open")
                return next(closed, None)

            measured = await until(outcome)
            assert (measured["result"], measured["followed"]) == ("kept", True)
            assert (await novice.ask("For an alert begin here", fingerprint=fingerprint))[1]["state"] == "gone"
