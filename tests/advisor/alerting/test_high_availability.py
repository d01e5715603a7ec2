"""One notification of an onset and one of its end: two sidecars on a server, two Alertmanagers in a cluster."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from lab.processes.service import PLAIN
from lab.programs import alertmanager
from lab.programs.alertmanagers import GROUP_SECONDS, PEER_SECONDS, Alertmanagers
from lab.servers import Server
from tests.advisor.alerting.harness import RULE, SETTING, set_global, write_setting_rule
from tests.advisor.sidecar import Sidecar
from tests.conftest import start_or_skip
from tests.unavailable import or_give_up
from tests.waiting import wait_for

pytestmark = pytest.mark.long  # lab/attacks/notifications.py is much like it
RESEND = 6
"""Seconds; an alert lives four times as long, in which a sidecar starts again."""
QUICK, SLOW = "1s", "10s"
"""Intervals of the two sidecars: the slow one still finds what the quick one has seen end."""


class Pair:
    """Two sidecars on a server, which name it alike, and the Alertmanagers that each of them tells."""

    def __init__(self, folder: Path, server: Server, managers: Alertmanagers) -> None:
        self.folder, self.server, self.managers = folder, server, managers
        self.rules = folder / "rules"
        write_setting_rule(self.rules)
        self._starts = 0
        self.sidecars: list[Sidecar] = []
        for interval in (QUICK, SLOW):
            self.sidecars.append(self._start(interval))

    def _start(self, interval: str) -> Sidecar:
        self._starts += 1
        folder = self.folder / f"sidecar-{self._starts}"
        folder.mkdir()
        urls = [part for url in self.managers.urls for part in ("--alertmanager", url)]
        timing = ("--interval", interval, "--alertmanager-resend", f"{RESEND}s")
        return Sidecar(folder, "--dsn", self.server.dsn, "--rules", self.rules, *timing, *urls)

    def restart(self) -> None:
        """The quick one."""
        assert self.sidecars[0].stop() == 0
        self.sidecars[0] = self._start(QUICK)

    def found(self) -> list[bool]:
        """Which of them have the finding."""
        params = {"rule": RULE}
        answers = [each.get("/advise", params=params) for each in self.sidecars]
        return [each.is_success and bool(each.json()["recommendations"]) for each in answers]

    def told(self) -> list[str]:
        return [each["status"] for each in self.managers.told(RULE)]

    def held(self) -> Sequence[int]:
        """How many alerts of it each Alertmanager holds."""
        asked = {"params": {"filter": f'rule="{RULE}"'}, "timeout": 30, **PLAIN}
        return [len(httpx.get(f"{url}/api/v2/alerts", **asked).json()) for url in self.managers.urls]

    def stop(self) -> None:
        for each in self.sidecars:
            each.kill()


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    with ExitStack() as stack:
        server = stack.enter_context(start_or_skip("mariadb-10.11", {SETTING: "1000"}))
        managers = stack.enter_context(or_give_up(Alertmanagers(alertmanager.SUITES[-1], tmp_path)))
        made = Pair(tmp_path, server, managers)
        stack.callback(made.stop)
        yield made


def settle() -> None:
    """Longer than any notification that is still to come takes."""
    time.sleep(PEER_SECONDS + GROUP_SECONDS)


def test_one_finding_of_two_sidecars_is_notified_of_once_and_its_end_once(pair: Pair) -> None:
    wait_for(lambda: all(each.judged() for each in pair.sidecars))
    set_global(pair.server, 900)
    wait_for(lambda: all(pair.found()))
    wait_for(lambda: pair.told() == ["firing"])
    pair.restart()
    pair.managers.restart(pair.managers.members[1], signal.SIGKILL)
    pair.server.restart({SETTING: "900"})
    write_setting_rule(pair.rules, why="Because of something else.")
    for each in pair.sidecars:
        each.post("/-/reload")
    wait_for(lambda: all(pair.found()) and pair.held() == [1, 1])
    pair.managers.restart_all()
    wait_for(lambda: all(pair.found()) and pair.held() == [1, 1])
    settle()
    assert pair.told() == ["firing"]
    set_global(pair.server, 1000)
    wait_for(lambda: not any(pair.found()))
    wait_for(lambda: "resolved" in pair.told())
    settle()
    assert pair.told() == ["firing", "resolved"]
