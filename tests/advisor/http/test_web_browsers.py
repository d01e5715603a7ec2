"""What another site can make a visitor's browser ask: Host, Origin and Sec-Fetch-* as browsers send them.

tests/page/test_other_sites.py has the browser itself.
"""

from __future__ import annotations

import pytest
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

from advisor.http.browsers import Names
from tests.advisor.building import RECORDING, capture
from tests.advisor.in_process import InProcess
from tests.advisor.sidecar import problem

QUESTION = {"set": {"innodb_old_blocks_pct": 80}}
BROWSER = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64) Chrome/143.0", "Accept-Language": "en"}
PROMETHEUS = {"User-Agent": "Prometheus/3.8.0", "Accept-Encoding": "gzip", "X-Prometheus-Scrape-Timeout-Seconds": "10"}
LOCAL, OPEN = Names(local=True), Names(["Advisor.example.com"], "https://db1.example.com/x", local=False)
ADDRESSES = ["127.0.0.1", "127.0.0.1:9747", "[::1]:9747", "[::ffff:10.0.0.1]", "10.0.0.5:9747", "localhost:9747"]
ADDRESSES += ["LOCALHOST.", "a.localhost", ""]
FOREIGN = ["example.com", "evil.example:9747", "127.0.0.1.example.com", "[", "localhost.evil", "localhost@evil.example"]
FOREIGN += ["evil@localhost", "localhost/.evil.example", "localhost:9747:80", "a b"]
OF_NETWORKS = ["db1", "DB1:9747", "db1.local", "ip-10-0-0-1.eu-west-1.compute.internal:9747", "db1.home.arpa."]
GIVEN = ["advisor.example.com", "ADVISOR.example.com.:9747", "db1.example.com"]


def refused(names: Names, host: str, headers: dict[str, str]) -> bool:
    try:
        names.require(Headers({"host": host, **headers}))
    except HTTPException as error:
        return error.status_code == 421
    return False


@pytest.mark.parametrize("host", [*ADDRESSES, *FOREIGN, *OF_NETWORKS])
def test_on_the_loopback_address_nobody_uses_another_name(host: str) -> None:
    assert refused(LOCAL, host, {}) == refused(LOCAL, host, BROWSER) == (host not in ADDRESSES)


@pytest.mark.parametrize("host", [*ADDRESSES, *FOREIGN, *OF_NETWORKS, *GIVEN])
def test_on_a_network_no_browser_uses_a_name_that_others_can_register(host: str) -> None:
    assert refused(OPEN, host, BROWSER) == (host in FOREIGN)


@pytest.mark.parametrize(
    "host", ["mysql-0.shop.svc:9747", "mysql-0.mysql.shop:9747", "db1.example.org:9747", "[fe80::1]"]
)
@pytest.mark.parametrize("program", [PROMETHEUS, {"User-Agent": "kube-probe/1.36"}, {}])
def test_on_a_network_programs_name_the_service_as_they_like(host: str, program: dict[str, str]) -> None:
    assert not refused(OPEN, host, program)


@pytest.mark.parametrize(
    "sign",
    [
        {"Accept-Language": ""},
        {"Accept-Language": "*"},
        {"Origin": "http://evil.example"},
        {"Referer": "http://evil.example/"},
        {"Sec-Fetch-Site": "same-origin"},
    ],
    ids=lambda sign: next(iter(sign)),
)
def test_a_page_that_passes_itself_off_as_a_program_is_known_by_any_of_these(sign: dict[str, str]) -> None:
    assert refused(OPEN, "evil.example:9747", {**PROMETHEUS, **sign})


def test_names_that_were_allowed_are_those_of_a_service_on_the_loopback_address_too() -> None:
    names = Names(["advisor.example.com"], "https://db1.example.com/x", local=True)
    assert not any(refused(names, host, BROWSER) for host in GIVEN)
    assert refused(names, "db1", BROWSER)


def asked(method: str, headers: dict[str, str]) -> int:
    try:
        OPEN.refuse_other_sites(method, Headers({"host": "db1:9747", **headers}))
    except HTTPException as error:
        return error.status_code
    return 200


