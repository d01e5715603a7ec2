"""Index builds under way, as servers show them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from exporter.anonymisation import Pseudonyms
from exporter.collectors import builds
from exporter.collectors.builds import BUILDS, Building, Builds
from exporter.rows import Rows
from exporter.server import identify
from exporter.snapshot import Table
from lab.harness import workloads
from lab.servers import PrivateServer
from tests.exporter.collectors.refusal import refusal
from tests.waiting import wait_for

Ask = Callable[..., list[tuple[Any, ...]]]
Fetch = Callable[[PrivateServer, str], Rows]

MYSQL = ("thread", "state", "seconds", "object_schema", "object_name", "indexes")
STAGE = ("event_name", "completed")
BIG = Table("shop", "big")
STAGES = ("read PK and internal sort", "merge sort", "insert")


def statements(server: PrivateServer | str) -> tuple[str, ...]:
    version = server if isinstance(server, str) else server.version
    return builds.queries(identify({"version": version, "performance_schema": "ON"}))


def test_each_server_is_asked_for_what_it_has() -> None:
    assert statements("9.7.4") == statements("5.7.44") == (builds.MYSQL_SQL, builds.STAGE_SQL)
    assert statements("5.6.24") == (builds.OLD_MYSQL_SQL,)
    assert statements("11.8.6-MariaDB") == (builds.MARIADB_SQL, builds.STAGE_SQL)
    for version in ("9.7.4", "11.8.6-MariaDB"):
        assert refusal(BUILDS, version=version, performance_schema="OFF") == "disabled"


def test_a_build_has_its_own_table_and_the_stage_that_is_the_furthest() -> None:
    rows = [
        (51, "alter table (insert)", 2, "shop", "#sql-16fa_a", 2),
        (51, "alter table (insert)", 2, "shop", "big", 2),
        (51, "alter table (insert)", 2, "shop", "parent", 2),
    ]
    section = builds.parse([Rows(MYSQL, tuple(rows)), Rows(STAGE, (("stage/innodb/alter table (insert)", 15_148),))])
    assert section == Builds((Building(BIG, "alter table (insert)", 2.0, 2),), "alter table (insert)", 15_148)


def test_a_table_that_the_server_does_not_tell_is_not_known() -> None:
    section = builds.parse([Rows(MYSQL, ((22, "altering table", 9, None, None, None),))])
    assert section == Builds((Building(None, "altering table", 9.0, None),), None, None)
    assert builds.parse([Rows(MYSQL, ()), Rows(STAGE, ())]) == Builds((), None, None)


def test_names_are_anonymous_in_a_recording() -> None:
    hidden = BUILDS.anonymise(Pseudonyms(), Rows(MYSQL, ((51, "altering table", 2, "secret", "secret", 2),)))
    assert "secret" not in str(hidden)
    [section] = builds.parse([hidden]).under_way
    assert section.table is not None
    stage = Rows(STAGE, (("stage/innodb/alter table (end)", 5),))
    assert BUILDS.anonymise(Pseudonyms(), stage) == stage


LOCKS = "UPDATE performance_schema.setup_instruments SET ENABLED = '{}' WHERE NAME = 'wait/lock/metadata/sql/mdl'"


@pytest.mark.parametrize("server", ["mysql-9.7", "mysql-5.6", "mariadb-10.5", "mariadb-11.8"], indirect=True)
def test_a_build_under_way_is_seen(server: PrivateServer, ask: Ask, fetch: Fetch) -> None:
    table = "we`ird 漢字"
    quoted = f"`{table.replace('`', '``')}`"
    ask(server, "DROP DATABASE IF EXISTS shop", LOCKS.format("YES"))
    with server.connect() as connection:
        workloads.make_indexed_table(connection, "big", 60_000, indexes=1)
    ask(server, f"RENAME TABLE shop.big TO shop.{quoted}")
    stop = threading.Event()

    def build() -> None:
        while not stop.is_set():
            ask(
                server,
                "USE shop",
                f"ALTER TABLE {quoted} ADD INDEX x (filler(24), k1), ADD UNIQUE y (k1, id)",
                f"ALTER TABLE shop.{quoted} DROP INDEX x, DROP INDEX y",
            )

    def look() -> Builds:
        return builds.parse([fetch(server, sql) for sql in statements(server)])

    def whole() -> Builds | None:
        """A look that sees the build, its table, and a stage that has work behind it."""
        seen = look()
        if server.name == "mysql-5.6":  # which tells neither
            return seen if seen.under_way else None
        named = Table("shop", table) in {build.table for build in seen.under_way}
        at_work = bool(seen.completed) and seen.stage in {f"alter table ({stage})" for stage in STAGES}
        return seen if named and at_work else None

    builder = threading.Thread(target=build)
    builder.start()
    try:
        seen = wait_for(whole)
    finally:
        stop.set()
        builder.join()
        if server.name.startswith("mariadb"):
            ask(server, LOCKS.format("NO"))  # as by default
    [building] = seen.under_way
    assert building.state
    assert building.indexes == (2 if server.name == "mysql-9.7" else None)
    wait_for(lambda: not look().under_way)
