"""Each section of the page beside what the API says, on a real server under load; and that it stays as it is left."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from lab import demo
from lab.processes.ports import HOST
from lab.servers import Server
from lab.workloads import SCHEMA, Load, make_table, scan
from tests.advisor.sidecar import Sidecar
from tests.page.conftest import Watched
from tests.page.sections import effect, section
from tests.page.visitor import Visitor, accessible, narrow, ready
from tests.waiting import wait_for

Serve = Callable[..., Sidecar]
TABLE = f"{SCHEMA}.{demo.SCANNED}"
RULE = "scan-exceeds-old-sublist"
SETTING = "innodb_old_blocks_pct"


@pytest.fixture
def page(live: Watched, visitor: Visitor) -> Page:
    live.found()
    opened = visitor.open(live.url)
    ready(opened)
    return opened


def finding(page: Page) -> Locator:
    """The finding of the rule; on a busy machine another rule may find something at the table, too."""
    own = page.locator(f'a[href="rules/{RULE}"]')
    return page.locator(".finding", has_text=TABLE).filter(has=own).first


def grouped(number: float) -> str:
    """A number of pages as the page writes it."""
    return f"{round(number):,}"


def test_the_header_says_who_is_watched_and_how_fresh_it_is(live: Watched, page: Page) -> None:
    top = page.locator(".top")
    expect(top.get_by_role("heading", level=1)).to_have_text(f"{HOST}:{live.server.port}")
    expect(top).to_contain_text("MySQL 9.7")
    expect(top).to_contain_text("up ")
    expect(page.locator(".connection")).to_have_text(re.compile(r"live, [0-9.]+ s ago"))
    judged = live.sidecar.get("/state").json()["judged"]
    expect(page.locator(".status")).to_contain_text(f"{judged['rules']} rules")
    assert TABLE not in page.title()  # the title has counts and the server's name
    expect(page).to_have_title(re.compile(rf"warning.* · {HOST}:{live.server.port}$"))


def test_a_finding_says_what_to_run_what_it_does_and_costs_and_how_to_undo_it(live: Watched, page: Page) -> None:
    shown, found = finding(page), live.found()
    [change] = found["changes"]
    steps = shown.locator(".finding-columns .step")
    expect(steps.filter(has_text="Try")).to_contain_text(f"SET GLOBAL {SETTING} = ")
    expect(steps.filter(has_text="Keep")).to_contain_text(f"SET PERSIST {SETTING} = ")
    expect(steps.filter(has_text="Undo")).to_contain_text(f"{change['rollback'][0]};")
    expect(steps.filter(has_text="Option file")).to_contain_text(f"{SETTING} = ")
    expect(shown.locator(".finding-since time")).to_have_attribute("datetime", re.compile(r"^\d{4}-\d\d-\d\dT"))
    expect(effect(shown, "Effect")).to_contain_text(re.compile(r"Pages read per pass[\s\S]*→"))
    expect(effect(shown, "Cost")).to_contain_text("pool pages left for everything else", ignore_case=True)
    expect(effect(shown, "Cost")).to_contain_text("MiB")
    evidence = shown.locator("details", has_text="Evidence with sources")
    evidence.locator("summary").click()
    for item in found["evidence"]:
        expect(evidence).to_contain_text(item["source"])


def test_the_pool_is_drawn_with_its_sizes_and_who_holds_it(live: Watched, page: Page) -> None:
    overview = live.sidecar.get("/overview").json()
    [pool] = overview["pools"]
    drawn = section(page, "Buffer pool")
    expect(drawn.get_by_role("img", name="The LRU list")).to_be_visible()
    expect(drawn.get_by_role("img", name="The LRU list")).to_have_accessible_name(
        re.compile(rf"{grouped(pool['size_pages'])} pages \(128 MiB\).*young.*midpoint.*old.*free", re.DOTALL)
    )
    expect(drawn.locator(".pool-keys")).to_contain_text(f"{SCHEMA}.{demo.HOT}.PRIMARY")
    for title in ("How the pool was used", "How pages came"):
        chart = drawn.locator("figure", has_text=title)
        expect(chart.get_by_role("img")).to_have_accessible_name(re.compile("now .*least .*mean .*most"))
        chart.locator("summary").click()
        expect(chart.locator("tbody tr").first).to_be_visible()


def test_tables_show_their_reads_scans_and_sizes(live: Watched, page: Page) -> None:
    row = page.locator(".tables tbody tr", has=page.get_by_text(TABLE, exact=True))
    first = page.locator(".tables tbody tr").first
    expect(first).to_contain_text(TABLE)
    [scanned] = [each for each in live.sidecar.get("/overview").json()["tables"] if each["table"] == demo.SCANNED]
    expect(row).to_contain_text(grouped(scanned["pages"]))
    expect(row).to_contain_text("the old sublist")
    expect(row.locator(".tables-number").nth(1)).to_have_text(re.compile(r"^[1-9][\d,]{2,}"))  # every two seconds
    row.get_by_role("button", name="Statements").click()
    behind = page.locator(".tables-behind")
    expect(behind.locator("code").first).to_contain_text(re.compile(r"SELECT SUM", re.IGNORECASE))
    expect(behind).to_contain_text("uses no index")


def test_the_window_is_the_viewers_choice(page: Page) -> None:
    short, long = page.get_by_role("button", name="5 min"), page.get_by_role("button", name="1 h")
    expect(long).to_have_attribute("aria-pressed", "true")
    with page.expect_request("**/series?*window=300*"):
        short.click()
    expect(short).to_have_attribute("aria-pressed", "true")


def test_nothing_runs_out_of_the_screen_and_axe_finds_nothing_serious(page: Page) -> None:
    expect(section(page, "Buffer pool").get_by_role("img").first).to_be_visible()
    narrow(page)
    accessible(page)


SEEN = """() => {
    globalThis.heard = 0;
    const status = document.querySelector("[role=status]");
    const watch = new MutationObserver(() => { globalThis.heard += 1; });
    watch.observe(status, { subtree: true, childList: true, characterData: true });
    globalThis.seen = [...document.querySelectorAll(".finding, .finding-details, .tables tbody tr")];
}"""
KEPT = "() => globalThis.seen.every((each) => each.isConnected)"


def test_updates_leave_focus_details_and_elements_alone(live: Watched, page: Page) -> None:
    evidence = finding(page).locator("details", has_text="Evidence with sources")
    evidence.locator("summary").click()
    button = finding(page).get_by_role("button", name="ticket")
    button.focus()
    page.evaluate(SEEN)
    before = live.sidecar.get("/state").json()["at"]
    wait_for(lambda: live.sidecar.get("/state").json()["at"] > before + 5)  # three snapshots
    expect(page.locator(".connection")).to_have_text(re.compile(r"live, [0-3](\.\d+)? s ago"))
    expect(button).to_be_focused()
    expect(evidence).to_have_attribute("open", "")
    assert page.evaluate(KEPT)
    assert page.evaluate("() => globalThis.heard") <= 1  # the status line, which a screen reader reads out


def connections(sidecar: Sidecar) -> int:
    """Connections to the sidecar that are established (proc(5))."""
    port = int(sidecar.url.rpartition(":")[2])
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[1].endswith(f":{port:04X}") and row[3] == "01" for row in rows)


def test_a_page_that_is_closed_leaves_nothing_open(live: Watched, page: Page) -> None:
    wait_for(lambda: connections(live.sidecar) > 0)
    page.context.close()
    wait_for(lambda: connections(live.sidecar) == 0)


def test_mariadb_shows_its_pool_tables_and_activity(
    start_server: Callable[..., Server], serve: Serve, visitor: Visitor
) -> None:
    server = start_server("mariadb-11.8", performance_schema="ON")
    with server.connect() as connection, Load(server.connect) as work:
        make_table(connection, demo.SCANNED, 800)
        work.repeat(lambda connection: scan(connection, demo.SCANNED), pause=0.5)
        sidecar = serve("--dsn", server.dsn, "--interval", "1s")
        page = visitor.open(sidecar.url, harmless="/overview|/advise|/curve")
        ready(page)
        expect(page.locator(".top")).to_contain_text("MariaDB 11.8")
        expect(page.get_by_role("img", name="The LRU list")).to_be_visible()
        expect(page.locator(".tables tbody tr", has_text=TABLE)).to_contain_text(re.compile(r"[1-9][\d,]{2,}"))
        expect(section(page, "Change buffer")).to_contain_text("no change buffer")
        expect(section(page, "Parallel readers")).to_contain_text("not known")
        narrow(page)
        accessible(page)


def seconds_of(process: int) -> float:
    """CPU time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.long
def test_an_open_page_costs_the_sidecar_at_most_a_percent_of_a_core(
    live: Watched, serve: Serve, visitor: Visitor
) -> None:
    sidecar = serve("--dsn", live.server.dsn)  # at its usual interval
    wait_for(sidecar.judged)

    def share(seconds: float = 60.0) -> float:
        began, used = time.monotonic(), seconds_of(sidecar.process.pid)
        time.sleep(seconds)
        return (seconds_of(sidecar.process.pid) - used) / (time.monotonic() - began)

    closed = share()
    page = visitor.open(sidecar.url)
    ready(page)
    page.wait_for_timeout(10_000)
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable")

    def busy() -> float:
        metrics = devtools.send("Performance.getMetrics")["metrics"]
        return float(next(each["value"] for each in metrics if each["name"] == "TaskDuration"))

    before, began = busy(), time.monotonic()
    opened = share()
    browser = (busy() - before) / (time.monotonic() - began)
    print(f"\nof a core: sidecar {opened:.2%} with the page open, {closed:.2%} without; the page {browser:.2%}")
    assert opened - closed < 0.01
    assert browser < 0.03
