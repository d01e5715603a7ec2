"""A finding on the page, on recordings: what it says, what can be copied, and its link."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from advisor.contract.plan import Plan
from advisor.contract.recommendation import Recommendation
from tests.advisor.building import RECORDING, advised, captured
from tests.advisor.listening import Listening
from tests.page.visitor import Visitor, ready

SCAN = "scan-exceeds-old-sublist"
UNKNOWN = "0123456789abcdef"


@pytest.fixture(scope="module")
def finding() -> Recommendation:
    """The finding of RECORDING."""
    [finding] = [finding for finding in advised(captured(RECORDING)).recommendations if finding.rule == SCAN]
    return finding


def article(page: Page, finding: Recommendation) -> str:
    """The text of a finding, as it is seen."""
    return re.sub(r"\s+", " ", page.locator(f'[id="{finding.fingerprint}"]').inner_text())


def test_a_finding_says_what_to_run_what_it_does_and_how_to_undo_it(
    visitor: Visitor, replaying: Listening, finding: Recommendation
) -> None:
    [change] = finding.changes
    page = visitor.open(replaying.url)
    ready(page)
    expect(page.get_by_role("heading", name=finding.summary)).to_be_visible()
    expect(page.locator("#pool")).to_be_visible()
    text = article(page, finding)
    for step, statement in (("Try", change.apply), ("Keep", change.persist), ("Undo", change.rollback)):
        assert re.search(rf"{step} {re.escape(statement[0])};", text)
    assert f"Option file {change.config}" in text
    assert re.search(r"Pages read per pass [\d,]+ → 0 pages \(135 MiB → 0 B\)", text)
    assert re.search(r"saves [\d.]+ MiB/s of reads · expect 0 to \d+ pages", text)
    assert re.search(r"COST Pool pages left for everything else 9,701 → 7,124 pages .* −27 %", text)
    assert "OTHERS Pages read per second by everything else 6.06 pages/s" in text
    assert "InnoDB reads every page into the old sublist." in text
    for link in (f"rules/{SCAN}", f"advise/{finding.fingerprint}"):
        assert page.locator(f'.finding a[href="{link}"]').count() == 1


def test_evidence_has_sources_and_alternatives_have_statements(
    visitor: Visitor, replaying: Listening, finding: Recommendation
) -> None:
    page = visitor.open(replaying.url)
    ready(page)
    page.get_by_text("Evidence with sources").click()
    page.get_by_text("Alternatives (").click()
    text = article(page, finding)
    for item in finding.evidence:
        assert f"{item.name.replace('_', ' ')} " in text
        assert item.source in text
    for other in finding.alternatives:
        assert other.change.apply[0] in text


def test_what_a_reader_needs_elsewhere_can_be_copied(
    visitor: Visitor, replaying: Listening, finding: Recommendation
) -> None:
    page = visitor.open(replaying.url)
    ready(page)

    def copied(label: str) -> str:
        button = page.get_by_role("button", name=label)
        button.click()
        expect(button).to_have_text("Copied ✓")
        text: str = page.evaluate("navigator.clipboard.readText()")
        return text

    assert copied("Copy the statement to try it") == f"{finding.changes[0].apply[0]};"
    assert copied("Copy the link to this finding") == f"{replaying.url}/#{finding.fingerprint}"
    ticket = copied("Copy the finding for a ticket")
    markdown = replaying.get(f"/advise/{finding.fingerprint}", headers={"Accept": "text/markdown"}).text
    assert ticket == f"{markdown.rstrip()}\n\n{replaying.url}/#{finding.fingerprint}\n"
    page.get_by_text("Silence this finding").click()
    assert re.fullmatch(
        rf"suppress:\n  - \{{fingerprint: {finding.fingerprint}, reason: accepted on \d{{4}}-\d\d-\d\d\}}",
        copied("Copy the lines that silence it"),
    )


def test_the_change_can_be_copied_for_the_owner_of_the_setting_who_is_remembered(
    visitor: Visitor, replaying: Listening, finding: Recommendation
) -> None:
    page = visitor.open(replaying.url, harmless=f"/advise/{finding.fingerprint}/plan")
    ready(page)
    [change] = finding.changes
    owner = page.get_by_label("Owner of the setting", exact=True)
    copy = page.get_by_role("button", name="Copy the patch")
    expect(owner).to_have_value("cnf")
    copy.click()
    expect(copy).to_have_text("Copied ✓")
    answer = Plan.model_validate_json(replaying.get(f"/advise/{finding.fingerprint}/plan?for=cnf").content)
    [patch] = [step.patch for step in answer.steps if step.patch]
    copied: str = page.evaluate("navigator.clipboard.readText()")
    assert copied == f"# {answer.steps[0].do}\n# {patch.file}: {patch.form}\n{patch.text}"
    assert f"{change.setting} = {change.to}" in copied
    owner.select_option("mariadb-operator")
    copy.click()
    expect(page.locator(".plan-for").get_by_text("this server is mysql 9.7.4")).to_be_visible()
    page.reload()
    ready(page)
    expect(owner).to_have_value("mariadb-operator")
    owner.select_option("percona-ps")
    page.locator(".plan-for").get_by_role("link", name="plan").click()
    expect(page.get_by_role("heading", name="Plan for percona-ps")).to_be_visible()


def test_a_link_to_a_finding_goes_to_it_and_one_to_nothing_says_so(
    visitor: Visitor, replaying: Listening, finding: Recommendation
) -> None:
    page = visitor.open(f"{replaying.url}/#{finding.fingerprint}")
    ready(page)
    expect(page.locator(f'[id="{finding.fingerprint}"]')).to_be_focused()
    page = visitor.open(f"{replaying.url}/#{UNKNOWN}", harmless=f"/advise/{UNKNOWN}")
    ready(page)
    expect(page.get_by_role("heading", name="Nothing is known of this finding")).to_be_visible()


@pytest.mark.parametrize("path", ["whatif/settings", "whatif/sweep"])
def test_a_model_that_a_busy_machine_keeps_waiting_is_told_from_a_sidecar_that_is_gone(
    visitor: Visitor, replaying: Listening, path: str
) -> None:
    page = visitor.open(replaying.url)
    ready(page)
    page.evaluate(
        """(path) => {
        const fetched = window.fetch.bind(window);
        window.fetch = (url, options) =>
            url.startsWith(path)  // its time is over, and no other's
                ? Promise.reject(new DOMException("", "TimeoutError"))
                : fetched(url, options);
    }""",
        path,
    )
    whatif = page.locator(".finding .whatif").first
    whatif.locator("summary").first.click()
    expect(whatif.get_by_text("No answer in time: the sidecar, or its machine, is busy.")).to_be_visible()
