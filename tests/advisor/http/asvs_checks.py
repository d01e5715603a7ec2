"""What the requirements of OWASP ASVS mean for a running service: each check asks it, and asserts."""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from advisor.http import pages
from tests.advisor.sidecar import problem

ROOT = Path(__file__).resolve().parents[3]
PAGE_FILES = sorted(ROOT.glob("advisor/http/page/*.js"))
HOSTILE = "%3Cscript%3Ealert(1)%3C/script%3E%22'%0d%0aX:%20y"
KINDS = {
    "application/json",
    "application/problem+json",
    "application/openmetrics-text",
    "text/plain",
    "text/html",
    "text/javascript",
    "text/css",
    "text/markdown",
    "image/svg+xml",
}
PAGES = {"Accept": "text/html"}
QUESTION = {"set": {"innodb_old_blocks_pct": 80}}


@dataclass(frozen=True)
class Service:
    """A running service.

    Attributes:
        name: plain, secured (TLS, users, Strict-Transport-Security) or fleet.
        url: Where it is.
        trust: What a client of it trusts; None for plain HTTP.
        login: Of a user; None where there are none.
    """

    name: str
    url: str
    trust: ssl.SSLContext | None = None
    login: tuple[str, str] | None = None

    @property
    def is_fleet(self) -> bool:
        return self.name == "fleet"

    @cached_property
    def client(self) -> httpx.Client:
        """A client that may ask."""
        return self._client(self.login)

    @cached_property
    def stranger(self) -> httpx.Client:
        """A client without a login."""
        return self._client(None)

    def _client(self, login: tuple[str, str] | None) -> httpx.Client:
        trust = True if self.trust is None else self.trust
        return httpx.Client(base_url=self.url, verify=trust, auth=login, timeout=60, trust_env=False)

    def close(self) -> None:
        """Close its connections."""
        self.client.close()
        self.stranger.close()

    @property
    def address(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        return str(parts.hostname), int(parts.port or 0)

    @cached_property
    def documents(self) -> list[httpx.Response]:
        """Pages for people."""
        paths = ("/fleet", "/advise", "/docs") if self.is_fleet else ("/", "/advise", "/rules", "/docs")
        return [self.client.get(path, headers=PAGES) for path in paths]

    @cached_property
    def data(self) -> list[httpx.Response]:
        """What it knows, for programs."""
        paths = ["/metrics", "/advise"] + (["/fleet"] if self.is_fleet else ["/snapshot", "/rules", "/state"])
        return [self.client.get(path) for path in paths]

    @cached_property
    def files(self) -> list[httpx.Response]:
        """What pages load."""
        return [self.client.get(f"/page/{name}") for name in pages.FILES if "swagger" not in name]

    @cached_property
    def errors(self) -> list[httpx.Response]:
        """One of each kind."""
        locked = [self.stranger.get("/")] if self.login else []
        return [
            *locked,
            self.client.get("/nope"),
            self.client.post("/metrics"),
            self.client.get("/advise", params={"window": "x", "severity": "x"}),
            self.client.post("/whatif", content=b"x" * 70_000),
            self.client.post("/nope", headers={"Origin": "https://evil.example"}),
        ]

    @property
    def answers(self) -> Iterator[httpx.Response]:
        """All of these, and the probes."""
        yield from (*self.documents, *self.data, *self.files, *self.errors)
        yield self.client.get("/healthz")
        yield self.client.head("/metrics")


def _every(service: Service, header: str, pattern: str) -> None:
    for each in service.answers:
        assert re.fullmatch(pattern, each.headers.get(header, "")), (str(each.url), header)


def shows_text_as_text(service: Service) -> None:
    for path in (f"/rules/{HOSTILE}", f"/advise/{HOSTILE}", f"/{HOSTILE}", f"/advise?server={HOSTILE}"):
        for accept in ("text/html", "application/json"):
            answer = service.client.get(path, headers={"Accept": accept})
            assert "x" not in answer.headers
            if "html" in answer.headers.get("content-type", ""):
                assert "<script>alert" not in answer.text


def answers_json(service: Service) -> None:
    for path in (f"/rules/{HOSTILE}", f"/{HOSTILE}", "/advise?window=%22%7D%5D"):
        assert isinstance(service.client.get(path).json(), dict)


def refuses_unknown_keys(service: Service) -> None:
    if service.is_fleet:  # takes no body
        return
    for body in ({**QUESTION, "admin": True}, {**QUESTION, "__proto__": {}}, [QUESTION], "x"):
        assert problem(service.client.post("/whatif", json=body))[0] == 422


def validates(service: Service) -> None:
    if service.is_fleet:
        assert problem(service.client.get("/advise", params={"severity": "worst"}))[0] == 422
        return
    for window in ("x", "-1", "0", "nan", "inf", "1e400", "5;DROP TABLE t"):
        assert problem(service.client.get("/advise", params={"window": window}))[0] == 422
    for wrong in (True, None, [80], {"a": 1}, "eighty"):
        assert problem(service.client.post("/whatif", json={"set": {"innodb_old_blocks_pct": wrong}}))[0] == 422


def says_what_each_answer_is(service: Service) -> None:
    for each in service.answers:
        kind, _, charset = each.headers["content-type"].partition(";")
        assert kind in KINDS, str(each.url)
        if kind.startswith("text/"):
            assert "charset=utf-8" in charset, str(each.url)
        assert each.headers["x-content-type-options"] == "nosniff"


def page_writes_text(_: Service) -> None:
    for each in PAGE_FILES:
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", each.read_text()
        )


