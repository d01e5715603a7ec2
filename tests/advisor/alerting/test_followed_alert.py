"""A real Alertmanager tells of the end of a followed finding once, and by then with what was measured."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import httpx
import pytest

from advisor.advice.judgement import Assessment
from advisor.alerting.server_alerts import ServerAlerts
from advisor.contract.links import Links
from advisor.contract.recommendation import Advice, Recommendation
from advisor.ledger.entry import Changed, Outcome, Result
from advisor.rules.check import Rule
from advisor.rules.rulebook import RuleSet
from lab.programs import alertmanager
from tests.advisor.alerting.harness import RULE, Manager
from tests.advisor.alerting.test_server_alerts import MEASURED, finding
from tests.advisor.building import snapshot, variables
from tests.advisor.ledger.outcomes import outcome
from tests.waiting import wait_for

pytestmark = pytest.mark.system
RESEND = 60.0


@pytest.fixture(params=alertmanager.SUITES)
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Manager]:
    with Manager(request.param, tmp_path / "alertmanager") as started:
        yield started


def test_the_resolved_alert_says_what_was_measured(manager: Manager, make_rule: Callable[..., Rule]) -> None:
    ticks, scan = [0.0], finding(RULE)
    rule_set = RuleSet((make_rule(id=RULE),), {}, (), time.time())
    active = ServerAlerts("db1:3306", Links("http://a"), RESEND, ticks=lambda: ticks[0])

    def look(*made: Recommendation, pct: str, outcomes: tuple[Outcome, ...] = ()) -> None:
        ticks[0] += RESEND
        now = time.time()
        advice = Advice(server="a server", at=now, watched_seconds=10, recommendations=made, blind=())
        latest = snapshot(now, booted=0.0, variables=variables(innodb_old_blocks_pct=pct))
        alerts = active.update(Assessment(advice, {}, {}, latest, rule_set), {}, outcomes)
        httpx.post(f"{manager.url}/api/v2/alerts", json=[alert.body() for alert in alerts]).raise_for_status()

    def became(result: Result) -> tuple[Outcome]:
        changes = (Changed(setting="innodb_old_blocks_pct", before=37, after=80),)
        return (outcome(0, 12, at=at, changes=changes, fingerprint=scan.fingerprint, result=result),)

    look(scan, pct="37")
    wait_for(lambda: manager.told("firing"))
    at = time.time()
    look(pct="80", outcomes=became(Result.OPEN))
    wait_for(lambda: "not measured yet" in manager.active()[0]["annotations"].get("outcome", ""))
    [alert] = manager.active()
    assert datetime.fromisoformat(alert["endsAt"]).timestamp() > at + RESEND  # so it tells of no end
    look(pct="80", outcomes=became(Result.KEPT))
    wait_for(lambda: manager.told("resolved"))
    look(pct="80", outcomes=became(Result.KEPT))
    [resolved] = manager.told("resolved")
    assert resolved["annotations"]["outcome"] == MEASURED
    assert resolved["annotations"]["description"].startswith(f"outcome: {MEASURED}\n")
