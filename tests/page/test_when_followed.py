"""A finding whose advice is followed: the page tells the change, and the finding's link says why it is gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from lab.servers import PrivateServer
from lab.servers.sql import execute
from tests.advisor.listening import Listening
from tests.advisor.sidecar import write_rule
from tests.page.conftest import Serve
from tests.page.visitor import Visitor, accessible, narrow, ready
from tests.waiting import wait_for

SETTING = "innodb_old_blocks_pct"


@pytest.fixture
def watching(server: PrivateServer, serve: Serve, tmp_path: Path) -> Iterator[Listening]:
    """A sidecar with a rule that one statement satisfies; the server gets its setting back."""
    write_rule(tmp_path, id="too-low", when=[f"setting.{SETTING} < 80.0"])
    sidecar = serve("--dsn", server.dsn, "--interval", "1s", "--rules", tmp_path)
    wait_for(sidecar.judged)
    yield sidecar
    execute(server, f"SET GLOBAL {SETTING} = 37")


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
def test_a_followed_finding_is_resolved_at_its_link(
    server: PrivateServer, watching: Listening, visitor: Visitor
) -> None:
    def standing() -> list[dict[str, Any]]:
        advice = watching.get("/advise", params={"rule": "too-low"}).json()
        return list(advice["recommendations"])

    [finding] = wait_for(standing)
    address = f"{watching.url}/#{finding['fingerprint']}"
    page = visitor.open(address)
    ready(page)
    execute(server, finding["changes"][0]["apply"][0])
    shown = page.locator(f"[id='{finding['fingerprint']}']")
    expect(shown.locator(".resolved")).to_contain_text("Resolved at ")
    expect(shown).to_contain_text("Because: ")
    expect(shown).to_contain_text(finding["summary"])
    expect(page.locator(".chart-marks").first).to_contain_text("◆")
    expect(page.locator(".recently")).to_contain_text(f"{SETTING} 37 → 80")
    narrow(page)
    accessible(page)

    again = visitor.open(address)
    expect(again.locator(f"[id='{finding['fingerprint']}']")).to_be_focused()
    expect(again.locator(".resolved")).to_be_visible()
