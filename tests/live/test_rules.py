"""The rules on real servers: each fires where it should, its own SQL helps as predicted, and it falls silent."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pymysql
import pytest

from advisor.recommendation import Advice, Recommendation
from lab.servers import Server
from lab.workloads import SCHEMA, count, insert_rows, look_up, make_indexed_table, make_table, scan

SCAN_RULE, MERGE_RULE = "scan-exceeds-old-sublist", "change-buffering-without-benefit"
PAGES = 2_700
Start = Callable[..., Server]
Watch = Callable[[Server, Callable[[], None], int], Advice]
Query = Callable[["pymysql.Connection[Any]", str], None]


def by_rule(advice: Advice, rule: str) -> list[Recommendation]:
    return [found for found in advice.recommendations if found.rule == rule]


def execute(server: Server, *statements: str) -> None:
    with server.connect() as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def pages_read(server: Server) -> int:
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT SUM(NUMBER_PAGES_READ) FROM information_schema.INNODB_BUFFER_POOL_STATS")
        return int(cursor.fetchall()[0][0])


def filled(start_server: Start, name: str) -> Server:
    """A 64 MiB pool, 4,096 pages, that holds a table larger than its old sublist, and then not another one beside it.

    innodb_lru_scan_depth is scaled down with the pool: at its default of 1,024 the page cleaner would keep a
    quarter of this one free.
    """
    options = {"innodb-buffer-pool-size": "64M", "innodb-lru-scan-depth": "100", "performance-schema": "ON"}
    server = start_server(name, **options)
    with server.connect() as connection:
        make_table(connection, "orders", PAGES)
        make_table(connection, "archive", 3_000)
    # Else MariaDB, once it is up again, purges what the load left behind and so reads the tables.
    execute(server, "SET GLOBAL innodb_fast_shutdown = 0")
    server.restart()
    with server.connect() as connection:
        scan(connection, "archive")
    return server


@pytest.mark.parametrize(
    ("name", "query"),
    [("mysql-9.7", scan), ("mysql-5.6", scan), ("mariadb-10.5", scan), ("mysql-9.7", count), ("mysql-5.6", count)],
)
def test_following_the_scan_rule_ends_the_reads(start_server: Start, watch: Watch, name: str, query: Query) -> None:
    server = filled(start_server, name)

    def one_pass() -> None:
        with server.connect() as connection:
            query(connection, "orders")
        time.sleep(1.1)  # innodb_old_blocks_time

    one_pass()
    [found] = by_rule(watch(server, one_pass, 3), SCAN_RULE)
    assert found.subject == {"schema": SCHEMA, "table": "orders"}
    assert found.effect.now is not None
    before = pages_read(server)
    one_pass()
    assert found.effect.now == pytest.approx(pages_read(server) - before, rel=0.1)

    [change] = found.changes
    execute(server, *change.apply)
    one_pass()
    one_pass()
    before = pages_read(server)
    advice = watch(server, one_pass, 3)
    assert by_rule(advice, SCAN_RULE) == []
    assert (pages_read(server) - before) / 3 < 0.01 * PAGES

    execute(server, *change.rollback)
    assert change.to != change.from_


def test_a_scan_that_free_pages_hold_gets_no_advice(start_server: Start, watch: Watch) -> None:
    server = start_server("mysql-9.7", **{"innodb-buffer-pool-size": "64M"})
    with server.connect() as connection:
        make_table(connection, "orders", PAGES)
    server.restart()

    def one_pass() -> None:
        with server.connect() as connection:
            scan(connection, "orders")

    assert by_rule(watch(server, one_pass, 3), SCAN_RULE) == []


def test_a_scan_beside_reads_that_leave_it_no_room_gets_no_advice(start_server: Start, watch: Watch) -> None:
    """Folklore raises innodb_old_blocks_pct, in vain where more is read between two scans than the pool holds."""
    server = filled(start_server, "mysql-9.7")
    with server.connect() as connection:
        make_table(connection, "items", 9_000)

    def one_pass() -> None:
        with server.connect() as connection:
            scan(connection, "orders")
            look_up(connection, "items", 9_000, 3_000)
        time.sleep(1.1)

    def missed() -> float:
        before = pages_read(server)
        with server.connect() as connection:
            scan(connection, "orders")
        return pages_read(server) - before

    one_pass()
    assert by_rule(watch(server, one_pass, 3), SCAN_RULE) == []
    execute(server, "SET GLOBAL innodb_old_blocks_pct = 80")
    for _ in range(3):
        one_pass()
    assert missed() > 0.9 * PAGES


def test_an_instrument_that_is_off_makes_the_rule_blind_and_not_silent(start_server: Start, watch: Watch) -> None:
    server = start_server("mysql-9.7")
    execute(
        server,
        "UPDATE performance_schema.setup_instruments SET ENABLED = 'NO' WHERE NAME = 'wait/io/table/sql/handler'",
    )
    advice = watch(server, lambda: None, 1)
    [blind] = [each for each in advice.blind if each.lacks == "table_scans"]
    execute(server, str(blind.cure))
    assert watch(server, lambda: None, 1).blind == ()


def test_mariadb_without_performance_schema_is_blind_and_says_so(start_server: Start, watch: Watch) -> None:
    server = start_server("mariadb-11.8")
    blind = {(b.rule, b.lacks): b for b in watch(server, lambda: None, 1).blind}
    assert "performance_schema = ON" in str(blind[SCAN_RULE, "table_scans"].cure)


INDEXES = 2


def write_load(server: Server, *, read_back: bool) -> Callable[[], None]:
    def work() -> None:
        with server.connect() as connection:
            rows = 500 if read_back else 2_000
            insert_rows(connection, "events", rows, indexes=INDEXES, read_back=read_back, seed=None)

    return work


def events(start_server: Start, name: str, **options: str) -> Server:
    """Random secondary indexes that are larger than the pool."""
    server = start_server(name, **{"innodb-buffer-pool-size": "24M", **options})
    with server.connect() as connection:
        make_indexed_table(connection, "events", 400_000, indexes=INDEXES)
    server.restart()
    return server


@pytest.mark.parametrize("name", ["mysql-9.7", "mysql-5.6", "mariadb-10.11"])
def test_merges_of_one_operation_get_advice_that_ends_them(start_server: Start, watch: Watch, name: str) -> None:
    server = events(start_server, name, **{"innodb-change-buffering": "all"})
    [found] = by_rule(watch(server, write_load(server, read_back=True), 3), MERGE_RULE)

    [change] = found.changes
    execute(server, *change.apply)
    execute(server, *change.persist)
    watch(server, write_load(server, read_back=True), 2)  # what was buffered before is merged now
    advice = watch(server, write_load(server, read_back=True), 2)
    assert by_rule(advice, MERGE_RULE) == []
    execute(server, *change.rollback)


@pytest.mark.parametrize("name", ["mysql-9.7", "mysql-5.6"])
def test_change_buffering_that_saves_reads_on_an_ssd_gets_no_advice(
    start_server: Start, watch: Watch, name: str
) -> None:
    server = events(start_server, name)
    assert by_rule(watch(server, write_load(server, read_back=False), 3), MERGE_RULE) == []
