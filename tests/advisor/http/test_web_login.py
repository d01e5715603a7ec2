"""Logins and TLS as clients meet them; and a real Prometheus."""

from __future__ import annotations

import asyncio
import base64
import logging
import ssl
from collections.abc import Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import bcrypt
import httpx
import pytest
from cryptography import x509
from fastapi import FastAPI

from advisor.cli import listening as listeners
from advisor.cli.service_options import Addresses
from advisor.http import server
from advisor.http.guard import Guard
from advisor.http.logins import PAUSE_SECONDS, Logins
from advisor.http.web_settings import CHECK_SECONDS, WebSettings
from lab.programs import prometheus
from tests.advisor.building import RECORDING, capture
from tests.advisor.http.certificates import Authority
from tests.advisor.http.listening import Listener, listening
from tests.advisor.http.secured import Secured, hashed, write
from tests.advisor.http.standing import happens, loop_time, passes
from tests.advisor.in_process import InProcess
from tests.advisor.sidecar import problem, values
from tests.unavailable import or_give_up
from tests.waiting import DEADLINE, wait_for

PASSWORD = "correct-horse-9"
PATHS = (
    *("/", "/docs", "/openapi.json", "/metrics", "/advise", "/rules", "/snapshot", "/healthz", "/readyz", "/nope"),
    "/page/app.js",
)
TLS = {"cert_file": "server.pem", "key_file": "server.key"}
MUTUAL = {**TLS, "client_auth_type": "RequireAndVerifyClientCert", "client_ca_file": "ca.pem"}


@pytest.fixture(scope="module")
def login(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    """A sidecar with users."""
    users = {"alice": hashed(PASSWORD), "zoë": hashed("grün"), "long": hashed("x" * 72)}
    web = write(tmp_path_factory.mktemp("login") / "web.yml", {"basic_auth_users": users})
    with InProcess("--recording", capture(RECORDING), "--web-config", web) as sidecar:
        yield sidecar


def test_every_path_asks_for_a_login(login: InProcess) -> None:
    for path in PATHS:
        response = login.get(path)
        assert problem(response) == (401, "log in with a user's name and password")
        assert response.headers["www-authenticate"] == 'Basic realm="innodb-advisor", charset="UTF-8"'
        assert login.get(path, auth=("alice", PASSWORD)).status_code == (404 if path == "/nope" else 200)
    assert problem(login.post("/-/reload"))[0] == 401


@pytest.mark.parametrize("query", [f"user=alice&password={PASSWORD}", f"access_token={PASSWORD}"])
def test_no_login_is_taken_from_an_address(login: InProcess, query: str) -> None:
    assert problem(login.get(f"/metrics?{query}"))[0] == 401


def basic(sent: bytes) -> str:
    return f"Basic {base64.b64encode(sent).decode()}"


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (basic(b"alice:wrong"), "this is no user's name and password"),
        (basic(b"alice:"), "this is no user's name and password"),
        (basic(b"nobody:" + PASSWORD.encode()), "this is no user's name and password"),
        (basic(b"admin:admin"), "this is no user's name and password"),
        (basic(b"\xff\xfe:\x00"), "this is no user's name and password"),
        (basic(b"alice"), "this is no basic authentication (RFC 7617)"),
        ("Basic ~~~", "this is no basic authentication (RFC 7617)"),
        ("Basic é".encode().decode("latin-1"), "this is no basic authentication (RFC 7617)"),
        ("Basic", "this is no basic authentication (RFC 7617)"),
        (f"Bearer {PASSWORD}", "log in with a user's name and password"),
    ],
)
def test_whoever_does_not_belong_stays_out(login: InProcess, sent: str, message: str) -> None:
    response = login.get("/metrics", headers={"Authorization": sent.encode("latin-1")})
    assert problem(response) == (401, message)


def test_names_and_passwords_are_utf_8_and_bcrypt_reads_72_bytes(login: InProcess) -> None:
    for user, password in (("alice", PASSWORD), ("zoë", "grün"), ("long", "x" * 72), ("long", "x" * 100)):
        assert login.get("/healthz", auth=(user.encode(), password.encode())).status_code == 200
    assert login.get("/healthz", auth=("long", "x" * 71)).status_code == 401


def test_two_logins_in_one_request_are_none(login: InProcess) -> None:
    good = ("Authorization", basic(f"alice:{PASSWORD}".encode()))
    assert login.get("/metrics", headers=[good]).status_code == 200
    assert problem(login.get("/metrics", headers=[good, good]))[0] == 401


