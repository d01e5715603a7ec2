"""TLS and logins as clients meet them: httpx, curl, and a real Prometheus."""

from __future__ import annotations

import base64
import shutil
import socket
import ssl
import subprocess
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import bcrypt
import httpx
import pytest

from advisor.http.logins import RATE
from lab.programs import prometheus
from tests.advisor.http.certificates import Authority, Issued
from tests.advisor.http.secured import Secured, hashed
from tests.advisor.sidecar import problem, values
from tests.unavailable import give_up, or_give_up
from tests.waiting import wait_for

PASSWORD = "correct-horse-9"
SLOW = 12  # the cost of a hash that takes some tenths of a second to check
PATHS = ("/", "/docs", "/openapi.json", "/metrics", "/advise", "/rules", "/snapshot", "/healthz", "/readyz", "/nope")

Start = Callable[..., Secured]


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "web")


@pytest.fixture
def secured(tmp_path: Path, authority: Authority) -> Iterator[Start]:
    """Start a sidecar with this web configuration, in whose folder a server's certificate and key are."""
    authority.issue("server")
    with ExitStack() as stack:

        def start(content: Mapping[str, Any], *arguments: object) -> Secured:
            sidecar = Secured(tmp_path / "web", dict(content), *arguments)
            stack.callback(sidecar.kill)
            return sidecar

        yield start


TLS = {"cert_file": "server.pem", "key_file": "server.key"}
MUTUAL = {**TLS, "client_auth_type": "RequireAndVerifyClientCert", "client_ca_file": "ca.pem"}


def test_https_is_served_and_nothing_else(secured: Start, authority: Authority) -> None:
    sidecar = secured({"tls_server_config": TLS})
    assert sidecar.url.startswith("https://")
    assert sidecar.status("/metrics", verify=authority.trusting()) == 200
    with pytest.raises(httpx.HTTPError):
        httpx.get(sidecar.url.replace("https", "http") + "/metrics")
    with pytest.raises(httpx.ConnectError, match="certificate verify failed"):
        sidecar.status()
    assert "Traceback" not in sidecar.log()


@pytest.mark.parametrize(("least", "refused"), [("TLS12", "1.1"), ("TLS13", "1.2")])
def test_an_older_tls_than_the_least_is_refused(secured: Start, authority: Authority, least: str, refused: str) -> None:
    sidecar = secured({"tls_server_config": {**TLS, "min_version": least}})
    curl = shutil.which("curl")
    if curl is None:
        give_up("curl is not installed")
    ask = [curl, "-sS", "--cacert", str(authority.ca), f"{sidecar.url}/healthz"]
    assert subprocess.run(ask, capture_output=True, check=True).stdout == b"ok\n"  # noqa: S603
    assert subprocess.run([*ask, "--tls-max", refused], capture_output=True, check=False).returncode != 0  # noqa: S603


def test_every_path_asks_for_a_login(secured: Start) -> None:
    sidecar = secured({"basic_auth_users": {"alice": hashed(PASSWORD)}})
    for path in PATHS:
        response = sidecar.get(path)
        assert problem(response) == (401, "log in with a user's name and password")
        assert response.headers["www-authenticate"] == 'Basic realm="innodb-advisor", charset="UTF-8"'
        assert sidecar.status(path, auth=("alice", PASSWORD)) == (404 if path == "/nope" else 200)
    assert problem(sidecar.post("/-/reload"))[0] == 401
    assert "passwords go over the network in the clear" not in sidecar.log()  # it is this machine's alone


def basic(sent: bytes) -> str:
    return f"Basic {base64.b64encode(sent).decode()}"


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (basic(b"alice:wrong"), "this is no user's name and password"),
        (basic(b"alice:"), "this is no user's name and password"),
        (basic(b"nobody:" + PASSWORD.encode()), "this is no user's name and password"),
        (basic(b"\xff\xfe:\x00"), "this is no user's name and password"),
        (basic(b"alice"), "this is no basic authentication (RFC 7617)"),
        ("Basic ~~~", "this is no basic authentication (RFC 7617)"),
        ("Basic é".encode().decode("latin-1"), "this is no basic authentication (RFC 7617)"),
        ("Basic", "this is no basic authentication (RFC 7617)"),
        (f"Bearer {PASSWORD}", "log in with a user's name and password"),
    ],
)
def test_whoever_does_not_belong_stays_out(login: Secured, sent: str, said: str) -> None:
    response = login.get("/metrics", headers={"Authorization": sent.encode("latin-1")})
    assert problem(response) == (401, said)