def page_has_modules(_: Service) -> None:
    scripts = re.findall(r"<script[^>]*>", (ROOT / "advisor/http/page/index.html").read_text())
    assert scripts
    assert all('type="module"' in each or "vendor/" in each for each in scripts)


def page_stores_nothing(_: Service) -> None:
    for each in PAGE_FILES:
        assert not re.search(r"localStorage|sessionStorage|indexedDB|document\.cookie|caches\.", each.read_text())


def has_transport_security(service: Service) -> None:
    if service.trust:
        _every(service, "strict-transport-security", r"max-age=31536000; includeSubDomains")


def allows_no_origin(service: Service) -> None:
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    for answer in (*service.answers, service.client.options("/whatif", headers=asked)):
        assert not [name for name in answer.headers if name.startswith("access-control")]


def has_policy(service: Service) -> None:
    for each in service.answers:
        policy = {part.split()[0]: part.split()[1:] for part in each.headers["content-security-policy"].split(";")}
        assert policy["base-uri"] == ["'none'"]
        assert policy.get("object-src", policy["default-src"]) == ["'none'"]
        assert not {"'unsafe-inline'", "'unsafe-eval'", "*", "http:", "https:"} & {
            source for sources in policy.values() for source in sources
        }


def forbids_sniffing(service: Service) -> None:
    _every(service, "x-content-type-options", "nosniff")


def sends_no_referrer(service: Service) -> None:
    _every(service, "referrer-policy", "no-referrer")


def is_in_no_frame(service: Service) -> None:
    _every(service, "content-security-policy", r".*frame-ancestors 'none'.*")
    _every(service, "x-frame-options", "DENY")


def has_no_opener(service: Service) -> None:
    _every(service, "cross-origin-opener-policy", "same-origin")


def refuses_other_origins(service: Service) -> None:
    for method, path in (("POST", "/-/reload"), ("POST", "/whatif"), ("GET", "/advise"), ("GET", "/metrics")):
        for origin in ("https://evil.example", "null"):
            assert problem(service.client.request(method, path, headers={"Origin": origin}))[0] == 403
        elsewhere = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
        assert problem(service.client.request(method, path, headers=elsewhere))[0] == 403


def refuses_simple_requests(service: Service) -> None:
    if service.is_fleet:  # has nothing to ask or to reload
        assert {service.client.post(path).status_code for path in ("/whatif", "/-/reload", "/fleet")} <= {404, 405}
        return
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        answer = service.client.post("/whatif", content=b'{"set": {}}', headers={"Content-Type": kind})
        assert problem(answer)[0] == 422


def changes_nothing_by_reading(service: Service) -> None:
    for path in ("/-/reload", "/whatif", "/whatif/sweep"):
        assert service.client.get(path).status_code in {404, 405}
        assert service.client.head(path).status_code in {404, 405}


def has_no_jsonp(service: Service) -> None:
    for path in ("/advise", "/rules/nope", "/state"):
        assert not service.client.get(path, params={"callback": "f", "jsonp": "f"}).text.startswith("f(")


def has_static_scripts(service: Service) -> None:
    for each in service.files:
        assert each.content == pages.FILES[each.url.path.removeprefix("/page/")].read_bytes()


def is_not_embedded(service: Service) -> None:
    _every(service, "cross-origin-resource-policy", "same-origin")
    for kind in ("image", "script", "style", "video", "object"):
        elsewhere = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": kind}
        assert service.client.get("/page/icon.svg", headers=elsewhere).status_code == 403


