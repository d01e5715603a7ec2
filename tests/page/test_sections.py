"""Each section of the page beside what the API says, on a recording."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.advisor.listening import Listening
from tests.page.sections import section
from tests.page.visitor import Visitor, ready

MOST_BYTES = 300_000

LOADED = """() => performance.getEntriesByType("navigation").concat(performance.getEntriesByType("resource"))
    .map((entry) => [new URL(entry.name).pathname, entry.transferSize])"""


@pytest.fixture
def page(replaying: Listening, visitor: Visitor) -> Page:
    opened = visitor.open(replaying.url)
    ready(opened)
    return opened


def grouped(number: float) -> str:
    """A number of pages as the page writes it."""
    return f"{round(number):,}"


def test_the_pool_is_drawn_with_its_sizes_and_who_holds_it(replaying: Listening, page: Page) -> None:
    [pool] = replaying.get("/overview").json()["pools"]
    drawn = section(page, "Buffer pool")
    expect(drawn.get_by_role("img", name="The LRU list")).to_have_accessible_name(
        re.compile(rf"{grouped(pool['size_pages'])} pages \(256 MiB\).*young.*midpoint.*old.*free", re.DOTALL)
    )
    expect(drawn.locator(".pool-keys")).to_contain_text("shop.archive.PRIMARY")
    for title in ("How the pool was used", "How pages came"):
        chart = drawn.locator("figure", has_text=title)
        expect(chart.get_by_role("img")).to_have_accessible_name(re.compile("now .*least .*mean .*most"))
        chart.locator("summary").click()
        expect(chart.locator("tbody tr").first).to_be_visible()


def test_tables_show_their_reads_scans_and_sizes(replaying: Listening, page: Page) -> None:
    row = page.locator(".tables tbody tr", has=page.get_by_text("shop.orders", exact=True))
    expect(page.locator(".tables tbody tr").first).to_contain_text("shop.orders")
    [scanned] = [table for table in replaying.get("/overview").json()["tables"] if table["table"] == "orders"]
    expect(row).to_contain_text(grouped(scanned["pages"]))
    expect(row).to_contain_text("the old sublist")
    expect(row.locator(".tables-number").nth(1)).to_have_text(re.compile(r"^[1-9][\d,]{2,}"))  # scans an hour
    row.get_by_role("button", name="Statements").click()
    expect(page.locator(".tables-behind")).to_contain_text("a recording has no statements of its tables")


def test_the_window_is_the_viewers_choice(page: Page) -> None:
    short, long = page.get_by_role("button", name="5 min"), page.get_by_role("button", name="1 h")
    expect(long).to_have_attribute("aria-pressed", "true")
    with page.expect_request("**/series?*window=300*"):
        short.click()
    expect(short).to_have_attribute("aria-pressed", "true")


def test_the_page_is_light(page: Page) -> None:
    expect(page.locator(".tables tbody tr").first).to_be_visible()
    page.wait_for_load_state("load")
    loaded = dict(page.evaluate(LOADED))
    assert "/" in loaded
    assert all(size > 0 for path, size in loaded.items() if path.startswith("/page/")), loaded
    assert sum(loaded.values()) < MOST_BYTES
