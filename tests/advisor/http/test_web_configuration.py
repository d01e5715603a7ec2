"""The web configuration file: what it may say, and what is said to one that is wrong."""

from __future__ import annotations

import logging
import re
import ssl
import subprocess
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from advisor.files.yaml_file import FileError
from advisor.http import web_configuration
from advisor.http.web_settings import CHECK_SECONDS, WebSettings
from tests.advisor.building import RECORDING, capture
from tests.advisor.http.certificates import Authority
from tests.advisor.http.secured import hashed, write

Run = Callable[..., "subprocess.CompletedProcess[str]"]


class Clock:
    """Time that passes when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now

    def pass_(self) -> None:
        self.now += CHECK_SECONDS


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def path(tmp_path: Path, authority: Authority) -> Path:
    """Of a configuration that may name server.pem, server.key and ca.pem beside it."""
    authority.issue("server")
    return tmp_path / "web.yml"


def tls_of(path: Path, text: str) -> ssl.SSLContext:
    path.write_text("tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n" + text)
    context = WebSettings(path).context
    assert context is not None
    return context


def refused(path: Path, text: str) -> str:
    """What is said to it, without the file's path."""
    path.write_text(text)
    with pytest.raises(FileError) as raised:
        WebSettings(path)
    return str(raised.value).removeprefix(f"{path}:")


def test_without_tls_and_users_nothing_is_asked_of_anyone(path: Path) -> None:
    path.write_text("http_server_config: {http2: true}\ntls_server_config:\nbasic_auth_users: {}\n")
    web = WebSettings(path)
    assert web.listening is None
    assert not web.config.users
    assert web.admits(None)