@pytest.fixture(scope="module")
def login(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """One with users only."""
    users = {"alice": hashed(PASSWORD), "zoë": hashed("grün"), "long": hashed("x" * 72)}
    sidecar = Secured(tmp_path_factory.mktemp("login"), {"basic_auth_users": users})
    yield sidecar
    sidecar.kill()


def test_names_and_passwords_are_utf_8_and_bcrypt_reads_72_bytes(login: Secured) -> None:
    for user, password in (("alice", PASSWORD), ("zoë", "grün"), ("long", "x" * 72), ("long", "x" * 100)):
        assert login.status(auth=(user.encode(), password.encode())) == 200
    assert login.status(auth=("long", "x" * 71)) == 401


def test_two_logins_in_one_request_are_none(login: Secured) -> None:
    good = ("Authorization", basic(f"alice:{PASSWORD}".encode()))
    assert login.get("/metrics", headers=[good]).status_code == 200
    assert problem(login.get("/metrics", headers=[good, good]))[0] == 401


def test_bcrypt_is_paid_for_once_by_who_belongs_and_each_time_by_who_does_not(secured: Start) -> None:
    stored = hashed(PASSWORD, SLOW)
    began = time.monotonic()
    assert bcrypt.checkpw(PASSWORD.encode(), stored.encode())
    once = time.monotonic() - began
    sidecar = secured({"basic_auth_users": {"alice": stored}})
    with httpx.Client(base_url=sidecar.url, timeout=30) as client:

        def seconds(user: str, password: str, times: int = 1) -> float:
            began = time.monotonic()
            for _ in range(times):
                client.get("/healthz", auth=(user, password))
            return time.monotonic() - began

        seconds("alice", PASSWORD)
        assert seconds("alice", PASSWORD, 20) < 20 * once / 2
        assert seconds("alice", "wrong") > once / 2
        assert seconds("nobody", PASSWORD) > once / 2


def test_guessing_is_slowed_down_and_keeps_nobody_out(secured: Start) -> None:
    sidecar = secured({"basic_auth_users": {"alice": hashed(PASSWORD), "prometheus": hashed(PASSWORD)}})
    began = time.monotonic()
    with ThreadPoolExecutor(20) as guessing:
        for number in range(20):
            guessing.submit(lambda: [sidecar.get("/healthz", auth=("alice", f"{number} {n}")) for n in range(3)])  # noqa: B023
        time.sleep(1)
        # Neither has logged in before; one comes from the guessers' address.
        assert sidecar.status("/metrics", auth=("prometheus", PASSWORD)) == 200
        elsewhere = httpx.HTTPTransport(local_address="127.0.0.2")
        assert sidecar.status("/metrics", auth=("alice", PASSWORD), transport=elsewhere) == 200
    assert time.monotonic() - began > (60 - RATE.burst) / RATE.per_second / 2


def test_no_password_is_in_the_log(secured: Start) -> None:
    stored = hashed(PASSWORD)
    sidecar = secured({"basic_auth_users": {"alice": stored}})
    for user, password in (("alice", PASSWORD), ("alice", f"{PASSWORD}-wrong"), (PASSWORD, "x")):
        sidecar.status("/metrics", auth=(user, password))
    sidecar.get("/metrics", headers={"Authorization": f"Bearer {PASSWORD}"})
    texts = [sidecar.get(path, auth=("alice", PASSWORD)).text for path in (*PATHS, "/page/app.js")]
    assert sidecar.stop() == 0
    for text in (*texts, sidecar.log()):
        for secret in (PASSWORD, stored, base64.b64encode(f"alice:{PASSWORD}".encode()).decode()):
            assert secret not in text


def test_passwords_in_the_clear_are_warned_of_where_others_can_connect(secured: Start) -> None:
    sidecar = secured({"basic_auth_users": {"alice": hashed(PASSWORD)}}, "--listen", ":0")
    assert "passwords go over the network in the clear" in sidecar.log()


def client(authority: Authority, own: Issued | None) -> dict[str, Any]:
    return {"verify": authority.trusting(own)}


def test_a_client_needs_a_certificate_of_the_authority(secured: Start, authority: Authority, tmp_path: Path) -> None:
    sidecar = secured({"tls_server_config": MUTUAL})
    own = authority.issue("client", "prometheus")
    assert sidecar.status(**client(authority, own)) == 200
    with pytest.raises(httpx.TransportError):
        sidecar.status(**client(authority, None))
    forged = Authority(tmp_path / "forged", "test authority").issue("client", "prometheus")
    with pytest.raises(httpx.TransportError):
        sidecar.status(**client(authority, forged))


def test_a_clients_certificate_must_have_one_of_the_names_that_are_allowed(
    secured: Start, authority: Authority
) -> None:
    allowed = ["prometheus", "192.0.2.7", "2001:db8::7", "spiffe://cluster/prometheus", "sre@example.com"]
    sidecar = secured({"tls_server_config": {**MUTUAL, "client_allowed_sans": allowed}})
    for number, name in enumerate(allowed):
        assert sidecar.status(**client(authority, authority.issue(f"client{number}", "another", name))) == 200
    with pytest.raises(httpx.TransportError):
        sidecar.status(**client(authority, authority.issue("stranger", "prometheus.example", "192.0.2.70")))


def test_a_certificate_that_is_asked_for_but_not_required_may_be_missing_but_not_forged(
    secured: Start, authority: Authority, tmp_path: Path
) -> None:
    sidecar = secured({"tls_server_config": {**MUTUAL, "client_auth_type": "VerifyClientCertIfGiven"}})
    assert sidecar.status(**client(authority, None)) == 200
    assert sidecar.status(**client(authority, authority.issue("client"))) == 200
    with pytest.raises(httpx.TransportError):
        sidecar.status(**client(authority, Authority(tmp_path / "forged").issue("client")))


def serial(sidecar: Secured) -> int:
    """Of the certificate that it shows now."""
    address = urllib.parse.urlsplit(sidecar.url)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection((str(address.hostname), int(address.port or 0)), 10) as plain,
        context.wrap_socket(plain) as wrapped,
    ):
        shown = wrapped.getpeercert(binary_form=True)
    assert shown is not None
    from cryptography import x509  # noqa: PLC0415 - one test wants it

    return x509.load_der_x509_certificate(shown).serial_number


