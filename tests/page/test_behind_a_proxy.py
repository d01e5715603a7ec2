"""The page behind a proxy that puts a path before it, as in --external-url https://advisor.example.com/db1."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.advisor.listening import Listening
from tests.page.visitor import ready

BEFORE = "/db1"
RULE = "scan-exceeds-old-sublist"


class Proxy:
    """Takes the path away again, as a proxy would; what asks for something without it gets no answer."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.astray: list[str] = []

    def __call__(self, route: Route) -> None:
        parts = urlsplit(route.request.url)
        if not parts.path.startswith(f"{BEFORE}/"):
            self.astray.append(parts.path)
            route.abort()
            return
        self.asked.append(parts.path.removeprefix(BEFORE))
        route.continue_(url=parts._replace(path=self.asked[-1]).geturl())


@pytest.fixture
def proxy() -> Proxy:
    return Proxy()


@pytest.fixture
def page(browser: Browser, proxy: Proxy) -> Iterator[Page]:
    context = browser.new_context()
    context.route("**/*", proxy)
    yield context.new_page()
    context.close()


def test_the_page_and_all_it_asks_for_and_links_to_stay_below_the_path(
    page: Page, proxy: Proxy, replaying: Listening
) -> None:
    with page.expect_response(re.compile("/history")):  # the last of the first round
        page.goto(f"{replaying.url}{BEFORE}/")
    ready(page)
    expect(page.locator(".finding")).to_have_count(1)
    expect(page.locator("#pool")).to_be_visible()
    assert {"/state", "/series", "/history", "/page/app.js", "/page/page.css"} <= set(proxy.asked)
    page.locator(".finding .why").first.get_by_role("link").click()
    expect(page).to_have_url(re.compile(rf"{BEFORE}/rules/{RULE}$"))
    page.get_by_role("link", name="rules", exact=True).click()
    expect(page).to_have_url(re.compile(rf"{BEFORE}/rules$"))
    page.get_by_role("link", name=RULE).click()
    expect(page).to_have_url(re.compile(rf"{BEFORE}/rules/{RULE}$"))
    page.get_by_role("link", name="innodb-advisor").first.click()
    ready(page)
    page.goto(f"{replaying.url}{BEFORE}/docs")
    expect(page.locator("[data-path='/advise']").first).to_be_visible()
    assert proxy.astray == []
