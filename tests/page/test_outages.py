"""What the page says while the server or the sidecar is gone, and that it comes back by itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import expect

from lab.processes.ports import HOST, free_port
from lab.servers import PrivateServer
from tests.advisor.building import RECORDING, capture
from tests.advisor.sidecar import Sidecar, write_rule
from tests.page.conftest import Serve
from tests.page.visitor import Visitor, accessible, narrow, ready
from tests.waiting import wait_for

GREY = "grayscale(1)"
LOST = "net::ERR_"
"""What Chromium says of any request that the end of the sidecar cuts, whichever byte it was at."""


def test_a_killed_server_is_away_since_and_comes_back(
    start_server: Callable[..., PrivateServer], serve: Serve, visitor: Visitor, tmp_path: Path
) -> None:
    server = start_server("mysql-9.7")
    write_rule(tmp_path, id="always")
    sidecar = serve("--dsn", server.dsn, "--interval", "1s", "--rules", tmp_path)
    wait_for(sidecar.judged)
    page = visitor.open(sidecar.url, harmless="/curve|/whatif")
    ready(page)
    finding = page.locator(".finding", has_text="a summary")
    expect(finding).to_have_count(1)
    expect(finding).to_have_css("filter", "none")

    server.kill()
    banner = page.locator(".banner-problem")
    expect(banner).to_contain_text(f"127.0.0.1:{server.port} does not answer")
    expect(banner).to_contain_text("Connection refused")
    expect(banner).to_contain_text("The advice below is the last")
    expect(page.locator(".connection")).to_contain_text("server away since")
    expect(page).to_have_title(f"▼ away · 127.0.0.1:{server.port}")
    expect(finding).to_have_count(1)
    expect(finding).to_have_css("filter", GREY)
    narrow(page)
    accessible(page)

    server.restart()
    expect(banner).to_have_count(0)
    expect(page.locator(".connection")).to_contain_text("live")
    expect(finding).to_have_count(1)
    expect(finding).to_have_css("filter", "none")


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Callable[[str], Sidecar]]:
    """Start a sidecar as a process that can be killed, at an address."""
    with ExitStack() as stack:

        def start(address: str) -> Sidecar:
            sidecar = Sidecar(tmp_path, "--recording", capture(RECORDING), "--listen", address)
            stack.callback(sidecar.kill)
            wait_for(sidecar.judged)
            return sidecar

        yield start


def test_a_killed_sidecar_is_unreachable_and_the_page_resumes(
    process: Callable[[str], Sidecar], visitor: Visitor
) -> None:
    address = f"{HOST}:{free_port()}"
    sidecar = process(address)
    page = visitor.open(sidecar.url, harmless=LOST)
    ready(page)
    finding = page.locator(".finding")
    expect(finding).to_have_count(1)

    sidecar.kill()
    banner = page.locator(".banner-problem")
    expect(banner).to_contain_text("The sidecar does not answer")
    expect(banner.locator("time")).to_be_visible()
    expect(page.locator(".connection")).to_contain_text("sidecar unreachable since")
    expect(page).to_have_title(re.compile("^✕ "))
    expect(finding).to_have_css("filter", GREY)
    narrow(page)
    accessible(page)

    process(address)
    expect(banner).to_have_count(0)
    expect(page.locator(".connection")).not_to_contain_text("unreachable")
    expect(finding).to_have_count(1)
    expect(finding).to_have_css("filter", "none")
    visitor.leave()  # before the sidecar ends
