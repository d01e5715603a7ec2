"""What the page tells of tables that a test makes, on a server of their own.

At the server that the other tests share these tables, once dropped, would leave the scanned table room in the pool,
and the finding that those tests look at would go.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from lab.workloads import SCHEMA, Load, make_table
from tests.advisor.sidecar import Sidecar
from tests.conftest import start_or_skip
from tests.page import names
from tests.page.conftest import Watched
from tests.page.sections import section
from tests.page.visitor import Visitor, narrow, ready
from tests.waiting import wait_for


@pytest.fixture(scope="module")
def aside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """A watched server without load."""
    with ExitStack() as stack:
        server = stack.enter_context(start_or_skip("mysql-9.7", {}))
        sidecar = Sidecar(tmp_path_factory.mktemp("sidecar"), "--dsn", server.dsn, "--interval", "2s")
        stack.callback(sidecar.kill)
        wait_for(sidecar.judged)
        yield Watched(server, sidecar)


@pytest.fixture
def page(aside: Watched, visitor: Visitor) -> Page:
    opened = visitor.open(aside.url, harmless="/curve|/whatif")
    ready(opened)
    return opened


@pytest.fixture
def named(aside: Watched) -> Iterator[set[str]]:
    """Tables of difficult names, which are scanned."""
    names.create(aside.server)
    wanted = {f"{names.SCHEMA}.{name}" for name in names.TABLES}

    def known() -> bool:
        tables = aside.sidecar.get("/overview").json()["tables"]
        return wanted <= {f"{each['schema']}.{each['table']}" for each in tables if each["scans_per_hour"]}

    with Load(aside.server.connect) as work:
        work.repeat(names.scan_all, pause=1.0)
        wait_for(known)
        yield wanted
    names.drop(aside.server)


def test_names_of_tables_and_statements_are_text(named: set[str], page: Page) -> None:
    expect(page.locator(".tables tbody tr").nth(len(named))).to_be_visible()
    assert named <= {each.strip() for each in page.locator(".tables tbody .pic-name").all_text_contents()}
    row = page.locator(".tables tbody tr", has=page.get_by_text(f"{names.SCHEMA}.{names.TABLES[0]}", exact=True))
    row.get_by_role("button", name="Statements").click()
    expect(page.locator(".tables-behind code").first).to_contain_text(names.TABLES[0])
    expect(page.locator("#page img, #page i, #page script")).to_have_count(0)
    assert page.title() != "1"
    narrow(page)


def test_activity_is_told_of_change_buffer_readers_and_builds(aside: Watched, page: Page) -> None:
    expect(section(page, "Change buffer")).to_contain_text("operations a merge")
    expect(section(page, "Parallel readers")).to_contain_text("parallel scans an hour")
    builds = section(page, "Index builds")
    expect(builds).to_contain_text("No index is being built")
    with aside.server.connect() as connection, connection.cursor() as cursor:
        make_table(connection, "built", 1_000, indexes=1)
        cursor.execute("SET SESSION lock_wait_timeout = 60")
        with Load(aside.server.connect) as work:
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
