"""A finding whose advice is followed: the page tells the change, and the finding's link says why it is gone.

The last of this folder by its name: the table then stays in the pool, and the finding away.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.page.conftest import Watched
from tests.page.visitor import Visitor, accessible, narrow, ready


@pytest.fixture
def followed(live: Watched) -> Iterator[dict[str, str]]:
    """The finding, after its statement was run; undone at the end."""
    found = live.found()
    [change] = found["changes"]
    with live.server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(change["apply"][0])
        yield found
        cursor.execute(change["rollback"][0])


def test_a_followed_finding_is_resolved_at_its_link(live: Watched, followed: dict[str, str], visitor: Visitor) -> None:
    address = f"{live.url}/#{followed['fingerprint']}"
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
