"""One Alertmanager, real, and what may go wrong on the way to it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import math
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from advisor.alerting import delivery
from advisor.alerting.alert import Alert
from advisor.alerting.configuration import AlertSettings, alert_settings
from advisor.alerting.delivery import BATCH, CAPACITY, Alertmanager
from advisor.files.reloading import Reloader
from advisor.files.yaml_file import FileError
from advisor.outgoing.settings import ClientSettings
from lab.programs import alertmanager
from lab.programs.proxy import FaultyProxy
from lab.programs.webhook import Webhook
from tests.advisor.alerting.harness import alertmanager_or_skip
from tests.advisor.http.certificates import Authority
from tests.advisor.http.secured import hashed, write
from tests.waiting import until

system = pytest.mark.system
PASSWORD = "correct horse battery staple"


def alert(name: str = "a", seconds: float = 600.0, **labels: str) -> Alert:
    now = time.time()
    return Alert({"alertname": name, **labels}, {"summary": "é\n"}, now - 1, now + seconds, "http://a.example/advise/1")


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(delivery, "LONGEST_PAUSE", 0.01)


@contextlib.asynccontextmanager
async def running(*alertmanagers: Alertmanager) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(alertmanager.run()) for alertmanager in alertmanagers]
    yield
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def target(
    port: int,
    settings: Reloader[AlertSettings] | None = None,
    scheme: str = "http",
    path: str = "",
) -> Alertmanager:
    in_force = settings or alert_settings(None, encrypted=False)
    return Alertmanager(f"{scheme}://127.0.0.1:{port}{path}", lambda: in_force.content.client)


@pytest.fixture(scope="module")
def webhook() -> Iterator[Webhook]:
    with Webhook() as made:
        yield made


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory, webhook: Webhook) -> Iterator[int]:
    """Of an Alertmanager without a login, behind a path as a proxy would have it."""
    folder = tmp_path_factory.mktemp("plain")
    configured = alertmanager.configuration(webhook.url)
    with alertmanager_or_skip("bookworm", folder, configured, "--web.route-prefix=/alerts/eu") as started:
        yield started.port


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory, webhook: Webhook, authority: Authority) -> Iterator[int]:
    """Of one that asks for a login and a client's certificate, over TLS, under a name that is not its address."""
    folder = tmp_path_factory.mktemp("secured")
    own = authority.issue("alerts", "alerts.example")
    web = write(
        folder / "web.yml",
        {
            "tls_server_config": {
                "cert_file": str(own.cert),
                "key_file": str(own.key),
                "client_auth_type": "RequireAndVerifyClientCert",
                "client_ca_file": str(authority.ca),
            },
            "basic_auth_users": {"advisor": hashed(PASSWORD)},
        },
    )
    configured = alertmanager.configuration(webhook.url)
    with alertmanager_or_skip("sid", folder, configured, f"--web.config.file={web}") as started:
        yield started.port


@system
async def test_alerts_are_taken_behind_a_path(port: int, webhook: Webhook) -> None:
    one = target(port, path="/alerts/eu")
    async with running(one):
        one.put([alert("prefixed", number=str(number)) for number in range(BATCH + 1)])
        await until(lambda: one.sent == BATCH + 1)
    assert (one.errors, one.dropped, one.waiting) == (0, 0, 0)
    await until(lambda: sum(a["labels"]["alertname"] == "prefixed" for a in webhook.alerts()) == BATCH + 1)
    assert {a["annotations"]["summary"] for a in webhook.alerts()} == {"é\n"}


