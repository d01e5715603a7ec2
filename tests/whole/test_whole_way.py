"""The whole way: a server under load, the sidecar, Prometheus, its alert, Alertmanager, a webhook; and back.

All parts are real and configured as in docs/alerting.md; only the shipped alert's delays are shortened. With -s it
prints when each step happened.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from lab.demo import ACCOUNT, GRANTS
from lab.harness.workloads import SCHEMA, BackgroundLoad, emptied, scan
from lab.packages.cache import REPOSITORY
from lab.programs import alertmanager, prometheus
from lab.programs.webhook import Webhook
from lab.proofs.scans import OTHER, OTHER_PAGES, PAGES, POOL, SCANNED
from lab.servers import PrivateServer
from tests.advisor.sidecar import Sidecar
from tests.unavailable import or_give_up
from tests.waiting import wait_for

ALERTS = REPOSITORY / "charts" / "innodb-advisor" / "alerts"
WAYS = ("prometheus", "sidecar")
"""Receivers of Alertmanager: for what comes by way of Prometheus, and for what the sidecar sends itself."""
RULE, ALERT = "scan-exceeds-old-sublist", "InnoDBAdvice"
SUBJECT = {"schema": SCHEMA, "table": SCANNED}
SCAN_PAUSE = 1.5  # seconds; longer than innodb_old_blocks_time
PASSWORD = "of the whole way"


@dataclass
class Way:
    """The parts, and the times of the steps in seconds since the load began."""

    server: PrivateServer
    sidecar: Sidecar
    prometheus: prometheus.Prometheus
    webhook: Webhook
    began: float = field(default_factory=time.monotonic)
    times: dict[str, float] = field(default_factory=dict)

    def reach(self, steps: Mapping[str, Callable[[], object]]) -> None:
        """Wait until every condition is true."""
        missing = dict(steps)

        def look() -> bool:
            for step in [step for step, holds in missing.items() if holds()]:
                self.times[step] = time.monotonic() - self.began
                del missing[step]
            return not missing

        wait_for(look)

    def advice(self) -> list[Any] | None:
        """The rule's finding on the scanned table; None while there is none."""
        answer = self.sidecar.get("/advise", params={"rule": RULE})
        if not answer.is_success:
            return None
        return [
            recommendation
            for recommendation in answer.json()["recommendations"]
            if recommendation["subject"] == SUBJECT
        ]

    def alerts(self, receiver: str, status: str | None = None) -> list[Any]:
        """Advice alerts that reached the webhook through one of Alertmanager's receivers, oldest first."""
        return [
            alert
            for notification in list(self.webhook.notifications)
            if notification["receiver"] == receiver
            for alert in notification["alerts"]
            if alert["labels"].get("rule") == RULE and status in (None, alert["status"])
        ]

    def value(self, expression: str) -> float:
        """Of the one series that Prometheus has for it, once it has one."""
        [sample] = wait_for(lambda: self.prometheus.query(expression))
        return float(sample.value)


def hurried(folder: Path) -> Path:
    """The shipped alerts, with this one's delays shortened; otherwise unchanged."""
    content = YAML(typ="safe", pure=True).load((ALERTS / "innodb-advisor.rules.yaml").read_text(encoding="utf-8"))
    [rule] = [rule for group in content["groups"] for rule in group["rules"] if rule["alert"] == ALERT]
    rule |= {"for": "4s", "keep_firing_for": "6s"}
    written = folder / "alerts.json"
    written.write_text(json.dumps(content))
    return written


def routed(webhook: Webhook) -> str:
    """One receiver gets Prometheus' alerts, which have the label `job`; another gets the sidecar's."""
    at_once = {"group_by": ["..."], "group_wait": "0s", "group_interval": "1s", "repeat_interval": "1h"}
    by_prometheus = {"receiver": "prometheus", "matchers": ['job=~".+"']}
    receivers = [{"name": name, "webhook_configs": [{"url": webhook.url, "send_resolved": True}]} for name in WAYS]
    return json.dumps({"route": {"receiver": "sidecar", **at_once, "routes": [by_prometheus]}, "receivers": receivers})


def create_account(server: PrivateServer) -> None:
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE USER {ACCOUNT}@'127.0.0.1' IDENTIFIED BY %s", (PASSWORD,))
        for grant in GRANTS:
            cursor.execute(f"GRANT {grant} TO {ACCOUNT}@'127.0.0.1'")


