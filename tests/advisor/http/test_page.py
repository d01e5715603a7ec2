"""The page in a real browser: findings, states, links, copies, and that redraws leave the reader alone."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from advisor.contract.recommendation import Recommendation
from advisor.rules import check
from tests.advisor.building import RECORDING, RULES_FOLDER, advised, capture, captured
from tests.advisor.http.browser import DESKTOP, PATIENCE_MS, PHONE, launched, visit
from tests.advisor.sidecar import Sidecar

SCAN = "scan-exceeds-old-sublist"
NARROWEST = (360, 740)

Serve = Callable[..., Sidecar]

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as found:
        yield found


@pytest.fixture(scope="module")
def found() -> Recommendation:
    """The finding of RECORDING."""
    [each] = [each for each in advised(captured(RECORDING)).recommendations if each.rule == SCAN]
    return each


def article(page: Page, finding: Recommendation) -> str:
    """The text of a finding, as it is seen."""
    return re.sub(r"\s+", " ", page.locator(f'[id="{finding.fingerprint}"]').inner_text())


def test_a_finding_says_what_to_run_what_it_does_and_how_to_undo_it(
    browser: Browser, replaying: Sidecar, found: Recommendation
) -> None:
    [change] = found.changes
    with visit(browser, replaying.url) as page:
        expect(page.get_by_role("heading", name=found.summary)).to_be_visible()
        expect(page.locator("#pool")).to_be_visible()
        text = article(page, found)
        for step, statement in (("Try", change.apply), ("Keep", change.persist), ("Undo", change.rollback)):
            assert re.search(rf"{step} {re.escape(statement[0])};", text)
        assert f"Option file {change.config}" in text
        assert re.search(r"Pages read per pass [\d,]+ → 0 pages \(135 MiB → 0 B\)", text)
        assert re.search(r"saves [\d.]+ MiB/s of reads · expect 0 to \d+ pages", text)
        assert re.search(r"COST Pool pages left for everything else 9,701 → 7,124 pages .* −27 %", text)
        assert "OTHERS Pages read per second by everything else 6.06 pages/s" in text
        assert "InnoDB reads every page into the old sublist." in text
        for link in (f"/rules/{SCAN}", f"/advise/{found.fingerprint}"):
            assert page.locator(f'.finding a[href="{link}"]').count() == 1


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_one_screen_has_the_finding_its_statements_and_its_effect(
    browser: Browser, replaying: Sidecar, found: Recommendation, size: tuple[int, int]
) -> None:
    with visit(browser, replaying.url, size=size) as page:
        page.locator("#pool").wait_for()
        page.evaluate("scrollTo(0, 0)")
        for text in (
            *("A recording, not a live server", found.summary, "since "),
            *(f"{each[0]};" for each in (found.changes[0].apply, found.changes[0].persist, found.changes[0].rollback)),
            *("Pages read per pass", "Pool pages left for everything else"),
        ):
            expect(page.get_by_text(text).first).to_be_in_viewport(ratio=1)


def test_the_page_never_scrolls_sideways(browser: Browser, replaying: Sidecar, unlike: Sidecar) -> None:
    for sidecar in (replaying, unlike):
        with visit(browser, sidecar.url, size=NARROWEST) as page:
            page.locator("#pool").wait_for()
            page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
            page.wait_for_timeout(500)
            assert page.evaluate("document.documentElement.scrollWidth") == NARROWEST[0]


def test_evidence_has_sources_and_alternatives_have_statements(
    browser: Browser, replaying: Sidecar, found: Recommendation
) -> None:
    with visit(browser, replaying.url) as page:
        page.get_by_text("Evidence with sources").click()
        page.get_by_text("Alternatives (").click()
        text = article(page, found)
        for item in found.evidence:
            assert f"{item.name.replace('_', ' ')} " in text
            assert item.source in text
        for other in found.alternatives:
            assert other.change.apply[0] in text


def test_what_a_reader_needs_elsewhere_can_be_copied(
    browser: Browser, replaying: Sidecar, found: Recommendation
) -> None:
    with visit(browser, replaying.url) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])

        def copied(label: str) -> str:
            button = page.get_by_role("button", name=label)
            button.click()
            expect(button).to_have_text("Copied ✓")
            text: str = page.evaluate("navigator.clipboard.readText()")
            return text

        assert copied("Copy the statement to try it") == f"{found.changes[0].apply[0]};"
        assert copied("Copy the link to this finding") == f"{replaying.url}/#{found.fingerprint}"
        ticket = copied("Copy the finding for a ticket")
        markdown = replaying.get(f"/advise/{found.fingerprint}", headers={"Accept": "text/markdown"}).text
        assert ticket == f"{markdown.rstrip()}\n\n{replaying.url}/#{found.fingerprint}\n"
        page.get_by_text("Silence this finding").click()
        assert re.fullmatch(
            rf"suppress:\n  - \{{fingerprint: {found.fingerprint}, reason: accepted on \d{{4}}-\d\d-\d\d\}}",
            copied("Copy the lines that silence it"),
        )


def test_actions_set_aside_findings_and_failed_rules_are_shown(browser: Browser, unlike: Sidecar) -> None:
    with visit(browser, unlike.url) as page:
        expect(page.get_by_text("Add an index", exact=True)).to_be_visible()
        expect(page.get_by_text("CREATE INDEX a ON t (a);")).to_be_visible()
        expect(page.get_by_text("DROP INDEX a ON t;")).to_be_visible()
        expect(page.get_by_text("a division by zero")).to_be_visible()
        for title, content in (
            ("Overruled by another finding", SCAN),
            ("Suppressed by the configuration", "the rule unwanted is suppressed"),
        ):
            hidden = page.locator("details", has=page.get_by_text(title)).get_by_text(content).first
            expect(hidden).to_be_hidden()
            page.get_by_text(title).click()
            expect(hidden).to_be_visible()
        assert "only-on-the-moon" not in page.content()


def test_silence_is_told_from_blindness(browser: Browser, serve: Serve) -> None:
    unwanted = [argument for each in check.load(RULES_FOLDER) for argument in ("--suppress", each.id)]
    with visit(browser, serve("--recording", capture("mariadb-11.8/idle"), *unwanted).url) as page:
        expect(page.get_by_role("heading", name="Nothing to change, as far as can be seen")).to_be_visible()
        expect(page.get_by_text(re.compile(r"^\d+ rules checked over 5 s; \d+ blind"))).to_be_visible()
        expect(page.get_by_text("performance_schema is OFF").first).to_be_visible()
        expect(page.get_by_text("add performance_schema = ON").first).to_be_visible()


def test_a_server_that_cannot_be_reached_is_told_with_the_reason(browser: Browser, serve: Serve) -> None:
    with visit(browser, serve("--dsn", "mysql://root@127.0.0.1:1").url) as page:
        expect(page.get_by_role("heading", name="127.0.0.1:1 does not answer")).to_be_visible()
        expect(page.get_by_text("cannot connect to 127.0.0.1:1: Connection refused")).to_be_visible()
        expect(page.get_by_text("Nothing has been seen of it yet.")).to_be_visible()
        expect(page).to_have_title("▼ away · 127.0.0.1:1")


def test_a_sidecar_that_ends_is_told_and_the_last_advice_stays(
    browser: Browser, serve: Serve, found: Recommendation
) -> None:
    sidecar = serve("--recording", capture(RECORDING))
    with visit(browser, sidecar.url, complains=True) as page:
        expect(page.get_by_role("heading", name=found.summary)).to_be_visible()
        sidecar.kill()
        expect(page.get_by_role("heading", name="The sidecar does not answer")).to_be_visible()
        expect(page.locator(".stale .finding")).to_be_visible()
        expect(page).to_have_title(re.compile("^✕ "))


def test_a_link_to_a_finding_that_is_gone_says_why_it_is(browser: Browser, serve: Serve, found: Recommendation) -> None:
    sidecar = serve("--recording", capture("mysql-9.7/scan-followed-midway"))
    with visit(browser, sidecar.url, found.fingerprint) as page:
        gone = page.locator(f'[id="{found.fingerprint}"]')
        expect(gone).to_be_focused()
        expect(gone.get_by_text(re.compile(r"^✓ Resolved at "))).to_be_visible()
        expect(gone.get_by_text("Because: followed: predicted 0, measured 0 pages read per pass")).to_be_visible()


def test_a_link_to_a_finding_goes_to_it_and_one_to_nothing_says_so(
    browser: Browser, replaying: Sidecar, found: Recommendation
) -> None:
    with visit(browser, replaying.url, found.fingerprint) as page:
        expect(page.locator(f'[id="{found.fingerprint}"]')).to_be_focused()
    with visit(browser, replaying.url, "0" * 16, complains=True) as page:  # of the 404
        expect(page.get_by_role("heading", name="Nothing is known of this finding")).to_be_visible()


def test_a_redraw_leaves_what_is_open_and_focused_alone(
    browser: Browser, serve: Serve, found: Recommendation, tmp_path: Path
) -> None:
    configuration = tmp_path / "configuration.yaml"
    configuration.write_text("suppress: []\n")
    sidecar = serve("--recording", capture(RECORDING), "--config", configuration)
    with visit(browser, sidecar.url) as page:
        page.get_by_text("Evidence with sources").click()
        button = page.get_by_role("button", name="Copy the statement to undo it")
        button.focus()
        page.locator(f'[id="{found.fingerprint}"]').evaluate("(node) => { node.marked = true; }")
        configuration.write_text("suppress: nonsense\n")
        assert sidecar.post("/-/reload").status_code != 200
        expect(page.get_by_role("heading", name="The rules were not loaded anew")).to_be_visible()
        expect(page.get_by_text("configuration.yaml:1")).to_be_visible()
        configuration.write_text("suppress: []\n")
        assert sidecar.post("/-/reload").status_code == 200
        expect(page.get_by_role("heading", name="The rules were not loaded anew")).to_be_hidden()
        expect(button).to_be_focused()
        expect(page.get_by_role("table").get_by_text(found.evidence[0].source).first).to_be_visible()
        assert page.locator(f'[id="{found.fingerprint}"]').evaluate("(node) => node.marked")


def test_any_name_is_shown_as_text(browser: Browser, serve: Serve, tmp_path: Path) -> None:
    text = gzip.decompress(capture(RECORDING).read_bytes()).decode()
    named = text.replace('"orders"', '"<b>orders"').replace("/shop/orders.ibd", "/shop/@003cb@003eorders.ibd")
    recording = tmp_path / "recording.jsonl"
    recording.write_text(named)
    with visit(browser, serve("--recording", recording).url) as page:
        expect(page.get_by_role("heading", name="shop.<b>orders (")).to_be_visible()
        assert page.locator("h3 b").count() == 0
