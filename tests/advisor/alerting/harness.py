"""A sidecar that posts to real Alertmanagers, of which each tells a webhook of its own."""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import httpx
import pytest

from advisor.alerting import schedule
from lab.packages.cache import UnavailableHere
from lab.processes.ports import free_port
from lab.processes.program import PLAIN, ChildProcess
from lab.programs import alertmanager
from lab.programs.webhook import Webhook
from lab.servers import PrivateServer
from tests.advisor.sidecar import write_rule
from tests.unavailable import give_up
from tests.waiting import wait_for

RULE = "old-blocks-time-is-not-ours"
SETTING = "innodb_old_blocks_time"
RESEND = 1
"""Seconds."""


@contextlib.contextmanager
def lasting_alerts() -> Iterator[None]:
    """Alerts do not expire while a test runs, however busy the machine and whatever is started again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schedule, "LIFETIME", 1000)
        yield


@contextlib.contextmanager
def alertmanager_or_skip(suite: str, *arguments: Any, **options: Any) -> Iterator[ChildProcess]:
    with ExitStack() as stack:
        try:
            started = stack.enter_context(alertmanager.running(suite, *arguments, **options))
        except UnavailableHere as error:
            give_up(f"Alertmanager of {suite} can't be had here: {error}")
        yield started


class Manager:
    """A real Alertmanager that can go away and come back: on the same port, with what it wrote."""

    def __init__(self, suite: str, folder: Path) -> None:
        self._suite, self._folder = suite, folder
        self.webhook = Webhook()
        self._running = ExitStack()
        self.pid, self.port = 0, free_port()

    def start(self) -> None:
        configured = alertmanager.configuration(self.webhook.url)
        started = self._running.enter_context(
            alertmanager_or_skip(self._suite, self._folder, configured, port=self.port)
        )
        self.pid = started.pid

    def stop(self) -> None:
        """As `systemctl stop`: what it has notified of is on disk then, but no alert is."""
        # Each second it looks into its notes once for each alert, and not before the last one of the alert is written.
        looks, alerts = self._looks(), len(self._alerts())
        wait_for(lambda: self._looks() > looks + alerts or not self._alerts())
        os.kill(self.pid, signal.SIGTERM)
        self._running.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def told(self, status: str | None = None) -> list[dict[str, Any]]:
        """What the webhook was told of the test's own rule."""
        return [alert for alert in self.webhook.alerts(status) if alert["labels"]["rule"] == RULE]

    def active(self) -> list[dict[str, Any]]:
        """What it holds of it."""
        return self._alerts(filter=f'rule="{RULE}"')

    def _alerts(self, **parameters: str) -> list[dict[str, Any]]:
        alerts = httpx.get(f"{self.url}/api/v2/alerts", params=parameters, timeout=30, **PLAIN).json()
        return [dict(alert) for alert in alerts]

    def _looks(self) -> float:
        text = httpx.get(f"{self.url}/metrics", timeout=30, **PLAIN).text
        (value,) = re.findall(r"^alertmanager_nflog_queries_total (\S+)$", text, re.MULTILINE)
        return float(value)

    def __enter__(self) -> Self:
        self.webhook.__enter__()
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()
        self.webhook.__exit__(None, None, None)


def write_setting_rule(folder: Path, **keys: Any) -> Path:
    """A rule that fires as long as SETTING is not 1000."""
    folder.mkdir(parents=True, exist_ok=True)
    return write_rule(
        folder,
        **{
            "id": RULE,
            "when": [f"setting.{SETTING} != 1000.0"],
            "summary": "{setting.innodb_old_blocks_time:integer} ms are not ours",
            "change": [{"setting": SETTING, "value": 1000}],
            **keys,
        },
    )


def set_global(server: PrivateServer, value: int) -> None:
    with contextlib.closing(server.connect()) as connection, connection.cursor() as cursor:
        cursor.execute(f"SET GLOBAL {SETTING} = {value}")
