"""Pages of other sites in a real browser: they read nothing, ask nothing and reload nothing, by whatever name."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

from tests.advisor.building import RECORDING, capture
from tests.advisor.listening import Listening
from tests.advisor.sidecar import Sidecar
from tests.page import other_site
from tests.page.visitor import ready
from tests.waiting import wait_for

Folders = pytest.TempPathFactory


@pytest.fixture(scope="module")
def everywhere(tmp_path_factory: Folders) -> Iterator[Sidecar]:
    """A sidecar that other machines can reach."""
    sidecar = Sidecar(tmp_path_factory.mktemp("sidecar"), "--recording", capture(RECORDING), "--listen", ":0")
    wait_for(sidecar.judged)
    yield sidecar
    sidecar.kill()


def named(sidecar: Sidecar | Listening, name: str) -> str:
    """Its address by a name."""
    return f"http://{name}:{urlsplit(sidecar.url).port}"


def loaded(sidecar: Sidecar | Listening) -> object:
    return sidecar.get("/state").json()["rules"]


def test_another_site_asks_a_sidecar_of_this_machine_in_vain(browser: Browser, replaying: Listening) -> None:
    before = loaded(replaying)
    outcome = other_site.attack(browser, "http://evil.example", replaying.url)
    assert outcome.read == ()
    assert len(outcome.statuses) > 10
    assert set(outcome.answered) <= {"GET /"}, outcome.statuses  # the frame, which is not shown
    assert loaded(replaying) == before


@pytest.mark.parametrize("listens", ["replaying", "everywhere"])
def test_a_name_that_leads_here_by_now_gets_nothing(
    browser: Browser, listens: str, request: pytest.FixtureRequest
) -> None:
    sidecar = request.getfixturevalue(listens)
    before = loaded(sidecar)
    rebound = named(sidecar, "evil.example")
    outcome = other_site.attack(browser, rebound, rebound)
    assert len(outcome.statuses) > 10
    assert {status for *_, status in outcome.statuses} == {421}
    assert loaded(sidecar) == before


def test_over_plain_http_on_a_network_nothing_is_read_and_nothing_changes(
    browser: Browser, everywhere: Sidecar
) -> None:
    # Chromium says nothing of the site in a GET to such a name: it is answered, and the page does not get it.
    before = loaded(everywhere)
    outcome = other_site.attack(browser, "http://evil.example", named(everywhere, "db1.internal"))
    assert outcome.read == ()
    assert not [request for request in outcome.answered if not request.startswith("GET ")]
    assert loaded(everywhere) == before


def test_the_page_works_by_the_names_of_a_network(browser: Browser, everywhere: Sidecar) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(named(everywhere, "db1.internal"))
    ready(page)
    expect(page.locator(".finding")).to_have_count(1)
    for body, path in (('{"set": {"innodb_old_blocks_pct": 80}}', "whatif"), ("", "-/reload")):
        ask = """([path, body]) => fetch(path, {method: "POST", body, headers: {"Content-Type": "application/json"}})
            .then((answer) => answer.status)"""
        assert page.evaluate(ask, [path, body]) == 200
    context.close()


def test_a_window_that_another_site_opened_is_out_of_its_reach(browser: Browser, replaying: Listening) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.route("http://evil.example/", lambda route: route.fulfill(content_type="text/html", body="<body>"))
    page.goto("http://evil.example/")
    with context.expect_page() as opened:
        page.evaluate("(target) => { window.theirs = window.open(target); }", f"{replaying.url}/")
    ready(opened.value)
    assert opened.value.evaluate("() => window.opener") is None
    assert page.evaluate("() => window.theirs.closed")
    context.close()
