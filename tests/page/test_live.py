"""What moves on the page of a server that is watched, and what stays as it is left."""

from __future__ import annotations

import re
import time
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from lab.processes.ports import HOST
from lab.servers import PrivateServer
from tests.advisor.listening import Listening
from tests.advisor.sidecar import write_rule
from tests.page.conftest import Serve
from tests.page.visitor import Visitor, accessible, narrow, ready
from tests.waiting import wait_for

on_mysql = pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)

SEEN = """() => {
    globalThis.heard = [];
    const status = document.querySelector("[role=status]");
    const watch = new MutationObserver(() => { globalThis.heard.push(status.textContent); });
    watch.observe(status, { subtree: true, childList: true, characterData: true });
    globalThis.seen = [...document.querySelectorAll(".finding, .finding-details, .tables tbody tr")];
}"""
KEPT = "() => globalThis.seen.every((element) => element.isConnected)"
AT = "async () => (await import('/page/store.js')).store.state.at"


def is_newer(page: Page, before: float) -> bool:
    """Whether the page has a snapshot from after this time."""
    return float(page.evaluate(AT)) > before


@on_mysql
def test_the_header_says_who_is_watched_and_how_fresh_it_is(
    server: PrivateServer, live: Listening, visitor: Visitor
) -> None:
    page = visitor.open(live.url)
    ready(page)
    top = page.locator(".top")
    expect(top.get_by_role("heading", level=1)).to_have_text(f"{HOST}:{server.port}")
    expect(top).to_contain_text("MySQL 9.7")
    expect(top).to_contain_text("up ")
    expect(page.locator(".connection")).to_have_text(re.compile(r"live, [0-9.]+ s ago"))
    expect(page.locator(".status")).to_contain_text(f"{live.get('/state').json()['judged']['rules']} rules")
    expect(page).to_have_title(re.compile(rf"{HOST}:{server.port}$"))
    narrow(page)
    accessible(page)


@on_mysql
def test_updates_leave_focus_details_and_elements_alone(
    server: PrivateServer, serve: Serve, visitor: Visitor, tmp_path: Path
) -> None:
    write_rule(tmp_path, id="always")
    sidecar = serve("--dsn", server.dsn, "--interval", "1s", "--rules", tmp_path)
    wait_for(sidecar.judged)
    page = visitor.open(sidecar.url)
    ready(page)
    finding = page.locator(".finding", has_text="a summary")
    evidence = finding.locator("details", has_text="Evidence with sources")
    evidence.locator("summary").click()
    button = finding.get_by_role("button", name="ticket")
    button.focus()
    page.evaluate(SEEN)
    status = page.locator("[role=status]").text_content()
    for _ in range(3):
        wait_for(partial(is_newer, page, page.evaluate(AT)))
    expect(button).to_be_focused()
    expect(evidence).to_have_attribute("open", "")
    assert page.evaluate(KEPT)
    # The status line, which a screen reader reads out, is written anew only where it says something else.
    heard = page.evaluate("() => globalThis.heard")
    assert all(after != before for before, after in zip([status, *heard], heard, strict=False))


HIDE = "() => Object.defineProperty(document, 'hidden', { get: () => true, configurable: true })"
SHOW = "() => { delete document.hidden; document.dispatchEvent(new Event('visibilitychange')); }"


def test_what_is_the_same_is_not_sent_again(replaying: Listening, visitor: Visitor) -> None:
    page = visitor.open(replaying.url)
    ready(page)
    for path in ("/overview", "/series", "/events"):
        page.wait_for_event("response", lambda answer, path=path: path in answer.url and answer.status == 304)


def test_a_hidden_page_asks_seldom_and_at_once_when_it_is_seen_again(replaying: Listening, visitor: Visitor) -> None:
    page = visitor.open(replaying.url)
    page.clock.install()
    page.reload()
    ready(page)
    page.evaluate(HIDE)
    page.clock.pause_at(time.time() + 3600)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    def round_ended() -> bool:
        begun = [number for number, url in enumerate(asked) if url.endswith("/state")]
        if not begun:
            page.clock.fast_forward(60_000)
            return False
        page.evaluate("() => null")  # hears what was asked meanwhile
        return any("/history" in url for url in asked[begun[-1] :])  # the last of a round

    wait_for(round_ended)
    asked.clear()
    page.clock.fast_forward(50_000)
    assert asked == []

    def seen() -> bool:
        page.evaluate(SHOW)
        return bool(asked)

    wait_for(seen)


def connections(sidecar: Listening) -> int:
    """Connections to the sidecar that are established (proc(5))."""
    port = int(sidecar.url.rpartition(":")[2])
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[1].endswith(f":{port:04X}") and row[3] == "01" for row in rows)


def test_a_page_that_is_closed_leaves_nothing_open(replaying: Listening, visitor: Visitor) -> None:
    page: Page = visitor.open(replaying.url)
    ready(page)
    assert connections(replaying) > 0
    page.context.close()
    wait_for(lambda: connections(replaying) == 0)
