"""What `serve` takes and refuses about Alertmanager, and what it costs."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from advisor.cli.options import named_source
from advisor.cli.service_options import AlertingOptions
from advisor.contract.links import Links
from lab.programs.webhook import Webhook
from lab.servers import PrivateServer
from tests.advisor.alerting.harness import write_setting_rule
from tests.advisor.building import RECORDING, REPOSITORY, capture
from tests.advisor.conftest import Run
from tests.advisor.in_process import InProcess
from tests.advisor.sidecar import values
from tests.waiting import wait_for

DSN = ("--dsn", "mysql://advisor@127.0.0.1:1")
SECRET = "hunter2"
LINKS = Links("http://a.example:9747")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--alertmanager", "alertmanager:9093"], "is not a URL such as http://alertmanager:9093"),
        (["--alertmanager", "ftp://alertmanager"], "is not a URL such as"),
        (["--alertmanager", "http://:9093"], "is not a URL such as"),
        (["--alertmanager", "http://am:99999"], "is not a URL such as"),
        (["--alertmanager", "http://am/a b"], "is not a URL such as"),
        (["--alertmanager", f"http://u:{SECRET}@am:9093"], "names a user, and every user of this machine could read"),
        (["--alertmanager", f"u:{SECRET}@am:9093"], "names a user"),
        (["--alertmanager", f"http://u:{SECRET}@am:port"], "names a user"),
        (["--alertmanager", "http://am:9093/?x=1"], "has more than a path behind the host"),
        (["--alertmanager", "http://am:9093/x/api/v2/alerts/"], "leave out /api/v2/alerts, which is added"),
        (["--alertmanager-resend", "0.5s"], "is not between 1s and 1h"),
        (["--alertmanager-config", "none.yml"], "--alertmanager-config needs an --alertmanager"),
        (
            ["--alertmanager", "http://am", "--alertmanager-config", "none.yml"],
            "none.yml: cannot read it: No such file",
        ),
    ],
    ids=lambda arguments: arguments[1] if isinstance(arguments, list) else "",
)
def test_what_cannot_be_is_refused_at_the_start(run: Run, options: list[str], message: str) -> None:
    ended = run("serve", "--listen", "127.0.0.1:0", *DSN, *options)
    assert ended.returncode == 2
    assert message in " ".join(ended.stderr.split())
    assert SECRET not in ended.stderr


def test_a_recording_is_no_reason_to_wake_anybody(run: Run) -> None:
    ended = run("serve", "--listen", "127.0.0.1:0", "--recording", capture(RECORDING), "--alertmanager", "http://am")
    assert ended.returncode == 2
    assert "--alertmanager needs a server, not a recording" in ended.stderr


def made(**options: Any) -> AlertingOptions:
    return AlertingOptions(**{"urls": ("http://am:9093",), **options})


@pytest.mark.parametrize(
    ("dsn", "instance"),
    [
        ("mysql://a@db1.example:3307", "db1.example:3307"),
        ("mysql://a@[2001:db8::1]:3306", "[2001:db8::1]:3306"),
        ("mysql://a@127.0.0.1:3307", f"{socket.gethostname()}:3307"),
        ("mysql://a@localhost", f"{socket.gethostname()}:3306"),
        ("mysql://a@/?socket=/run/mysqld.sock", f"{socket.gethostname()}:3306"),
    ],
)
def test_the_instance_is_the_server_as_others_know_it(dsn: str, instance: str) -> None:
    where = named_source(dsn, None, None, None)
    assert made().server_alerts(where, LINKS).instance == instance
    assert made(instance="orders").server_alerts(where, LINKS).instance == "orders"


def test_a_login_in_the_clear_is_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = tmp_path / "http.yml"
    config.write_text("authorization: {credentials: hunter2}\n")
    where = named_source("mysql://a@db1", None, None, None)
    made(alertmanager_config=config, urls=("https://am", "http://127.0.0.1:9093")).notifier(where)
    assert not caplog.records
    made(alertmanager_config=config).notifier(where)
    assert "goes over the network in the clear: http://am:9093 has no TLS" in caplog.text
    assert SECRET not in caplog.text


def test_without_an_alertmanager_nothing_is_loaded_for_it(replaying: InProcess) -> None:
    assert made(urls=()).notifier(named_source("mysql://a@db1", None, None, None)) is None
    assert "notifications" not in replaying.get("/metrics").text
    loaded = "import sys, advisor.cli.serve, advisor.http.app; print({'httpcore'} & sys.modules.keys())"
    ended = subprocess.run([sys.executable, "-c", loaded], cwd=REPOSITORY, capture_output=True, text=True, check=True)  # noqa: S603
    assert ended.stdout == "set()\n"


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
def test_a_sidecar_says_once_which_alertmanager_is_away_and_tells_the_other(
    server: PrivateServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules, away = tmp_path / "rules", "http://127.0.0.1:1"
    write_setting_rule(rules, when=["1.0 > 0.0"], change=[{"setting": "innodb_old_blocks_pct", "value": 55}])

    def by(kind: str) -> dict[str, float]:
        """A metric's values by Alertmanager."""
        own = values(sidecar.get("/metrics").text)
        name = f"innodb_advisor_notifications_{kind}"
        return {dict(labels)["alertmanager"]: value for (metric, labels), value in own.items() if metric == name}

    with Webhook() as taker:  # it answers as an Alertmanager does
        up = taker.url.rstrip("/")
        monkeypatch.setenv("INNODB_ADVISOR_ALERTMANAGER", f"{up} {away}")
        with InProcess("--dsn", server.dsn, "--rules", rules, "--interval", "0.5s") as sidecar:
            wait_for(lambda: by("sent_total")[up] > 0 and by("errors_total")[away] > 0)
            assert by("errors_total")[up] == by("sent_total")[away] == 0
            assert by("queue_length")[away] > 0
            assert taker.notifications
            assert len(re.findall("Alertmanager", sidecar.log())) == 1  # one line for the one that is away


def test_the_link_of_an_alert_opens_the_page_at_the_finding_in_a_browser(replaying: InProcess) -> None:
    [finding] = replaying.get("/advise").json()["recommendations"]
    browser = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
    shown = replaying.get(f"/advise/{finding['fingerprint']}", headers=browser, follow_redirects=True)
    assert (shown.status_code, shown.headers["content-type"].split(";")[0]) == (200, "text/html")
    assert str(shown.url) == f"{replaying.url}/#{finding['fingerprint']}"
    assert replaying.get(f"/advise/{finding['fingerprint']}").json() == finding | {"outcomes": []}
