"""What the page tells of tables that a test makes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from lab.harness.workloads import SCHEMA, BackgroundLoad, make_table
from lab.servers import PrivateServer
from tests.advisor.listening import Listening
from tests.page import names
from tests.page.sections import section
from tests.page.visitor import Visitor, narrow, ready
from tests.waiting import wait_for

pytestmark = pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)


@pytest.fixture
def named(server: PrivateServer) -> Iterator[set[str]]:
    """Tables of difficult names, which are scanned."""
    names.create(server)
    with BackgroundLoad(server.connect) as work:
        work.repeat(names.scan_all, pause=1.0)
        yield {f"{names.SCHEMA}.{name}" for name in names.TABLES}
    names.drop(server)


def opened(live: Listening, visitor: Visitor) -> Page:
    page = visitor.open(live.url, harmless="/curve|/whatif")
    ready(page)
    return page


def test_names_of_tables_and_statements_are_text(
    named: set[str],
    live: Listening,  # after the tables: it looks at a server's tables seldom
    visitor: Visitor,
) -> None:
    page = opened(live, visitor)
    shown = page.locator(".tables tbody .pic-name")
    wait_for(lambda: named <= {text.strip() for text in shown.all_text_contents()})
    row = page.locator(".tables tbody tr", has=page.get_by_text(f"{names.SCHEMA}.{names.TABLES[0]}", exact=True))
    row.get_by_role("button", name="Statements").click()
    expect(page.locator(".tables-behind code").first).to_contain_text(names.TABLES[0])
    expect(page.locator(".tables-behind")).to_contain_text("uses no index")
    expect(page.locator("#page img, #page i, #page script")).to_have_count(0)
    assert page.title() != "1"
    narrow(page)


def test_activity_is_told_of_change_buffer_readers_and_builds(
    server: PrivateServer, live: Listening, visitor: Visitor
) -> None:
    page = opened(live, visitor)
    expect(section(page, "Change buffer")).to_contain_text("operations a merge")
    expect(section(page, "Parallel readers")).to_contain_text("parallel scans an hour")
    builds = section(page, "Index builds")
    expect(builds).to_contain_text("No index is being built")
    with server.connect() as connection, connection.cursor() as cursor:
        make_table(connection, "built", 1_000, indexes=1)
        cursor.execute("SET SESSION lock_wait_timeout = 60")
        with BackgroundLoad(server.connect) as work:
            work.repeat(rebuild, pause=0)
            expect(builds.locator("li", has_text=f"{SCHEMA}.built").first).to_be_visible()
            expect(builds.locator("li", has_text="% done").first).to_contain_text("left")
        expect(builds.locator("li", has_text=f"{SCHEMA}.built ended before")).to_be_visible()
        cursor.execute(f"DROP TABLE {SCHEMA}.built")


def rebuild(connection: Any) -> None:
    """An index build of some seconds."""
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {SCHEMA}.built ADD INDEX again (filler(200)), ALGORITHM = INPLACE")
        cursor.execute(f"ALTER TABLE {SCHEMA}.built DROP INDEX again")