def test_the_paths_of_certificates_are_relative_to_the_file(path: Path) -> None:
    context = tls_of(path, "")
    assert (context.minimum_version, context.maximum_version) == (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
    assert context.verify_mode == ssl.CERT_NONE


def test_a_certificate_and_its_key_may_stand_in_the_file_itself(path: Path) -> None:
    texts = {name: (path.parent / file).read_text() for name, file in (("cert", "server.pem"), ("key", "server.key"))}
    of_clients = {"client_ca": (path.parent / "ca.pem").read_text(), "client_auth_type": "RequireAndVerifyClientCert"}
    write(path, {"tls_server_config": {**texts, **of_clients}})
    web = WebSettings(path)
    assert web.listening is not None
    shown = repr(web.config)
    assert texts["key"].split("\n")[1] not in shown


@pytest.mark.parametrize(
    ("client_auth_type", "mode"),
    [("VerifyClientCertIfGiven", ssl.CERT_OPTIONAL), ("RequireAndVerifyClientCert", ssl.CERT_REQUIRED)],
)
def test_certificates_of_clients_are_verified(path: Path, client_auth_type: str, mode: ssl.VerifyMode) -> None:
    context = tls_of(path, f"  client_auth_type: {client_auth_type}\n  client_ca_file: ca.pem\n")
    assert context.verify_mode == mode
    assert len(context.get_ca_certs()) == 1


def test_every_suite_of_tls_1_2_that_go_has_is_one_of_openssl(path: Path) -> None:
    suites_of_tls_1_2 = {name for name in web_configuration.CIPHERS.values() if name}
    suites = "".join(f"    - {name}\n" for name in web_configuration.CIPHERS)
    context = tls_of(path, f"  cipher_suites:\n{suites}")
    of_tls_1_2 = {cipher["name"] for cipher in context.get_ciphers() if not cipher["name"].startswith("TLS_")}
    assert of_tls_1_2 == suites_of_tls_1_2
    preferred = ssl.OP_CIPHER_SERVER_PREFERENCE
    assert context.options & preferred
    assert not tls_of(path, "  prefer_server_cipher_suites: false\n").options & preferred


@pytest.mark.parametrize("curve", web_configuration.CURVES)
def test_one_curve_may_be_named(path: Path, curve: str) -> None:
    tls_of(path, f"  curve_preferences: [{curve}]\n")


def agreed(context: ssl.SSLContext, most: ssl.TLSVersion, suites: str = "ALL:@SECLEVEL=0") -> tuple[str, str] | None:
    """Version and suite that a client which takes what is long obsolete agrees on; None where there is none."""
    asking = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    asking.check_hostname, asking.verify_mode = False, ssl.CERT_NONE
    asking.set_ciphers(suites)
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # of the versions themselves
        asking.minimum_version, asking.maximum_version = ssl.TLSVersion.MINIMUM_SUPPORTED, most
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (asking.wrap_bio(to_client, to_server), context.wrap_bio(to_server, to_client, server_side=True))
    for _ in range(4):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLError:
                return None
    return str(ends[0].version()), str((ends[0].cipher() or ("",))[0])


@pytest.mark.parametrize(
    ("least", "refused"),
    [
        ("TLS12", ssl.TLSVersion.TLSv1),
        ("TLS12", ssl.TLSVersion.TLSv1_1),
        ("TLS13", ssl.TLSVersion.TLSv1_2),
    ],
)
def test_an_older_tls_than_the_least_is_refused(path: Path, least: str, refused: ssl.TLSVersion) -> None:
    context = tls_of(path, f"  min_version: {least}\n")
    newest = agreed(context, ssl.TLSVersion.MAXIMUM_SUPPORTED)
    assert newest is not None
    assert newest[0] == "TLSv1.3"
    assert agreed(context, refused) is None


def test_suites_of_tls_1_2_have_forward_secrecy_and_authenticated_encryption(path: Path) -> None:
    context = tls_of(path, "")
    usual = agreed(context, ssl.TLSVersion.TLSv1_2)
    assert usual is not None
    assert re.fullmatch(r"ECDHE-(?:ECDSA|RSA)-(?:AES\d+-GCM-SHA\d+|CHACHA20-POLY1305)", usual[1])
    for weak in ("ALL:!AESGCM:!CHACHA20:@SECLEVEL=0", "kRSA:kDHE:@SECLEVEL=0"):
        assert agreed(context, ssl.TLSVersion.TLSv1_2, weak) is None


CERT = "tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1:1: a web configuration is a mapping with tls_server_config, "),
        ("basic_auth_user:\n  a: b\n", "1:1: basic_auth_user: there is no such key"),
        (CERT + "  min_versions: TLS12\n", "4:3: tls_server_config.min_versions: there is no such key"),
        ("tls_server_config: {}\n", "1:20: tls_server_config: needs cert_file (or cert)"),
        (
            "tls_server_config:\n  cert_file: server.pem\n",
            "2:3: tls_server_config: needs key_file (or key)",
        ),
        (CERT + "  key: x\n", "2:3: tls_server_config: has both key and key_file"),
        (CERT.replace("server.pem", "no.pem"), "2:14: tls_server_config.cert_file: cannot read it: No such file or"),
        (CERT.replace("server.key", "ca.pem"), "3:13: tls_server_config.key_file: holds no PEM key"),
        (CERT.replace("server.pem", "server.key"), "2:14: tls_server_config.cert_file: holds no PEM certificate"),
        (
            CERT.replace("server.key", "other.key"),
            "3:13: tls_server_config.key_file: is not the key of the certificate",
        ),
        (CERT.replace("server.key", "shut.key"), "3:13: tls_server_config.key_file: is encrypted; "),
        (CERT + "  min_version: TLS10\n", "4:16: tls_server_config.min_version: TLS 1.0 and 1.1 are not served"),
        (CERT + "  max_version: SSL30\n", "4:16: tls_server_config.max_version: Input should be 'TLS12' or 'TLS13'"),
        (CERT + "  min_version: TLS13\n  max_version: TLS12\n", "2:3: tls_server_config: min_version is above max_v"),
        (
            CERT + "  client_auth_type: RequireAnyClientCert\n",
            "4:21: tls_server_config.client_auth_type: a certificate t",
        ),
        (CERT + "  client_auth_type: Require\n", "4:21: tls_server_config.client_auth_type: Input should be 'N"),
        (CERT + "  client_ca_file: ca.pem\n", "2:3: tls_server_config: has a client CA, but no client_auth_type"),
        (
            CERT + "  client_auth_type: RequireAndVerifyClientCert\n",
            "2:3: tls_server_config: client_auth_type RequireAndVerifyClientCert needs client_ca_file",
        ),
        (
            CERT + "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: server.key\n",
            "5:19: tls_server_config.client_ca_file: holds no PEM certificate",
        ),
        (
            CERT + "  client_auth_type: VerifyClientCertIfGiven\n  client_ca_file: ca.pem\n"
            "  client_allowed_sans: [a]\n",
            "2:3: tls_server_config: client_allowed_sans needs client_auth_type: RequireAndVerify",
        ),
        (CERT + "  cipher_suites: [RC4]\n", "4:18: tls_server_config.cipher_suites: there is no cipher suite RC4; "),
        (CERT + "  cipher_suites: [TLS_AES_128_GCM_SHA256]\n", "4:18: tls_server_config.cipher_suites: names no suite"),
        (CERT + "  curve_preferences: [P1]\n", "4:22: tls_server_config.curve_preferences: there is no curve P1; "),
        (
            CERT + "  curve_preferences: [X25519, CurveP256]\n",
            "4:22: tls_server_config.curve_preferences: Python's TLS can be told one curve",
        ),
        (
            "http_server_config:\n  headers:\n    X-Mine: a\n",
            "3:5: http_server_config.headers.X-Mine: there is no such key",
        ),
        (
            'http_server_config:\n  headers:\n    X-XSS-Protection: "a\\r\\nb"\n',
            "3:23: http_server_config.headers.X-XSS-Protection: a header is one line of ASCII text",
        ),
        ("http_server_config:\n  headers:\n    X-Frame-Options: no\n", "3:22: http_server_config.headers.X-Frame-Opt"),
        (
            "basic_auth_users:\n  a: swordfish\n",
            "2:6: basic_auth_users.a: must be a bcrypt hash, which begins with $2y",
        ),
        ("basic_auth_users:\n  a: 12345\n", "2:6: basic_auth_users.a: must be a text"),
        ("basic_auth_users:\n  'a:b': x\n", "2:3: basic_auth_users.a:b: the name of a user cannot hold a colon"),
        ("rate_limit:\n  interval: 1 day\n", "2:13: rate_limit.interval: must be a duration such as 100ms, 1s or 1m"),
        ("rate_limit:\n  interval: 1s\n", "2:3: rate_limit: with a burst of 0 no request would ever be answered"),
        ("basic_auth_users: {a: swordfish\n", "2:1: "),
    ],
)
def test_what_is_wrong_is_said_with_line_and_column(path: Path, authority: Authority, text: str, message: str) -> None:
    authority.issue("other")
    authority.issue("shut", password=b"x")
    refusal = refused(path, text)
    assert refusal.startswith(message)
    assert "swordfish" not in refusal


