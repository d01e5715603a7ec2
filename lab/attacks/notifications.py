"""Alerts reach people once: an onset and an end, whatever restarts between sidecars, server and Alertmanagers."""

from __future__ import annotations

import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from lab.attacks.attack import Attack, Line, Sidecar, Stage
from lab.processes.service import PLAIN
from lab.programs import alertmanager
from lab.programs.alertmanagers import GROUP_SECONDS, PEER_SECONDS, Alertmanagers
from lab.servers import Server

RULE, SETTING, WRONG, RIGHT = "alert-of-an-attack", "innodb_old_blocks_time", 900, 1000
RESEND = 6
"""Seconds; an alert lives four times as long, in which a sidecar starts again."""
PATIENCE = 90.0
ROUNDS = 5
_RULE = f"""\
id: {RULE}
title: A setting for an attack on alerts
severity: warning
applies: {{mysql: {{from: "5.6"}}}}
needs: [variables]
when: ["setting.{SETTING} != {RIGHT}.0"]
summary: "{SETTING} is not {RIGHT}"
change:
  - {{setting: {SETTING}, value: {RIGHT}}}
confidence: 0.9
evidence:
  - {{name: seconds, value: window.seconds, source: the clock}}
why: An attack sets it.
references: [docs]
proved: [not at all]
"""


class NotToldError(Exception):
    """What was waited for did not come."""


def alerts(stage: Stage) -> Iterator[Line]:
    """A sidecar on the server and two Alertmanagers, which all restart while the finding holds."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="attack-alerts-")))
        managers = stack.enter_context(Alertmanagers(alertmanager.SUITES[-1], folder))
        rules = folder / "rules"
        rules.mkdir()
        (rules / f"{RULE}.yaml").write_text(_RULE, encoding="utf-8")
        stack.callback(_set, stage.server, RIGHT)
        _set(stage.server, RIGHT)

        running = stack.enter_context(ExitStack())

        def start() -> Sidecar:
            urls = [part for url in managers.urls for part in ("--alertmanager", url)]
            timing = ("--interval", "1s", "--alertmanager-resend", f"{RESEND}s")
            return running.enter_context(stage.sidecar("--rules", str(rules), *timing, *urls))

        sidecar = start()
        rounds = 1 if stage.short else ROUNDS
        for number in range(rounds):
            stage.say(f"alerts: round {number + 1} of {rounds}")
            _set(stage.server, WRONG)
            _wait(partial(_finds, sidecar))
            _wait(lambda: _told(managers)[-1:] == ["firing"])
            running.close()
            sidecar = start()
            managers.restart(managers.members[1], signal.SIGKILL)
            httpx.post(f"{sidecar.url}/-/reload", timeout=PATIENCE, **PLAIN)
            _wait(partial(_finds, sidecar))
            _wait(lambda: all(map(_holds, managers.urls)))
            managers.restart_all()
            _wait(lambda: all(map(_holds, managers.urls)))
            time.sleep(PEER_SECONDS + GROUP_SECONDS)
            _set(stage.server, RIGHT)
            _wait(lambda: _told(managers)[-1:] == ["resolved"])
            time.sleep(PEER_SECONDS + GROUP_SECONDS)
        told = _told(managers)
    wanted = ["firing", "resolved"] * rounds
    yield Line(
        "notifications of a finding; the sidecar and both Alertmanagers restart, one is killed",
        f"{rounds} of its onset, {rounds} of its end",
        f"{told.count('firing')} of its onset, {told.count('resolved')} of its end",
        told == wanted,
    )


def _told(managers: Alertmanagers) -> list[str]:
    return [each["status"] for each in managers.told(RULE)]


def _finds(sidecar: Sidecar) -> bool:
    answer = httpx.get(f"{sidecar.url}/advise", params={"rule": RULE}, timeout=PATIENCE, **PLAIN)
    return answer.is_success and bool(answer.json()["recommendations"])


def _holds(url: str) -> bool:
    asked: dict[str, Any] = {"params": {"filter": f'rule="{RULE}"'}, "timeout": PATIENCE, **PLAIN}
    return bool(httpx.get(f"{url}/api/v2/alerts", **asked).json())


def _set(server: Server, value: int) -> None:
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"SET GLOBAL {SETTING} = {value}")


def _wait(what: Callable[[], bool]) -> None:
    """Wait until something is true.

    Raises:
        NotToldError: It is not within PATIENCE.
    """
    deadline = time.monotonic() + PATIENCE
    while not what():
        if time.monotonic() > deadline:
            raise NotToldError(f"not within {PATIENCE:g} s")
        time.sleep(0.2)


ATTACKS = (
    Attack(
        "notifications",
        "A sidecar and two Alertmanagers that restart: one notification of an onset, one of its end",
        alerts,
        seconds=(450.0, 100.0),
        in_ci=False,
    ),
)
