"""The service against a real Prometheus, which dies and comes back, and a real Alertmanager."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from advisor.alerting.configuration import alert_settings
from advisor.alerting.delivery import Alertmanager, Notifier
from advisor.alerting.fleet_alerts import FleetAlerts
from advisor.contract.fleet import FleetReport
from advisor.contract.links import Links
from advisor.fleet.client import QueryError
from advisor.fleet.progress import Progress
from advisor.fleet.watch import FleetWatch
from advisor.rules.rulebook import Rulebook
from lab.processes.ports import free_port
from lab.processes.program import PLAIN
from lab.programs import alertmanager, prometheus
from lab.programs.webhook import Webhook
from tests.advisor.building import RULES_FOLDER, capture
from tests.advisor.fleet import reports
from tests.advisor.http.secured import hashed, write
from tests.advisor.in_process import InProcess
from tests.advisor.sidecar import Sidecar
from tests.fleet.blocks import Blocks
from tests.unavailable import or_give_up
from tests.waiting import DEADLINE, wait_for

RECORDINGS = {"db-1": "mysql-9.7/repeated-scan", "db-2": "mariadb-11.8/idle"}
RESEND = 5.0
"""Seconds; Alertmanager ends what is not sent again for four times as long."""


class FleetService(Sidecar):
    """``innodb-advisor fleet --listen``."""

    SERVES = "fleet"


class Watched:
    """Sidecars that replay recordings, and a Prometheus with a quarter of an hour of what they exposed."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._running, self._starts = folder, ExitStack(), 0
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.sidecars: dict[str, InProcess] = {}
        for name, recording in RECORDINGS.items():
            self.sidecars[name] = stack.enter_context(InProcess("--recording", capture(recording)))
        blocks, now = Blocks(), time.time()
        for name, sidecar in self.sidecars.items():
            wait_for(sidecar.judged)
            times = (now - ago for ago in range(900, -1, -15))
            blocks.add(sidecar.get("/metrics").text, times, instance=f"{name}:9747")
        self.data = blocks.write(folder)
        stack.callback(self._running.close)
        self.start()

    def start(self) -> None:
        self._starts += 1
        folder = self._folder / f"prometheus-{self._starts}"
        folder.mkdir()
        self._running.enter_context(prometheus.running(folder, [], data=self.data, port=self.port))

    def stop(self) -> None:
        self._running.close()

    def advice(self, name: str) -> dict[str, Any]:
        advice: dict[str, Any] = self.sidecars[name].get("/advise").json()
        return advice


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp("watched")
        with or_give_up(prometheus.running(_made(folder / "try"), [])):
            pass
        yield Watched(folder, stack)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_verdicts_are_served_and_stay_while_prometheus_is_dead(watched: Watched, tmp_path: Path) -> None:
    web = write(tmp_path / "web.yml", {"basic_auth_users": {"platform": hashed("secret")}})
    options = ("--prometheus", watched.url, "--every", "5s", "--web-config", web)
    with ExitStack() as stack:
        service = FleetService(tmp_path, *options)
        stack.callback(service.kill)
        assert service.get("/fleet").status_code == 401
        login = {"auth": ("platform", "secret")}

        def get(path: str) -> Any:
            return service.get(path, **login).json()

        wait_for(lambda: service.get("/readyz", **login).text == "ok\n")
        first = get("/fleet")
        assert {finding["name"]: finding["source"] for finding in first["servers"]} == dict.fromkeys(
            RECORDINGS, "verdict"
        )
        for name in RECORDINGS:
            findings = get(f"/advise?server={name}")["findings"]
            expected = watched.advice(name)["recommendations"]
            assert {finding["fingerprint"]: finding["changes"] for finding in findings} == {
                finding["fingerprint"]: finding["changes"] for finding in expected
            }
        assert any(watched.advice(name)["recommendations"] for name in RECORDINGS)

        watched.stop()
        wait_for(lambda: "no new report since" in service.get("/readyz", **login).text)
        away = get("/fleet")
        assert "Connection refused" in away["problem"]
        assert away["findings"] == first["findings"]
        assert "read-old" in service.get("/fleet", headers={"Accept": "text/html"}, **login).text
        ready = service.get("/readyz", **login)
        assert (ready.status_code, "ok, but no new report since" in ready.text) == (200, True)
        metrics = service.get("/metrics", **login).text
        assert "innodb_fleet_prometheus_up 0.0" in metrics
        assert "innodb_fleet_servers{" not in metrics

        watched.start()
        wait_for(lambda: service.get("/readyz", **login).text == "ok\n")
        assert {finding["fingerprint"] for finding in get("/fleet")["findings"]} == {
            finding["fingerprint"] for finding in first["findings"]
        }
        metrics = service.get("/metrics", **login).text
        assert 'innodb_fleet_servers{source="verdict"} 2.0' in metrics
        assert 'innodb_fleet_queries_total{outcome="unreachable"} 0.0' not in metrics
        assert service.stop() == 0


async def test_alertmanager_tells_of_servers_without_a_sidecar_until_their_findings_are_gone(tmp_path: Path) -> None:
    """The Prometheus is a report here, so that it can lose findings; Alertmanager is real."""
    report = reports.of("mysql-9.7/repeated-scan", "mysql-9.7/hot-set-exceeds-pool")
    peer = report.servers[0]
    without = report.model_copy(
        update={"findings": tuple(finding for finding in report.findings if finding.server != peer.name)}
    )
    answer: FleetReport | Exception = report

    async def read(_: Progress) -> FleetReport:
        if isinstance(answer, Exception):
            raise answer
        return answer.model_copy()

    with (
        Webhook() as webhook,
        or_give_up(alertmanager.running("bookworm", tmp_path, alertmanager.configuration(webhook.url))) as manager,
    ):
        url = f"http://127.0.0.1:{manager.port}"
        settings = alert_settings(None, encrypted=False)
        notifier = Notifier([Alertmanager(url, lambda: settings.content.client)], settings, RESEND)
        watch = FleetWatch(read, 0.2)
        alerts = FleetAlerts(Links("http://fleet"), Rulebook(RULES_FOLDER), RESEND)
        running = [
            asyncio.create_task(watch.run()),
            asyncio.create_task(notifier.run(functools.partial(alerts.look, watch))),
        ]

        async def delivered(status: str, count: int) -> list[dict[str, Any]]:
            await asyncio.to_thread(wait_for, lambda: len(webhook.alerts(status)) >= count)
            return webhook.alerts(status)

        expected = sorted(finding.rule for finding in report.findings if finding.server == peer.name)
        firing = await delivered("firing", len(expected))
        assert sorted(alert["labels"]["rule"] for alert in firing) == expected
        assert all(peer.identity.items() <= alert["labels"].items() for alert in firing)

        def active() -> list[dict[str, Any]]:
            return list(httpx.get(f"{url}/api/v2/alerts", timeout=DEADLINE, **PLAIN).json())

        ends = max(alert["endsAt"] for alert in await asyncio.to_thread(active))
        answer = QueryError("cannot connect to prometheus:9090: Connection refused")

        def prolonged() -> bool:
            alerts = active()
            return len(alerts) == len(expected) and all(
                alert["endsAt"] > ends and "Connection refused" in alert["annotations"].get("unseen", "")
                for alert in alerts
            )

        await asyncio.to_thread(wait_for, prolonged)
        assert webhook.alerts("resolved") == []

        answer = without
        resolved = await delivered("resolved", len(expected))
        assert sorted(alert["labels"]["rule"] for alert in resolved) == expected
        for task in running:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