@pytest.mark.parametrize(
    "wrong", ["$2y$10$short", "$1$10$" + "a" * 53, "$2y$99$" + "a" * 53, "$2y$03$" + "a" * 53, "$2y$04$" + "a" * 54]
)
def test_a_hash_that_is_none_is_refused_without_repeating_it(path: Path, wrong: str) -> None:
    refusal = refused(path, f"basic_auth_users:\n  a: {wrong}\n")
    assert "must be a bcrypt hash" in refusal
    assert wrong not in refusal


@pytest.mark.parametrize(
    ("written", "seconds"), [("100ms", 0.1), ("1s", 1.0), ("1m30s", 90.0), ("1.5h", 5400.0), ("0", 0.0), ("0s", 0.0)]
)
def test_durations_are_those_of_go(path: Path, written: str, seconds: float) -> None:
    path.write_text(f"rate_limit: {{interval: {written}, burst: 5}}\n")
    limit = web_configuration.load(path).content.rate_limit
    assert limit is not None
    assert limit.interval == pytest.approx(seconds)


def test_users_that_were_changed_are_those_of_the_next_look(path: Path) -> None:
    clock = Clock()
    write(path, {"basic_auth_users": {"old": hashed("a")}})
    web = WebSettings(path, clock)
    write(path, {"basic_auth_users": {"new": hashed("a")}})
    assert list(web.config.users) == ["old"]  # it looks once a second
    clock.pass_()
    assert list(web.config.users) == ["new"]


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[], list[str]]]:
    def messages() -> list[str]:
        lines = [record.getMessage() for record in caplog.records]
        caplog.clear()
        return lines

    with caplog.at_level(logging.INFO, logger="advisor"):
        yield messages