def test_users_and_certificates_change_while_it_runs(secured: Start, authority: Authority) -> None:
    content = {"tls_server_config": TLS, "basic_auth_users": {"alice": hashed(PASSWORD)}}
    sidecar = secured(content)
    trusting = authority.trusting()
    first = serial(sidecar)
    with httpx.Client(verify=trusting, auth=("alice", PASSWORD)) as kept:
        assert kept.get(f"{sidecar.url}/healthz").status_code == 200

        renewed = authority.issue("server")
        wait_for(lambda: serial(sidecar) == renewed.serial)
        assert renewed.serial != first
        assert sidecar.status(verify=trusting, auth=("alice", PASSWORD)) == 200

        sidecar.change({**content, "basic_auth_users": {"bob": hashed("other")}})
        wait_for(lambda: sidecar.status(verify=trusting, auth=("bob", "other")) == 200)
        # The connection is the old one; the login is asked for with every request.
        assert kept.get(f"{sidecar.url}/healthz").status_code == 401

    sidecar.config.write_text("basic_auth_users: {}\n  broken")
    wait_for(
        lambda: sidecar.status(verify=trusting, auth=("bob", "other")) == 200 and "stays in force" in sidecar.log()
    )
    assert sidecar.status(verify=trusting) == 401
    assert sidecar.log().count("the old web configuration stays in force") == 1


def test_prometheus_scrapes_it_over_tls_with_a_login(secured: Start, authority: Authority, tmp_path: Path) -> None:
    sidecar = secured({"tls_server_config": MUTUAL, "basic_auth_users": {"prometheus": hashed(PASSWORD)}})
    own = authority.issue("client", "prometheus")
    (tmp_path / "password").write_text(PASSWORD)
    job = prometheus.job(
        "innodb",
        sidecar.url.removeprefix("https://"),
        scheme="https",
        tls_config={"ca_file": str(authority.ca), "cert_file": str(own.cert), "key_file": str(own.key)},
        basic_auth={"username": "prometheus", "password_file": str(tmp_path / "password")},
    )
    with or_give_up(prometheus.running(tmp_path, [job])) as running:
        wait_for(lambda: [each.value for each in running.query('up{job="innodb"}')] == [1])
        [up] = running.query("innodb_up")
        assert up.value == 1
        shown = values(sidecar.get("/metrics", verify=authority.trusting(own), auth=("prometheus", PASSWORD)).text)
        [pool] = running.query("innodb_buffer_pool_size_bytes")
        assert pool.value == shown["innodb_buffer_pool_size_bytes", frozenset()]