@pytest.mark.parametrize(
    ("headers", "reads", "changes"),
    [
        ({}, 200, 200),
        (BROWSER, 200, 403),  # a form of an old browser has no Origin
        ({"User-Agent": "node", "Accept-Language": "*", "Sec-Fetch-Mode": "cors"}, 200, 200),
        ({"User-Agent": "Mozilla/5.0 (Windows NT) WindowsPowerShell/5.1"}, 200, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200, 200),
        ({"Sec-Fetch-Site": "none"}, 200, 200),
        ({"Sec-Fetch-Site": "same-site"}, 403, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403, 403),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 200, 403),  # a link; a form
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "object"}, 403, 403),
        ({"Sec-Fetch-Site": "", "Origin": "http://db1:9747"}, 403, 403),
        ({"Origin": "http://db1:9747"}, 200, 200),
        ({"Origin": "HTTP://DB1:9747"}, 200, 200),
        ({"Origin": "http://db1"}, 403, 403),
        ({"Origin": "https://db1.example.com"}, 200, 200),  # of --external-url: a proxy that does not pass Host on
        ({"Origin": "http://db1.example.com"}, 403, 403),
        ({"Origin": "http://advisor.example.com"}, 403, 403),
        ({"Origin": "https://example.com"}, 403, 403),
        ({"Origin": "https://db1:9747.example.com"}, 403, 403),
        ({"Origin": "null"}, 403, 403),
        ({"Origin": ""}, 403, 403),
        ({"Origin": "https://example.com", "Sec-Fetch-Site": "same-origin"}, 200, 200),  # through a proxy
        ({"Origin": "http://db1:9747", "Sec-Fetch-Site": "cross-site"}, 403, 403),
    ],
)
def test_other_sites_get_nothing_but_links(headers: dict[str, str], reads: int, changes: int) -> None:
    assert {asked(method, headers) for method in ("GET", "HEAD")} == {reads}
    assert {asked(method, headers) for method in ("POST", "PUT", "DELETE", "BREW")} == {changes}


CROSS_SITE = [
    {"Origin": "https://example.com"},
    {"Origin": "null"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
    {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors", "Origin": "http://localhost:3000"},
]


@pytest.mark.parametrize("headers", CROSS_SITE)
def test_a_page_of_another_site_reloads_nothing_and_asks_nothing(replaying: InProcess, headers: dict[str, str]) -> None:
    loaded = replaying.get("/state").json()["rules"]
    for method, path in (
        ("POST", "/-/reload"),
        ("POST", "/whatif"),
        ("POST", "/whatif/sweep"),
        ("GET", "/curve"),
        ("GET", "/advise?window=60"),
        ("GET", "/series"),
        ("GET", "/metrics"),
        ("OPTIONS", "/whatif"),
    ):
        response = replaying.request(method, path, headers=headers)
        assert problem(response) == (403, "a page of another site sent this")
        assert not [name for name in response.headers if name.startswith("access-control")]
    assert replaying.get("/state").json()["rules"] == loaded


def test_a_link_from_another_site_opens_the_page(replaying: InProcess) -> None:
    link = {**BROWSER, "Accept": "text/html", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert replaying.get("/", headers=link).status_code == 200


def test_a_form_of_another_site_is_no_question(replaying: InProcess) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        response = replaying.post("/whatif", content=b'{"set": {"a": 1}}', headers={"Content-Type": kind})
        assert problem(response)[0] == 422


def test_a_name_that_is_not_its_own_is_told_what_to_do(replaying: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    response = replaying.get("/snapshot", headers={"Host": "evil.example"})
    status, message = problem(response)
    assert status == 421
    assert message.endswith("ask for it by an address, or allow the name (--allowed-host)")
    monkeypatch.setenv("INNODB_ADVISOR_ALLOWED_HOSTS", "a.example.com b.example.com")
    with InProcess("--recording", capture(RECORDING), local=False) as everywhere:
        for host, status in (("a.example.com", 200), ("b.example.com:9747", 200), ("c.example.com", 421)):
            assert everywhere.get("/metrics", headers={"Host": host, **BROWSER}).status_code == status
        assert everywhere.get("/metrics", headers={"Host": "mysql-0.shop.svc:9747", **PROMETHEUS}).status_code == 200
