"""OWASP ASVS 5.0.0, run against `serve`, plain and with TLS and users, and against `fleet --listen`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest

from tests.advisor.building import RECORDING, capture
from tests.advisor.http import asvs
from tests.advisor.http.asvs import REQUIREMENTS
from tests.advisor.http.asvs_checks import Service
from tests.advisor.http.certificates import Authority
from tests.advisor.http.secured import Secured, hashed
from tests.advisor.sidecar import Sidecar

CHECKS = {each.check: each for each in REQUIREMENTS if each.check}
"""Each check once."""
PASSWORD = "correct horse battery staple"
SECURED = {
    "tls_server_config": {"cert_file": "server.pem", "key_file": "server.key"},
    "basic_auth_users": {"alice": hashed(PASSWORD)},
    "http_server_config": {"headers": {"Strict-Transport-Security": "max-age=31536000; includeSubDomains"}},
}
NOBODY = "http://127.0.0.1:1"


class FleetService(Sidecar):
    """``innodb-advisor fleet --listen``."""

    SERVES = "fleet"


@pytest.fixture(scope="module", params=["plain", "secured", "fleet"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp(request.param)
    process: Sidecar
    if request.param == "secured":
        authority = Authority(folder)
        authority.issue("server")
        process = Secured(folder, SECURED)
        made = Service("secured", process.url, authority.trusting(), ("alice", PASSWORD))
    elif request.param == "fleet":
        process = FleetService(folder, "--prometheus", NOBODY)
        made = Service("fleet", process.url)
    else:
        process = Sidecar(folder, "--recording", capture(RECORDING))
        made = Service("plain", process.url)
    yield made
    made.close()
    process.kill()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: f"{CHECKS[check].number} {check.__name__}")
def test_requirement(service: Service, check: Callable[[Service], None]) -> None:
    check(service)


def test_every_requirement_says_how_it_is_held_or_why_not() -> None:
    numbers = [each.number for each in REQUIREMENTS]
    in_order = sorted(numbers, key=lambda number: [int(part) for part in number.split(".")])
    assert numbers == in_order
    assert len(set(numbers)) == len(numbers)
    for each in REQUIREMENTS:
        assert re.fullmatch(r"\d+\.\d+\.\d+", each.number)
        assert each.level in {1, 2, 3}
        assert (each.check or each.tests) if each.verdict == "holds" else each.why, each.number
        assert all((asvs.ROOT / test).is_file() for test in each.tests), each.number


def test_the_page_has_every_requirement() -> None:
    assert asvs.PAGE.read_text(encoding="utf-8") == asvs.page(), "run: .venv/bin/python -m tests.advisor.http.asvs"
