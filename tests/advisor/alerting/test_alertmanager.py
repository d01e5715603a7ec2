"""Findings on a real server reach people through real Alertmanagers, Debian's 0.25 and its newest, and end there."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import pytest

from lab.programs import alertmanager
from lab.programs.proxy import FaultyProxy
from lab.servers import PrivateServer
from tests.advisor.alerting.harness import (
    RESEND,
    RULE,
    SETTING,
    Manager,
    lasting_alerts,
    set_global,
    write_setting_rule,
)
from tests.advisor.in_process import InProcess
from tests.advisor.sidecar import values
from tests.conftest import start_or_skip
from tests.waiting import wait_for

pytestmark = [pytest.mark.system, pytest.mark.xdist_group("alertmanager")]


class Scene:
    """A server with a setting that a rule dislikes, a sidecar, and an Alertmanager of each version.

    The sidecar reaches the older one by a way that can be stalled.
    """

    def __init__(self, folder: Path, server: PrivateServer, managers: dict[str, Manager], proxy: FaultyProxy) -> None:
        self.folder, self.server, self.managers, self.proxy = folder, server, managers, proxy
        self.rules = folder / "rules"
        self.config = folder / "advisor.yaml"
        self.config.write_text("suppress: []\n")
        write_setting_rule(self.rules)
        self.urls = [f"http://127.0.0.1:{proxy.port}", managers["sid"].url]
        self.sidecar = self.start()

    def start(self) -> InProcess:
        http = self.folder / "http.yaml"
        http.write_text("timeout: 50s\nlabels: {cluster: eu1}\n")
        options = {
            "--dsn": self.server.dsn,
            "--interval": "1s",
            "--rules": self.rules,
            "--config": self.config,
            "--alertmanager-config": http,
            "--alertmanager-resend": f"{RESEND}s",
            "--external-url": "https://a.example/db1/",
        }
        urls = [part for url in self.urls for part in ("--alertmanager", url)]
        return InProcess(*(part for option in options.items() for part in option), *urls)

    def restart(self) -> None:
        self.sidecar.close()
        self.sidecar = self.start()

    def stop(self) -> None:
        self.sidecar.close()

    def finds(self) -> bool:
        answer = self.sidecar.get("/advise", params={"rule": RULE})
        return answer.is_success and bool(answer.json()["recommendations"])

    def told(self, status: str) -> list[int]:
        """How many notifications each webhook got."""
        return [len(manager.told(status)) for manager in self.managers.values()]

    def comes(self) -> None:
        """The finding comes, and both webhooks are told."""
        before = self.told("firing")
        set_global(self.server, 900)
        self.wait("firing", [count + 1 for count in before])

    def goes(self) -> None:
        """It goes, and both are told."""
        before = self.told("resolved")
        set_global(self.server, 1000)
        self.wait("resolved", [count + 1 for count in before])

    def wait(self, status: str, counts: list[int]) -> None:
        wait_for(lambda: all(sent >= count for sent, count in zip(self.told(status), counts, strict=True)))
        assert self.told(status) == counts

    def metric(self, name: str, url: str | None = None) -> float:
        labels = frozenset({("alertmanager", url)}) if url else frozenset()
        return values(self.sidecar.get("/metrics").text)[f"innodb_advisor_notifications_{name}", labels]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("alerts")
    with ExitStack() as stack:
        stack.enter_context(lasting_alerts())
        server = stack.enter_context(start_or_skip("mariadb-11.8", {SETTING: "1000"}))
        managers = {suite: stack.enter_context(Manager(suite, folder / suite)) for suite in alertmanager.SUITES}
        proxy = stack.enter_context(FaultyProxy(("127.0.0.1", managers["bookworm"].port)))
        made = Scene(folder, server, managers, proxy)
        stack.callback(made.stop)
        yield made


def at(written: str) -> float:
    return datetime.fromisoformat(written).timestamp()


def resent(scene: Scene) -> None:
    """Wait until what stands, or has ended, was sent again."""
    before = [scene.metric("sent_total", url) for url in scene.urls]
    wanted = [count + 2 for count in before]
    wait_for(lambda: [scene.metric("sent_total", url) for url in scene.urls] >= wanted)


def renewed(scene: Scene) -> None:
    """Wait until each Alertmanager was sent the one alert that stands after now."""
    now = time.time()

    def since() -> bool:
        alerts = [alert for manager in scene.managers.values() for alert in manager.active()]
        return len(alerts) == 2 and all(at(alert["updatedAt"]) > now for alert in alerts)

    wait_for(since)


def test_a_finding_fires_once_and_ends_once(scene: Scene) -> None:
    scene.comes()
    resent(scene)
    scene.goes()
    resent(scene)
    for manager in scene.managers.values():
        firing, ended = manager.told()
        assert firing["status"] == "firing"
        assert ended["status"] == "resolved"
        assert firing["fingerprint"] == ended["fingerprint"]
        assert firing["startsAt"] == ended["startsAt"] < ended["endsAt"]
        assert firing["labels"] == {
            "alertname": "InnoDBAdvice",
            "rule": RULE,
            "severity": "warning",
            "instance": f"{socket.gethostname()}:{scene.server.port}",
            "cluster": "eu1",
        }
        annotations = firing["annotations"]
        assert annotations["summary"] == "900 ms are not ours"
        assert f"apply: SET GLOBAL {SETTING} = 1000;" in annotations["description"]
        assert f"roll back: SET GLOBAL {SETTING} = 900;" in annotations["description"]
        assert annotations["description"].endswith("Because.")
        assert annotations["confidence"] == "0.5"
        assert firing["generatorURL"] == f"https://a.example/db1/advise/{annotations['fingerprint']}"
        assert annotations["page_url"] == f"https://a.example/db1/#{annotations['fingerprint']}"
        assert annotations["runbook_url"] == f"https://a.example/db1/rules/{RULE}"
    assert scene.metric("errors_total", scene.urls[0]) == 0
    assert scene.metric("dropped_total") == 0
    assert scene.metric("queue_length", scene.urls[1]) == 0
    assert scene.metric("queue_capacity") >= 1000


def test_what_ends_while_alertmanager_is_away_ends_there_when_it_is_back(scene: Scene) -> None:
    scene.comes()
    for manager in scene.managers.values():
        manager.stop()
    wait_for(lambda: all(scene.metric("errors_total", url) > 0 for url in scene.urls))
    before = scene.told("resolved")
    set_global(scene.server, 1000)
    wait_for(lambda: not scene.finds())  # and nobody is there
    for manager in scene.managers.values():
        manager.start()
    scene.wait("resolved", [count + 1 for count in before])
    resent(scene)
    # Not so the firing ones: an Alertmanager that stops before it has noted a notification sends it once more.
    assert scene.told("resolved") == [count + 1 for count in before]
    log = scene.sidecar.log()
    for url in scene.urls:
        assert len(re.findall(rf"Alertmanager {url}: .*tried again", log)) == 1
        assert len(re.findall(rf"Alertmanager {url} takes alerts again", log)) == 1


def test_a_finding_that_is_suppressed_ends_and_comes_again_with_the_suppression_gone(scene: Scene) -> None:
    scene.comes()
    firing, resolved = scene.told("firing"), scene.told("resolved")
    scene.config.write_text(f"suppress: [{{rule: {RULE}}}]\n")
    assert scene.sidecar.post("/-/reload").status_code == 200
    scene.wait("resolved", [count + 1 for count in resolved])
    scene.config.write_text("suppress: []\n")
    scene.sidecar.post("/-/reload")
    scene.wait("firing", [count + 1 for count in firing])
    scene.goes()


def test_a_restart_of_the_sidecar_or_of_the_server_ends_nothing_and_fires_nothing_anew(scene: Scene) -> None:
    scene.comes()
    firing, resolved = scene.told("firing"), scene.told("resolved")
    scene.restart()
    renewed(scene)
    scene.server.restart({SETTING: "900"})
    renewed(scene)
    assert (scene.told("firing"), scene.told("resolved")) == (firing, resolved)
    for manager in scene.managers.values():
        [active] = manager.active()
        assert at(active["startsAt"]) == at(manager.told("firing")[-1]["startsAt"])
    scene.goes()
    assert scene.told("firing") == firing


def test_one_that_hangs_holds_up_neither_the_other_nor_the_end_of_the_sidecar(scene: Scene) -> None:
    hanging, other = scene.managers.values()
    before = len(hanging.told("firing")), len(other.told("firing"))
    scene.proxy.stall()
    scene.proxy.drop()
    set_global(scene.server, 900)
    wait_for(lambda: len(other.told("firing")) == before[1] + 1)
    assert len(hanging.told("firing")) == before[0]
    assert scene.metric("queue_length", scene.urls[0]) > 0
    assert scene.sidecar.get("/metrics").status_code == 200
    scene.sidecar.close()
    assert len(hanging.told("firing")) == before[0]  # it ended without this one
    assert "Traceback" not in scene.sidecar.log()
    scene.proxy.flow()