def loads_its_own(service: Service) -> None:
    for each in service.documents:
        assert not re.search(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=[\"']?(?:https?:)?//", each.text)


def speaks_tls_alone(service: Service) -> None:
    if service.trust:
        with socket.create_connection(service.address, 30) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            with contextlib.suppress(ConnectionError):
                assert not connection.recv(65536).startswith(b"HTTP/")


def refuses_other_methods(service: Service) -> None:
    for method in ("TRACE", "PUT", "DELETE", "PATCH", "PROPFIND", "BREW", "OPTIONS"):
        assert service.client.request(method, "/metrics").status_code == 405


def gives_true_lengths(service: Service) -> None:
    for each in (*service.documents, *service.data, *service.errors):
        received = each.num_bytes_downloaded
        assert int(each.headers.get("content-length", received)) == received


def is_documented(_: Service) -> None:
    assert "Wrong passwords" in (ROOT / "docs/security.md").read_text()


def has_no_default_users(service: Service) -> None:
    if service.login:
        for user in ("admin", "root", "prometheus", "innodb-advisor", ""):
            assert service.stranger.get("/metrics", auth=(user, user)).status_code in {401, 429}


def tells_no_users(service: Service) -> None:
    if service.login:
        time.sleep(2)  # guesses of other checks
        known, unknown = (
            service.stranger.get("/metrics", auth=(user, "wrong")) for user in (service.login[0], "nobody")
        )
        assert known.status_code == unknown.status_code
        assert known.content == unknown.content


def asks_everywhere(service: Service) -> None:
    if service.login:
        for path in (
            "/",
            "/metrics",
            "/healthz",
            "/readyz",
            "/docs",
            "/openapi.json",
            "/page/app.js",
            "/nope",
            "/live",
        ):
            assert service.stranger.get(path).status_code == 401
        assert service.stranger.post("/-/reload").status_code == 401


def _handshake(service: Service, *, most: ssl.TLSVersion, suites: str = "") -> tuple[str, str] | None:
    """Version and suite that are agreed on; None where there is none. The client takes what is long obsolete."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers(suites or "ALL:@SECLEVEL=0")
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # of the versions themselves
        context.minimum_version, context.maximum_version = ssl.TLSVersion.MINIMUM_SUPPORTED, most
    try:
        with socket.create_connection(service.address, 30) as plain, context.wrap_socket(plain) as secured:
            return str(secured.version()), str((secured.cipher() or ("",))[0])
    except (ssl.SSLError, ConnectionError):
        return None


def has_new_tls(service: Service) -> None:
    if service.trust:
        for old in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
            assert _handshake(service, most=old) is None
        agreed = _handshake(service, most=ssl.TLSVersion.MAXIMUM_SUPPORTED)
        assert agreed is not None
        assert agreed[0] == "TLSv1.3"


def has_good_suites(service: Service) -> None:
    if service.trust:
        agreed = _handshake(service, most=ssl.TLSVersion.TLSv1_2)
        assert agreed is not None
        assert re.fullmatch(r"ECDHE-(?:ECDSA|RSA)-(?:AES\d+-GCM-SHA\d+|CHACHA20-POLY1305)", agreed[1])
        weak = "ALL:!AESGCM:!CHACHA20:@SECLEVEL=0"
        assert _handshake(service, most=ssl.TLSVersion.TLSv1_2, suites=weak) is None
        without_secrecy = "kRSA:kDHE:@SECLEVEL=0"
        assert _handshake(service, most=ssl.TLSVersion.TLSv1_2, suites=without_secrecy) is None


def serves_what_is_meant(service: Service) -> None:
    for path in ("/.git/config", "/.env", "/pyproject.toml", "/page/index.html", "/page/vendor/README.md"):
        assert problem(service.client.get(path))[0] == 404
    for path in ("/metrics/x.css", "/state/x.js", "/snapshot/x.png", "/fleet/x.css", "/rules/x.css", "/healthz/"):
        assert problem(service.client.get(path))[0] == 404
    assert {path.suffix for path in pages.FILES.values()} == {".js", ".css", ".svg"}


def names_no_component(service: Service) -> None:
    for each in service.answers:
        assert not {"server", "x-powered-by", "via"} & set(each.headers)
    for each in service.errors:
        assert not re.search(r"uvicorn|h11|starlette|fastapi|pydantic|python", each.text, re.IGNORECASE)


def takes_no_secret_in_an_address(service: Service) -> None:
    if service.login:
        user, password = service.login
        for path in (f"/metrics?user={user}&password={password}", f"/metrics?access_token={password}"):
            assert service.stranger.get(path).status_code == 401


def is_not_cached(service: Service) -> None:
    for each in (*service.data, *service.errors):
        assert each.headers["cache-control"] == "no-store", str(each.url)
    for each in (*service.documents, *service.files):
        assert each.headers["cache-control"] in {"no-store", "no-cache"}, str(each.url)
