"""The examples in docs/alerting.md work in the real programs."""

from __future__ import annotations

import re
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from advisor.rules import configuration
from lab.packages import debian
from lab.packages.cache import REPOSITORY
from lab.processes.program import PLAIN
from lab.programs import alertmanager, promtool
from tests.charts.pages import anchors
from tests.unavailable import if_available, or_give_up
from tests.waiting import wait_for

PAGE = (REPOSITORY / "docs" / "alerting.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```yaml\n# (\S+)\n(.*?)```", PAGE, re.DOTALL)

each_suite = pytest.mark.parametrize("suite", alertmanager.SUITES)


def blocks(name: str) -> list[str]:
    return [text for file, text in BLOCKS if file == name]


def run(suite: str, package: str, program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = if_available(debian.program, suite, package, program)
    return subprocess.run(  # noqa: S603
        [*command, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )


def test_links_resolve() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", PAGE):
        path, _, anchor = target.partition("#")
        if not path:
            assert anchor in anchors(PAGE), target
        elif not path.startswith("https:"):
            assert (REPOSITORY / "docs" / path).exists(), target


@pytest.mark.system
@pytest.mark.parametrize("suite", [promtool.OLDEST, promtool.NEWEST])
def test_prometheus_accepts_the_configuration(suite: str, tmp_path: Path) -> None:
    [text] = blocks("prometheus.yml")
    file = tmp_path / "prometheus.yml"
    file.write_text(text)
    completed = run(suite, promtool.PACKAGE, promtool.PROGRAM, "check", "config", "--syntax-only", file)
    assert completed.returncode == 0, completed.stdout


@pytest.mark.system
@each_suite
def test_alertmanager_accepts_the_routes_and_advice_is_a_ticket(suite: str, tmp_path: Path) -> None:
    file = tmp_path / "alertmanager.yml"
    file.write_text(blocks("alertmanager.yml")[0])

    def receiver(**labels: str) -> str:
        given = [f"{name}={value}" for name, value in labels.items()]
        completed = run(
            suite, alertmanager.PACKAGE, alertmanager.AMTOOL, "config", "routes", "test", "--config.file", file, *given
        )
        return completed.stdout.split()[-1]  # after a warning

    assert receiver(alertname="InnoDBAdvice", severity="critical") == "tickets"
    assert receiver(alertname="InnoDBAdvice", severity="warning") == "tickets"
    assert receiver(alertname="InnoDBAdvice", severity="info") == "list"
    assert receiver(alertname="InnoDBDown", severity="critical") == "on-call"
    assert receiver(alertname="InnoDBExporterStale", severity="warning") == "tickets"


@pytest.mark.system
@each_suite
def test_findings_sent_by_the_sidecar_are_not_sent_again_by_prometheus(suite: str, tmp_path: Path) -> None:
    advice = {"alertname": "InnoDBAdvice", "rule": "a", "severity": "warning", "instance": "db1.example.com:9747"}
    pushed = {**advice, "subject": "shop.orders"}
    scraped = {**pushed, "job": "innodb"}
    of_others = [
        {**scraped, "subject": "shop.items"},
        {**scraped, "instance": "db2.example.com:9747"},
        {**scraped, "rule": "b"},
        {**scraped, "alertname": "InnoDBDown"},
    ]
    with or_give_up(alertmanager.running(suite, tmp_path, blocks("alertmanager.yml")[1])) as running:
        url = f"http://127.0.0.1:{running.port}/api/v2/alerts"
        now = datetime.now(UTC)
        times = {"startsAt": now.isoformat(), "endsAt": (now + timedelta(minutes=5)).isoformat()}
        posted = [{"labels": labels, **times} for labels in (pushed, scraped, *of_others)]
        assert httpx.post(url, json=posted).status_code == 200

        def inhibited() -> list[Any]:
            return [alert["labels"] for alert in httpx.get(url, **PLAIN).json() if alert["status"]["inhibitedBy"]]

        wait_for(inhibited)  # all were posted at once, so the others were judged by the same
        assert inhibited() == [scraped]


def test_the_sidecar_accepts_the_configuration(tmp_path: Path) -> None:
    [text] = blocks("innodb-advisor.yaml")
    file = tmp_path / "innodb-advisor.yaml"
    file.write_text(text)
    assert len(configuration.load(file).suppress) == 1