def test_a_broken_new_version_leaves_the_old_one_in_force_and_is_logged_once(
    path: Path, logged: Callable[[], list[str]]
) -> None:
    clock = Clock()
    good = {"basic_auth_users": {"old": hashed("a")}}
    web = WebSettings(write(path, good), clock)
    for broken in ("basic_auth_users: {a: swordfish}\n", "{", None):
        path.unlink() if broken is None else path.write_text(broken)
        for _ in range(3):
            clock.pass_()
            assert list(web.config.users) == ["old"]
        [message] = logged()
        assert message.startswith(f"the old web configuration stays in force: {path}")
        assert "swordfish" not in message
    write(path, {"basic_auth_users": {"new": hashed("a")}})
    clock.pass_()
    assert list(web.config.users) == ["new"]
    assert logged() == ["loaded the web configuration anew"]


def test_a_certificate_that_comes_before_its_key_is_taken_when_the_key_is_there(
    path: Path, authority: Authority, logged: Callable[[], list[str]]
) -> None:
    clock = Clock()
    path.write_text(CERT)
    web = WebSettings(path, clock)
    other = authority.issue("other")
    (path.parent / "server.pem").write_bytes(other.cert.read_bytes())
    clock.pass_()
    _ = web.config
    assert "is not the key of the certificate" in logged()[0]
    (path.parent / "server.key").write_bytes(other.key.read_bytes())
    clock.pass_()
    _ = web.config
    assert logged() == ["loaded the web configuration anew"]


def test_a_file_that_is_named_anew_is_taken_as_soon_as_it_is_there(
    path: Path, authority: Authority, logged: Callable[[], list[str]]
) -> None:
    clock = Clock()
    path.write_text(CERT)
    web = WebSettings(path, clock)
    path.write_text(CERT.replace("server.", "later."))
    clock.pass_()
    _ = web.config
    assert "tls_server_config.cert_file: cannot read it: No such file or directory" in logged()[0]
    authority.issue("later")
    clock.pass_()
    assert str(web.config.tls_server_config and web.config.tls_server_config.cert_file) == "later.pem"


@pytest.mark.parametrize(("first", "then"), [(CERT, "{}\n"), ("{}\n", CERT)])
def test_tls_is_not_turned_on_or_off_under_way(
    path: Path, first: str, then: str, logged: Callable[[], list[str]]
) -> None:
    clock = Clock()
    path.write_text(first)
    web = WebSettings(path, clock)
    path.write_text(then)
    clock.pass_()
    assert (web.config.tls_server_config is None) == (first != CERT)
    assert logged() == ["the old web configuration stays in force: only a new start turns TLS on or off"]


@pytest.mark.parametrize("by", ["option", "environment"])
def test_serve_ends_with_one_clear_line_when_the_file_is_wrong(run: Run, path: Path, by: str) -> None:
    path.write_text("basic_auth_users:\n  alice: swordfish\n")
    arguments: list[Any] = ["serve", "--recording", capture(RECORDING)]
    if by == "option":
        done = run(*arguments, "--web-config", path)
    else:
        done = run(*arguments, env={"INNODB_ADVISOR_WEB_CONFIG": str(path)})
    assert done.returncode == 2
    assert done.stderr == (
        f"Error: {path}:2:10: basic_auth_users.alice: must be a bcrypt hash, which begins with $2y$; "
        "htpasswd -nBC 10 USER makes one\n"
    )