@pytest.fixture
def costs(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The cost of each hash that a password was compared with."""
    costs: list[bytes] = []
    verify = bcrypt.checkpw

    def counted(password: bytes, stored: bytes) -> bool:
        costs.append(stored[4:6])
        return verify(password, stored)

    monkeypatch.setattr(bcrypt, "checkpw", counted)
    return costs


async def test_bcrypt_is_paid_for_once_by_who_belongs_and_each_time_by_who_does_not(costs: list[bytes]) -> None:
    logins, users = Logins(loop_time), {"alice": hashed(PASSWORD, 5)}

    async def right(user: str, password: bytes) -> bool:
        verifying = asyncio.create_task(logins.verify(users, "192.0.2.1", user, password))
        await passes()
        await passes(PAUSE_SECONDS)
        return await verifying

    assert all([await right("alice", PASSWORD.encode()) for _ in range(20)])
    assert costs == [b"05"]
    for user, password in (("alice", b"wrong"), ("alice", b"wrong"), ("nobody", PASSWORD.encode())):
        assert not await right(user, password)
    assert costs == [b"05"] * 4  # an unknown user costs as much as a known one


async def test_guessing_is_slowed_down_and_keeps_nobody_out(tmp_path: Path) -> None:
    users = {"alice": hashed(PASSWORD), "prometheus": hashed(PASSWORD)}
    web = WebSettings(write(tmp_path / "web.yml", {"basic_auth_users": users}), loop_time)
    guard = Guard(answers_ok, web, clock=loop_time)

    async def status(address: str, user: str, password: str) -> int:
        transport = httpx.ASGITransport(guard, client=(address, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://sidecar") as client:
            return (await client.get("/metrics", auth=(user, password))).status_code

    guesses = [asyncio.create_task(status("192.0.2.1", "alice", str(number))) for number in range(60)]
    for _ in range(3):
        await passes(PAUSE_SECONDS)
    assert [guess.result() for guess in guesses if guess.done()] == [401] * 3
    # Neither has logged in before; one comes from the guessers' address.
    honest = [
        asyncio.create_task(status("192.0.2.1", "prometheus", PASSWORD)),
        asyncio.create_task(status("192.0.2.2", "alice", PASSWORD)),
    ]
    for _ in range(2):  # each in its turn
        await passes(PAUSE_SECONDS)
    assert [login.result() for login in honest] == [200, 200]
    assert sum(guess.done() for guess in guesses) <= 5
    for guess in guesses[10:]:
        guess.cancel()  # its client has gone
    for _ in range(10):
        await passes(PAUSE_SECONDS)
    assert {guess.result() for guess in guesses[:10]} == {401}


async def answers_ok(scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG001 - as ASGI has it
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"ok\n"})


def test_no_password_is_in_an_answer_or_in_the_log(login: InProcess, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for user, password in (("alice", PASSWORD), ("alice", f"{PASSWORD}-wrong"), (PASSWORD, "x")):
        login.get("/metrics", auth=(user, password))
    login.get("/metrics", headers={"Authorization": f"Bearer {PASSWORD}"})
    texts = [login.get(path, auth=("alice", PASSWORD)).text for path in PATHS]
    for text in (*texts, caplog.text):
        for secret in (PASSWORD, "$2y$", base64.b64encode(f"alice:{PASSWORD}".encode()).decode()):
            assert secret not in text


@pytest.mark.parametrize(("host", "warned"), [("", True), ("127.0.0.1", False)])
def test_passwords_in_the_clear_are_warned_of_where_others_can_connect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, host: str, *, warned: bool
) -> None:
    monkeypatch.setattr(server, "run", lambda *_: None)
    web = write(tmp_path / "web.yml", {"basic_auth_users": {"alice": hashed(PASSWORD)}})
    listeners.serve((host, 0), web, Addresses(), lambda *_: FastAPI())
    assert ("passwords go over the network in the clear" in caplog.text) == warned


# TLS, through sockets.


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    authority = Authority(tmp_path / "web")
    authority.issue("server")
    return authority


class Service:
    """An application behind a web configuration."""

    def __init__(self, listener: Listener, web: Path) -> None:
        self.listener, self.web = listener, web
        self.url = f"https://127.0.0.1:{listener.port}/healthz"

    async def status(self, trust: ssl.SSLContext, auth: tuple[str, str] | None = None) -> int:
        async with httpx.AsyncClient(verify=trust, auth=auth, timeout=DEADLINE) as client:
            return (await client.get(self.url)).status_code

    async def refuses(self, trust: ssl.SSLContext) -> bool:
        try:
            await self.status(trust)
        except httpx.TransportError:
            return True
        return False


@asynccontextmanager
async def secured(folder: Path, content: Mapping[str, Any]) -> Any:
    path = write(folder / "web.yml", dict(content))
    web = WebSettings(path, loop_time)
    async with listening(Guard(answers_ok, web, clock=loop_time), web) as listener:
        yield Service(listener, path)


@pytest.fixture
def folder(authority: Authority) -> Path:
    return authority.ca.parent


async def test_https_is_served_and_nothing_else(folder: Path, authority: Authority) -> None:
    async with secured(folder, {"tls_server_config": TLS}) as service:
        assert await service.status(authority.trusting()) == 200
        assert await service.refuses(ssl.create_default_context())
        reader, writer = await service.listener.connect(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert not (await reader.read()).startswith(b"HTTP")
        writer.close()


async def test_a_client_needs_a_certificate_of_the_authority(
    folder: Path, authority: Authority, tmp_path: Path
) -> None:
    forged = Authority(tmp_path / "forged", "test authority").issue("client", "prometheus")
    async with secured(folder, {"tls_server_config": MUTUAL}) as service:
        assert await service.status(authority.trusting(authority.issue("client", "prometheus"))) == 200
        assert await service.refuses(authority.trusting())
        assert await service.refuses(authority.trusting(forged))


async def test_a_clients_certificate_must_have_one_of_the_names_that_are_allowed(
    folder: Path, authority: Authority
) -> None:
    allowed = ["prometheus", "192.0.2.7", "2001:db8::7", "spiffe://cluster/prometheus", "sre@example.com"]
    async with secured(folder, {"tls_server_config": {**MUTUAL, "client_allowed_sans": allowed}}) as service:
        for number, name in enumerate(allowed):
            assert await service.status(authority.trusting(authority.issue(f"client{number}", "another", name))) == 200
        stranger = authority.issue("stranger", "prometheus.example", "192.0.2.70")
        assert await service.refuses(authority.trusting(stranger))


async def test_a_certificate_that_is_asked_for_but_not_required_may_be_missing_but_not_forged(
    folder: Path, authority: Authority, tmp_path: Path
) -> None:
    asked = {**MUTUAL, "client_auth_type": "VerifyClientCertIfGiven"}
    async with secured(folder, {"tls_server_config": asked}) as service:
        assert await service.status(authority.trusting()) == 200
        assert await service.status(authority.trusting(authority.issue("client"))) == 200
        assert await service.refuses(authority.trusting(Authority(tmp_path / "forged").issue("client")))


async def serial(service: Service) -> int:
    """Of the certificate that it shows now."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    _, writer = await asyncio.open_connection("127.0.0.1", service.listener.port, ssl=context)
    shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    return x509.load_der_x509_certificate(shown).serial_number


async def test_users_and_certificates_change_while_it_runs(
    folder: Path, authority: Authority, costs: list[bytes], caplog: pytest.LogCaptureFixture
) -> None:
    content = {"tls_server_config": TLS, "basic_auth_users": {"alice": hashed(PASSWORD)}}
    trusting = authority.trusting()
    async with (
        secured(folder, content) as service,
        httpx.AsyncClient(verify=trusting, auth=("alice", PASSWORD), timeout=DEADLINE) as connected,
    ):
        first = await serial(service)
        assert (await connected.get(service.url)).status_code == 200

        renewed = authority.issue("server")
        await passes(CHECK_SECONDS)
        assert await serial(service) == renewed.serial != first
        assert await service.status(trusting, ("alice", PASSWORD)) == 200

        write(service.web, {**content, "basic_auth_users": {"bob": hashed("other")}})
        await passes(CHECK_SECONDS)
        assert await service.status(trusting, ("bob", "other")) == 200
        # The connection is the old one; the login is asked for with every request.
        compared, asking = len(costs), asyncio.create_task(connected.get(service.url))
        await happens(lambda: len(costs) > compared)
        await passes(PAUSE_SECONDS)
        assert (await asking).status_code == 401

        service.web.write_text("basic_auth_users: {}\n  broken")
        for _ in range(3):
            await passes(CHECK_SECONDS)
            assert await service.status(trusting, ("bob", "other")) == 200
        assert await service.status(trusting) == 401
        assert caplog.text.count("the old web configuration stays in force") == 1


@pytest.mark.system
def test_prometheus_scrapes_it_over_tls_with_a_login(folder: Path, authority: Authority, tmp_path: Path) -> None:
    own = authority.issue("client", "prometheus")
    (tmp_path / "password").write_text(PASSWORD)
    sidecar = Secured(folder, {"tls_server_config": MUTUAL, "basic_auth_users": {"prometheus": hashed(PASSWORD)}})
    job = prometheus.job(
        "innodb",
        sidecar.url.removeprefix("https://"),
        scheme="https",
        tls_config={"ca_file": str(authority.ca), "cert_file": str(own.cert), "key_file": str(own.key)},
        basic_auth={"username": "prometheus", "password_file": str(tmp_path / "password")},
    )
    try:
        with or_give_up(prometheus.running(tmp_path, [job])) as running:
            wait_for(lambda: [sample.value for sample in running.query('up{job="innodb"}')] == [1])
            [up] = running.query("innodb_up")
            assert up.value == 1
            shown = values(sidecar.get("/metrics", verify=authority.trusting(own), auth=("prometheus", PASSWORD)).text)
            [pool] = running.query("innodb_buffer_pool_size_bytes")
            assert pool.value == shown["innodb_buffer_pool_size_bytes", frozenset()]
    finally:
        sidecar.kill()