@pytest.fixture
def way(start_server: Callable[..., PrivateServer], tmp_path: Path) -> Iterator[Way]:
    suite = prometheus.OLDEST
    with ExitStack() as stack:
        webhook = stack.enter_context(Webhook())
        started = or_give_up(alertmanager.running(suite, tmp_path / "alertmanager", routed(webhook)))
        address = f"127.0.0.1:{stack.enter_context(started).port}"
        server = start_server("mysql-9.7", **POOL)
        create_account(server)
        connection = stack.enter_context(emptied(server, {SCANNED: PAGES, OTHER: OTHER_PAGES}))
        scan(connection, OTHER)
        where = ("--dsn", f"mysql://{ACCOUNT}@127.0.0.1:{server.port}", "--interval", "1s")
        telling = ("--alertmanager", f"http://{address}", "--alertmanager-resend", "10s")
        sidecar = Sidecar(tmp_path, *where, *telling, env={"INNODB_ADVISOR_PASSWORD": PASSWORD})
        stack.callback(sidecar.stop)
        watching = prometheus.running(
            tmp_path,
            [prometheus.job("innodb", sidecar.url.removeprefix("http://"))],
            rules=[hurried(tmp_path), ALERTS / "recording.rules.yaml"],
            alertmanagers=[address],
            interval=1.0,
            suite=suite,
        )
        asked = stack.enter_context(or_give_up(watching))
        load = stack.enter_context(BackgroundLoad(server.connect))
        load.repeat(partial(scan, table=SCANNED), pause=SCAN_PAUSE)
        yield Way(server, sidecar, asked, webhook)


def test_a_finding_reaches_the_webhook_and_is_resolved_once_its_sql_is_applied(way: Way) -> None:
    way.reach(
        {
            "recommendation": way.advice,
            **{f"fired by {receiver}": partial(way.alerts, receiver, "firing") for receiver in WAYS},
        }
    )
    advice = way.advice()
    assert advice
    [recommendation] = advice
    [first, *_] = way.alerts("prometheus")
    assert first["labels"] == {
        "alertname": ALERT,
        "job": "innodb",
        "instance": way.sidecar.url.removeprefix("http://"),
        "rule": RULE,
        "severity": recommendation["severity"],
        "subject": ".".join(SUBJECT.values()),
    }
    assert f"/advise?rule={RULE}" in first["annotations"]["description"]
    assert recommendation["changes"][0]["setting"] in first["annotations"]["description"]
    [pushed, *_] = way.alerts("sidecar")
    # The same labels, but for the job of the scrape, and the name of the server, which --instance may make the same.
    assert pushed["labels"] | {name: first["labels"][name] for name in ("job", "instance")} == first["labels"]
    assert pushed["generatorURL"].endswith(f"/advise/{recommendation['fingerprint']}")
    assert pushed["annotations"]["page_url"].endswith(f"/#{recommendation['fingerprint']}")
    for name in ("page_url", "runbook_url"):  # one page and one runbook, whichever way the alert comes
        assert first["annotations"][name] == pushed["annotations"][name]
    assert way.value("instance:innodb_advisor_recommendation:count") >= 1

    # The value may have changed by one or two since: the longer a load is watched, the better its fit.
    [statement] = re.findall(r"^apply: (.+);$", pushed["annotations"]["description"], re.MULTILINE)
    [of_advice] = recommendation["changes"][0]["apply"]
    assert statement.rpartition(" = ")[0] == of_advice.rpartition(" = ")[0]
    with way.server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(statement)
    way.times["applied"] = time.monotonic() - way.began
    gone = {f"resolved by {receiver}": partial(way.alerts, receiver, "resolved") for receiver in WAYS}
    way.reach({"gone": lambda: way.advice() == [], **gone})
    [ended, *_] = way.alerts("sidecar", "resolved")
    assert ended["annotations"]["outcome"].startswith("followed: predicted 0 pages ")
    # Two more passes, of eight rows a page: the advice does not return.
    passed = f'innodb_table_scan_rows_total{{schema="{SCHEMA}",table="{SCANNED}"}}'
    rows = way.value(passed)
    way.reach({"scanned twice more": lambda: way.value(passed) >= rows + 16 * PAGES})
    assert way.advice() == []
    for receiver in WAYS:
        alerts = way.alerts(receiver)
        assert (alerts[0]["status"], alerts[-1]["status"]) == ("firing", "resolved")
        assert all(alert["labels"] == alerts[0]["labels"] for alert in alerts)
    print("\n" + "\n".join(f"{seconds:6.1f} s  {step}" for step, seconds in way.times.items()))
