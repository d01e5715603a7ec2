"""Each state of the page on recordings, and on no server: what it says, at any width, light and dark."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from advisor.rules import check
from tests.advisor.building import RECORDING, RULES_FOLDER, capture
from tests.advisor.sidecar import write_rule, write_unlike
from tests.page.conftest import Serve
from tests.page.recordings import altered, instances, renamed, tables
from tests.page.sections import section
from tests.page.visitor import Visitor, accessible, narrow, ready
from tests.waiting import wait_for

MANY = 9
UNSEEN = "/advise|/overview|/curve|/whatif"
"""What the sidecar refuses before it has seen the server."""


@pytest.fixture
def shown(serve: Serve, visitor: Visitor) -> Callable[..., Page]:
    """Open the page of a sidecar with these arguments, once its rules are judged."""

    def show(*arguments: object) -> Page:
        sidecar = serve(*arguments)
        wait_for(sidecar.judged)
        page = visitor.open(sidecar.url)
        ready(page)
        return page

    return show


Shown = Callable[..., Page]


def test_a_recording_is_named_with_its_span(shown: Shown) -> None:
    dashboard = "https://grafana.example/d/innodb-advisor-lru?var-instance=db1:3306&from=now-6h"
    page = shown("--recording", capture(RECORDING), "--dashboard-url", dashboard)
    expect(page.get_by_role("link", name="dashboard")).to_have_attribute("href", dashboard)
    banner = page.locator(".banner")
    expect(banner).to_contain_text("This is a recording, not a live server")
    expect(banner).to_contain_text("recording.jsonl.gz")
    expect(banner.locator("time")).to_have_count(2)
    expect(page.locator(".finding")).to_have_count(1)
    narrow(page)
    accessible(page)


def test_many_findings_come_worst_first(shown: Shown, tmp_path: Path) -> None:
    severities = ("info", "warning", "critical")
    for number in range(MANY):
        action = [{"do": f"Do this {number}", "apply": [f"ALTER TABLE t{number} FORCE"], "rollback": []}]
        which = severities[number % len(severities)]
        write_rule(tmp_path, id=f"rule-{number}", severity=which, change=[], action=action, effect=None)
    page = shown("--recording", capture(RECORDING), "--rules", tmp_path)
    expect(page.locator(".finding")).to_have_count(MANY + 1)
    expect(page.locator(".status")).to_contain_text(f"{MANY // 3} critical")
    words = [text.strip().split()[-1] for text in page.locator(".finding-head .severity").all_text_contents()]
    assert words == sorted(words, key=("Critical", "Warning", "Info").index)
    narrow(page)
    accessible(page)


def test_mariadb_shows_its_pool_and_tables_and_what_it_lacks(shown: Shown) -> None:
    page = shown("--recording", capture("mariadb-11.8/repeated-scan"))
    expect(page.locator(".top")).to_contain_text("MariaDB 11.8")
    expect(page.get_by_role("img", name="The LRU list")).to_be_visible()
    expect(page.locator(".tables tbody tr", has_text="shop.orders")).to_contain_text(re.compile(r"[1-9][\d,]{2,}"))
    expect(section(page, "Change buffer")).to_contain_text("no change buffer")
    expect(section(page, "Parallel readers")).to_contain_text("not known")
    narrow(page)
    accessible(page)


def test_of_hundreds_of_tables_the_fifty_that_read_most_are_shown(shown: Shown, recording: Path) -> None:
    page = shown("--recording", altered(recording, RECORDING, tables(400)))
    rows = page.locator(".tables tbody tr")
    expect(rows).to_have_count(50)
    expect(rows.first).to_contain_text("shop.orders")
    expect(page.locator(".tables")).to_contain_text("more, which read less")
    names = page.locator(".tables .pic-name")
    page.get_by_role("button", name="Table", exact=True).click()
    ordered = names.all_text_contents()
    assert ordered == sorted(ordered)
    narrow(page)
    accessible(page)


def test_eight_instances_lie_side_by_side(shown: Shown, recording: Path) -> None:
    page = shown("--recording", altered(recording, RECORDING, instances(8)))
    expect(page.get_by_role("heading", name="8 instances")).to_be_visible()
    strips = page.get_by_role("img", name="Instance")
    expect(strips).to_have_count(8)
    tops = {round(box["y"]) for strip in strips.all() if (box := strip.bounding_box())}
    assert 1 < len(tops) < 8
    narrow(page)
    accessible(page)


def test_a_finding_shows_any_name_as_text(shown: Shown, recording: Path) -> None:
    name = "<img src=x onerror=alert(1)>'日☃"
    page = shown("--recording", altered(recording, RECORDING, renamed("orders", name)))
    expect(page.locator(".finding h3")).to_contain_text(f"shop.{name} (")
    expect(page.locator("img")).to_have_count(0)
    expect(page.locator(".tables tbody tr").first).to_contain_text(name)


def test_silence_is_told_from_blindness(shown: Shown) -> None:
    unwanted = [argument for rule in check.load(RULES_FOLDER) for argument in ("--suppress", rule.id)]
    page = shown("--recording", capture("mariadb-11.8/idle"), *unwanted)
    expect(page.get_by_role("heading", name="Nothing to change, as far as can be seen")).to_be_visible()
    expect(page.get_by_text(re.compile(r"^\d+ rules checked over 5 s; \d+ blind"))).to_be_visible()
    expect(page.get_by_text("performance_schema is OFF").first).to_be_visible()
    expect(page.get_by_text("add performance_schema = ON").first).to_be_visible()
    narrow(page)
    accessible(page)


def test_actions_set_aside_findings_and_failed_rules_are_shown(shown: Shown, tmp_path: Path) -> None:
    rules = write_unlike(tmp_path / "rules")
    page = shown("--recording", capture(RECORDING), "--rules", rules, "--suppress", "unwanted")
    expect(page.get_by_text("Add an index", exact=True)).to_be_visible()
    expect(page.get_by_text("CREATE INDEX a ON t (a);")).to_be_visible()
    expect(page.get_by_text("DROP INDEX a ON t;")).to_be_visible()
    expect(page.get_by_text("a division by zero")).to_be_visible()
    for title, content in (
        ("Overruled by another finding", "scan-exceeds-old-sublist"),
        ("Suppressed by the configuration", "the rule unwanted is suppressed"),
    ):
        hidden = page.locator("details", has=page.get_by_text(title)).get_by_text(content).first
        expect(hidden).to_be_hidden()
        page.get_by_text(title).click()
        expect(hidden).to_be_visible()
    assert "only-on-the-moon" not in page.content()
    narrow(page)
    accessible(page)


def test_a_server_that_cannot_be_reached_is_told_with_the_reason(visitor: Visitor, serve: Serve) -> None:
    page = visitor.open(serve("--dsn", "mysql://root@127.0.0.1:1").url, harmless=UNSEEN)
    ready(page)
    expect(page.get_by_role("heading", name="127.0.0.1:1 does not answer")).to_be_visible()
    expect(page.get_by_text("cannot connect to 127.0.0.1:1: Connection refused")).to_be_visible()
    expect(page.get_by_text("Nothing has been seen of it yet.")).to_be_visible()
    expect(page).to_have_title("▼ away · 127.0.0.1:1")
    narrow(page)
    accessible(page)


def test_a_redraw_leaves_what_is_open_and_focused_alone(visitor: Visitor, serve: Serve, tmp_path: Path) -> None:
    configuration = tmp_path / "configuration.yaml"
    configuration.write_text("suppress: []\n")
    sidecar = serve("--recording", capture(RECORDING), "--config", configuration)
    page = visitor.open(sidecar.url)
    ready(page)
    page.get_by_text("Evidence with sources").click()
    button = page.get_by_role("button", name="Copy the statement to undo it")
    button.focus()
    page.locator(".finding").evaluate("(node) => { node.marked = true; }")
    configuration.write_text("suppress: nonsense\n")
    assert sidecar.post("/-/reload").status_code == 400
    refused = page.get_by_role("heading", name="The rules were not loaded anew")
    expect(refused).to_be_visible()
    expect(page.get_by_text("configuration.yaml:1")).to_be_visible()
    configuration.write_text("suppress: []\n")
    assert sidecar.post("/-/reload").status_code == 200
    expect(refused).to_be_hidden()
    expect(button).to_be_focused()
    expect(page.locator(".evidence tbody tr").first).to_be_visible()
    assert page.locator(".finding").evaluate("(node) => node.marked")
