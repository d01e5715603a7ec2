"""Links that people follow from the page or an alert lead to pages, not to JSON."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from advisor.ledger.ledger import Ledger
from tests.advisor.ledger.entries import FINGERPRINT, closed, remembered
from tests.advisor.ledger.recordings import carrying
from tests.advisor.listening import Listening
from tests.page.conftest import Serve
from tests.page.visitor import Visitor, accessible, narrow, ready

RULE = "scan-exceeds-old-sublist"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/rules", RULE),
        (f"/rules/{RULE}", "old sublist"),
        ("/snapshot", "innodb_old_blocks_pct"),
        ("/upgrade?to=26.10", "What would not start"),
    ],
)
def test_a_browser_gets_a_page(replaying: Listening, visitor: Visitor, path: str, message: str) -> None:
    page = visitor.open(replaying.url + path)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator("body")).to_contain_text(message)
    narrow(page)
    accessible(page)
    assert replaying.get(path).headers["content-type"] == "application/json"


def test_a_receipt_draws_its_bars(serve: Serve, visitor: Visitor, tmp_path: Path) -> None:
    sidecar = serve("--recording", carrying(tmp_path / "recording.jsonl", Ledger.of([remembered(), closed()])))
    page = visitor.open(f"{sidecar.url}/advise/{FINGERPRINT}/receipt")
    expect(page.get_by_role("heading", level=1)).to_contain_text("kept")
    bars = page.locator("svg.read-bar")
    expect(bars).to_have_count(6)
    widths = bars.evaluate_all(
        "bars => bars.map(bar => bar.querySelector('.read-bar-low').getBoundingClientRect().width)"
    )
    when_predicted, predicted, before, after, *_ = widths
    assert when_predicted == before > 50  # pixels
    assert predicted == 0 <= after < before / 100
    narrow(page)
    accessible(page)


def test_the_addresses_of_advice_open_the_page(replaying: Listening, visitor: Visitor, finding: dict[str, Any]) -> None:
    for path in ("/advise", f"/advise/{finding['fingerprint']}"):
        page = visitor.open(replaying.url + path)
        ready(page)
        expect(page.locator(f"[id='{finding['fingerprint']}']")).to_be_visible()


def test_the_version_in_the_header_leads_to_the_versions_to_choose_from(replaying: Listening, visitor: Visitor) -> None:
    page = visitor.open(replaying.url)
    ready(page)
    page.locator(".identity").get_by_role("link", name="mysql 9.7.4").click()
    expect(page).to_have_url(re.compile(r"/upgrade$"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Upgrade")
    narrow(page)
    accessible(page)


def test_a_finding_leads_to_its_rule_with_its_proof(replaying: Listening, visitor: Visitor) -> None:
    page = visitor.open(replaying.url)
    ready(page)
    page.locator(".finding .why").get_by_role("link").and_(page.locator(f'a[href="rules/{RULE}"]')).first.click()
    expect(page).to_have_url(re.compile(rf"/rules/{RULE}$"))
    expect(page.locator("body")).to_contain_text(re.compile("proof", re.IGNORECASE))


def test_the_docs_show_every_endpoint_and_load_nothing_from_elsewhere(replaying: Listening, visitor: Visitor) -> None:
    page = visitor.open(f"{replaying.url}/docs")
    schema = replaying.get("/openapi.json").json()
    for path, operations in schema["paths"].items():
        for operation in operations.values():
            expect(page.locator(f"[data-path='{path}']").first).to_be_visible()
            expect(page.get_by_text(operation["summary"]).first).to_be_visible()
