"""A finding whose advice is followed: the page tells the change, and the finding's link says why it is gone.

It has a server of its own: the table then stays in the pool, and the finding away.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.page.conftest import Watched, watching
from tests.page.visitor import Visitor, accessible, narrow, ready


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Watched]:
    """A watched server for this test."""
    with watching(tmp_path) as watched:
        yield watched


@pytest.fixture
def followed(alone: Watched) -> dict[str, str]:
    """The finding, after its statement was run."""
    found = alone.found()
    [change] = found["changes"]
    with alone.server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(change["apply"][0])
    return found


def test_a_followed_finding_is_resolved_at_its_link(alone: Watched, followed: dict[str, str], visitor: Visitor) -> None:
    address = f"{alone.url}/#{followed['fingerprint']}"
    page = visitor.open(address)
    ready(page)
    shown = page.locator(f"[id='{followed['fingerprint']}']")
    expect(shown.locator(".resolved")).to_contain_text("Resolved at ")
    expect(shown).to_contain_text("Because: ")
    expect(shown).to_contain_text(followed["summary"].split(" (")[0])
    expect(page.locator(".chart-marks").first).to_contain_text("◆")
    expect(page.locator(".recently")).to_contain_text("innodb_old_blocks_pct 37 → ")
    narrow(page)
    accessible(page)

    again = visitor.open(address)
    expect(again.locator(f"[id='{followed['fingerprint']}']")).to_be_focused()
    expect(again.locator(".resolved")).to_be_visible()
