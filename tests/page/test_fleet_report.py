"""The report on a fleet is one file that a browser shows from a disk: on a phone, in the dark, by the keyboard."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from advisor.contract.fleet import FleetReport
from advisor.render import fleet, html
from tests.advisor.fleet import hostile, reports
from tests.hostile_names import NAMES
from tests.page.visitor import NARROWEST, Visitor, accessible, drawn, narrow, unfold

SCROLLING = """() => [...document.querySelectorAll("body *")]
    .filter((node) => node.checkVisibility() && node.scrollWidth > node.clientWidth + 1 && node.clientWidth > 0)
    .filter((node) => ["auto", "scroll"].includes(getComputedStyle(node).overflowX)).map((node) => node.outerHTML)"""

Shown = Callable[[FleetReport], Page]


@pytest.fixture
def show(visitor: Visitor, tmp_path: Path) -> Shown:
    def show_it(report: FleetReport) -> Page:
        path = tmp_path / "fleet.html"
        path.write_text(html.file(fleet.report(report, fleet.PAGE)), encoding="utf-8")
        return visitor.open(path.as_uri())

    return show_it


def test_a_report_is_accessible_and_fits_a_phone(show: Shown) -> None:
    page = show(reports.with_gaps())
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert page.evaluate("getComputedStyle(document.querySelector('.finding')).borderLeftStyle") == "solid"
    narrow(page)
    unfold(page)
    accessible(page)
    page.set_viewport_size({"width": NARROWEST, "height": 740})
    drawn(page)
    assert page.evaluate(SCROLLING) == []
    accessible(page)


def test_an_old_report_is_readable_too(visitor: Visitor, tmp_path: Path) -> None:
    path = tmp_path / "fleet.html"
    problem = "no new report since 2026-11-23 08:00:00 UTC: cannot connect: Connection refused"
    document = fleet.report(reports.of(*reports.FEW), fleet.PAGE, stale=problem, advise="advise")
    path.write_text(html.file(document, old=True), encoding="utf-8")
    page = visitor.open(path.as_uri())
    expect(page.get_by_text(problem)).to_be_visible()
    narrow(page)
    accessible(page)


def test_names_are_text_and_run_nothing(show: Shown) -> None:
    page = show(hostile.report())
    assert page.title() == "The fleet · innodb-advisor"
    unfold(page)
    expect(page.locator("body")).to_contain_text(NAMES[0])
    assert page.locator("script, img, iframe, form").count() == 0
    assert {address.split(":")[0] for address in page.locator("a").evaluate_all("all => all.map(a => a.href)")} <= {
        "file",
        "https",
    }
    narrow(page)


def test_the_keyboard_reaches_links_and_evidence(show: Shown) -> None:
    page = show(reports.of(*reports.FEW))
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="The one change that saves most")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#the-one-change-that-saves-most")).to_be_in_viewport()
    evidence = page.locator("article summary").first
    page.keyboard.press("Tab")
    expect(evidence).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("article details table").first).to_be_visible()