@system
async def test_what_is_refused_is_said_once_and_not_tried_again_and_does_not_keep_others_away(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    one = target(port, path="/alerts/eu")

    def dropped(count: int) -> bool:
        return one.dropped == count

    with caplog.at_level(logging.INFO, "advisor"):
        async with running(one):
            for number in range(3):
                one.put([alert("ends before it starts", seconds=-60), alert("fine", number=str(number))])
                await until(functools.partial(dropped, 2 * number + 2))
            one.put([alert("fine")])
            await until(lambda: one.sent == 1)
    refused, back = [record.getMessage() for record in caplog.records]
    assert f"127.0.0.1:{port}/alerts/eu: it refuses alerts: 400 Bad Request: start time must be before" in refused
    assert "takes alerts again" in back
    assert one.errors == 6


@system
async def test_a_path_that_leads_nowhere_is_refused(port: int) -> None:
    one = target(port)
    async with running(one):
        one.put([alert()])
        await until(lambda: one.dropped == 1)
    assert (one.sent, one.waiting) == (0, 0)


async def test_a_redirect_is_not_followed(caplog: pytest.LogCaptureFixture) -> None:
    asked: list[bytes] = []

    async def redirect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(redirect, "127.0.0.1", 0)
    async with server:
        one = target(server.sockets[0].getsockname()[1])
        async with running(one):
            one.put([alert()])
            await until(lambda: one.dropped == 1)
    assert len(asked) == 1
    assert "302 Found: redirects are not followed" in caplog.text


@pytest.fixture
def taker() -> Iterator[int]:
    """The port of what takes alerts as an Alertmanager does."""
    with Webhook() as made:
        yield int(made.url.rstrip("/").rpartition(":")[2])


async def test_an_outage_loses_nothing_and_is_said_once_and_a_slow_answer_is_given_up(
    taker: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    http = tmp_path / "http.yml"
    settings = alert_settings(write(http, {"timeout": "60s"}), encrypted=False)

    def wait_at_most(timeout: str) -> None:
        write(http, {"timeout": timeout})
        settings.refresh()

    with FaultyProxy(("127.0.0.1", taker)) as proxy, caplog.at_level(logging.INFO, "advisor"):
        one, other = target(proxy.port, settings), target(taker)
        async with running(one, other):
            proxy.refuse()
            for manager in (one, other):
                manager.put([alert("away", number="1")])
            await until(lambda: one.errors >= 3 and other.sent == 1)
            proxy.accept()
            await until(lambda: one.sent == 1)
            proxy.stall()
            proxy.drop()
            wait_at_most("300ms")
            one.put([alert("away", number="2"), alert("away", number="1")])
            await until(lambda: one.errors >= 8)
            assert one.waiting == 2
            wait_at_most("60s")
            proxy.flow()
            await until(lambda: one.sent == 3)
    assert one.dropped == 0
    away, _, slow, _ = [record.getMessage() for record in caplog.records if record.name == "advisor.alerting.delivery"]
    assert "Connection refused; it is tried again" in away
    assert "no answer within 0.3 s; it is tried again" in slow


async def test_a_queue_that_is_full_drops_the_oldest_and_keeps_the_newest_of_each() -> None:
    one = target(1)
    one.put([alert(number=str(number)) for number in range(CAPACITY)])
    newer = alert(number="0", seconds=1200)
    one.put([newer])
    assert (one.waiting, one.dropped) == (CAPACITY, 0)
    one.put([alert(number="one more")])
    assert (one.waiting, one.dropped) == (CAPACITY, 1)


async def test_an_error_that_nobody_thought_of_does_not_end_it(taker: int, caplog: pytest.LogCaptureFixture) -> None:
    settings = alert_settings(None, encrypted=False)
    broken = [True]

    def now() -> ClientSettings:
        if broken.pop() if broken else False:
            raise RuntimeError("who would have thought")
        return settings.content.client

    one = Alertmanager(f"http://127.0.0.1:{taker}", now)
    async with running(one):
        one.put([alert()])
        await until(lambda: one.sent == 1)
    assert not broken
    assert "who would have thought" in caplog.text


@system
async def test_a_login_and_tls_with_a_certificate_of_its_own(
    secured: int, authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own = authority.issue("sidecar")
    password = tmp_path / "password"
    password.write_text("wrong\n")
    tls = {"ca_file": str(authority.ca), "cert_file": str(own.cert), "key_file": str(own.key)}
    config = {
        "basic_auth": {"username": "advisor", "password_file": "password"},
        "tls_config": {**tls, "server_name": "alerts.example"},
    }
    settings = alert_settings(write(tmp_path / "http.yml", config), encrypted=True)
    one = target(secured, settings, "https")
    with caplog.at_level(logging.DEBUG):
        async with running(one):
            one.put([alert()])
            await until(lambda: one.dropped == 1)
            password.write_text(f"{PASSWORD}\n")
            settings.refresh()
            one.put([alert()])
            await until(lambda: one.sent == 1)
            write(tmp_path / "http.yml", {**config, "timeout": "never"})
            settings.refresh()
            one.put([alert()])
            await until(lambda: one.sent == 2)
    assert "401 Unauthorized" in caplog.text
    assert "loaded the configuration for Alertmanager anew" in caplog.text
    assert "the old configuration for Alertmanager stays in force" in caplog.text
    assert PASSWORD not in caplog.text + repr(settings.content)
    assert settings.content.client.authorization
    assert settings.content.client.authorization not in caplog.text


@system
@pytest.mark.parametrize("lacking", ["ca_file", "server_name", "cert_file"])
async def test_without_tls_as_it_must_be_nothing_is_sent(
    secured: int,
    authority: Authority,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    *,
    monkeypatch: pytest.MonkeyPatch,
    lacking: str,
) -> None:
    # One attempt: a handshake that is cancelled leaves its socket to the garbage collector (httpcore's start_tls).
    monkeypatch.setattr(delivery, "FIRST_PAUSE", math.inf)
    own = authority.issue("sidecar")
    tls = {"ca_file": str(authority.ca), "server_name": "alerts.example", "cert_file": str(own.cert)}
    tls = {name: value for name, value in tls.items() if name != lacking}
    if "cert_file" in tls:
        tls["key_file"] = str(own.key)
    one = target(secured, alert_settings(write(tmp_path / "http.yml", {"tls_config": tls}), encrypted=True), "https")
    async with running(one):
        one.put([alert()])
        await until(lambda: one.errors)
    assert (one.sent, one.waiting) == (0, 1)
    assert ("its certificate is not trusted" in caplog.text) == (lacking != "cert_file")


@system
async def test_a_server_without_verification_is_spoken_to_where_that_is_asked_for(
    secured: int, tmp_path: Path, authority: Authority
) -> None:
    own = authority.issue("sidecar")
    tls = {"insecure_skip_verify": True, "cert_file": str(own.cert), "key_file": str(own.key)}
    login = {"username": "advisor", "password": PASSWORD}
    one = target(
        secured,
        alert_settings(write(tmp_path / "h.yml", {"tls_config": tls, "basic_auth": login}), encrypted=True),
        "https",
    )
    async with running(one):
        one.put([alert()])
        await until(lambda: one.sent == 1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"basic_auth": {"username": "a"}}, "2:3: basic_auth: needs password_file or password"),
        ({"basic_auth": {"username": "a", "password": "s3cret", "password_file": "p"}}, "not both"),
        (
            {"basic_auth": {"username": "a", "password_file": "none"}},
            "basic_auth.password_file: cannot read it: No such",
        ),
        ({"basic_auth": {"username": "a:b", "password": "s3cret"}}, "cannot hold a colon"),
        ({"authorization": {"credentials": "s3cret\nX-Evil: 1"}}, "authorization.credentials: must be one line"),
        ({"authorization": {"type": "Basic", "credentials": "s3cret"}}, "for Basic there is basic_auth"),
        (
            {"basic_auth": {"username": "a", "password": "s3cret"}, "authorization": {"credentials": "s3cret"}},
            "has both",
        ),
        ({"tls_config": {"ca_file": "none"}}, "tls_config.ca_file: cannot read it"),
        ({"tls_config": {"ca_file": "no.pem"}}, "tls_config.ca_file: holds no PEM certificate"),
        ({"tls_config": {"cert_file": "no.pem"}}, "cert_file and key_file belong together"),
        (
            {"tls_config": {"cert_file": "no.pem", "key_file": "no.pem"}},
            "tls_config.cert_file: holds no PEM certificate",
        ),
        ({"timeout": "2m"}, "timeout: must be more than 0s, and 60s at most"),
        ({"timeout": "soon"}, "timeout: must be a duration"),
        ({"labels": {"rule": "x"}}, "labels: rule is a label of the sidecar's own"),
        ({"labels": {"instance": "x"}}, "--instance sets it"),
        ({"labels": {"a-b": "x"}}, "labels: a-b is no name of a label"),
        ({"labels": {"a": 1}}, "labels.a: must be a text"),
        ({"proxy_url": "http://p"}, "proxy_url: there is no such key"),
    ],
    ids=str,
)
def test_what_is_wrong_in_the_file_is_said_with_its_place_and_without_secrets(
    tmp_path: Path, content: dict[str, object], message: str
) -> None:
    (tmp_path / "no.pem").write_text("nothing")
    path = write(tmp_path / "http.yml", content)
    with pytest.raises(FileError) as caught:
        alert_settings(path, encrypted=False)
    assert str(caught.value).startswith(f"{path}:")
    assert message in str(caught.value)
    assert "s3cret" not in str(caught.value)
