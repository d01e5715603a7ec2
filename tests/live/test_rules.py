"""The rules of scans and of the pool's size on real servers: their own SQL helps as predicted, folklore's does not."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import pytest

from advisor import engine
from advisor.recommendation import Advice, Change, Recommendation
from advisor.window import Window
from lab.servers import Server
from lab.watching import asked, by_rule, execute, pages_read, rules, watched
from lab.workloads import SCHEMA, look_up, make_table, scan

OLD_SUBLIST, POOL, TIME_ZERO = "scan-exceeds-old-sublist", "scan-exceeds-buffer-pool", "old-blocks-time-zero"
TOO_SMALL, BLIND_SPOT = "buffer-pool-too-small", "blind-spot"
PAGES, HOT_PAGES = 2_700, 600
OLD_BLOCKS_TIME, PAUSE = "200", 0.3  # ms, and a little more in seconds: scaled down with the tables
Start = Callable[..., Server]
Watch = Callable[[Server, Callable[[], None], int], Advice]


def said(window: Window, rule: str) -> list[Recommendation]:
    """What one rule says; the others are only known."""
    advice = engine.advise([each for each in rules() if each.id == rule], window, beside=rules())
    assert not advice.failed
    return by_rule(advice, rule)


def resize(server: Server, change: Change) -> None:
    """As the change says; the server goes on resizing after the statement."""
    execute(server, *change.apply)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and pool_bytes(server) != change.to:
        time.sleep(0.1)
    assert pool_bytes(server) == change.to
    time.sleep(0.5)


def pool_bytes(server: Server) -> int:
    return int(asked(server, "SELECT @@innodb_buffer_pool_size"))


def read_by(server: Server, work: Callable[[], None], times: int = 1) -> float:
    """Pages that it reads each time."""
    before = pages_read(server)
    for _ in range(times):
        work()
    return (pages_read(server) - before) / times


def cold(start_server: Start, name: str, tables: dict[str, int], **options: str) -> Server:
    """A server with these tables, of so many pages, and nothing of them in its pool, 64 MiB or 4,096 pages.

    innodb_lru_scan_depth is scaled down with the pool: at its default of 1,024 the page cleaner would keep a
    quarter of this one free.
    """
    defaults = {
        "innodb-buffer-pool-size": "64M",
        "innodb-lru-scan-depth": "100",
        "innodb-old-blocks-time": OLD_BLOCKS_TIME,
        "performance-schema": "ON",
    }
    server = start_server(name, **(defaults | options))
    with server.connect() as connection:
        for table, pages in tables.items():
            make_table(connection, table, pages)
    # Else MariaDB, once it is up again, purges what the load left behind and so reads the tables.
    execute(server, "SET GLOBAL innodb_fast_shutdown = 0")
    server.restart()
    return server


def scanning(server: Server, table: str, pause: float = PAUSE) -> Callable[[], None]:
    def one_pass() -> None:
        with server.connect() as connection:
            scan(connection, table)
        time.sleep(pause)

    return one_pass


def fill(server: Server, table: str = "archive") -> None:
    with server.connect() as connection:
        scan(connection, table)


@pytest.mark.parametrize("name", ["mysql-9.7", "mysql-5.6", "mariadb-10.5"])
def test_following_the_scan_rule_ends_the_reads(start_server: Start, name: str) -> None:
    server = cold(start_server, name, {"orders": PAGES, "archive": 3_000})
    one_pass = scanning(server, "orders")
    if name == "mysql-9.7":  # free pages hold the table: folklore would raise the setting all the same
        assert said(watched(server, scanning(server, "orders", 0.1), 3), OLD_SUBLIST) == []
        server.restart()
    fill(server)
    one_pass()
    [found] = said(watched(server, one_pass, 3), OLD_SUBLIST)
    assert found.subject == {"schema": SCHEMA, "table": "orders"}
    assert found.effect is not None
    assert found.effect.now == pytest.approx(read_by(server, one_pass), rel=0.1)

    [change] = found.changes
    execute(server, *change.apply)
    read_by(server, one_pass, 2)
    before = pages_read(server)
    assert said(watched(server, one_pass, 3), OLD_SUBLIST) == []
    assert (pages_read(server) - before) / 3 < 0.01 * PAGES
    execute(server, *change.rollback)


def test_a_scan_beside_reads_that_leave_it_no_room_gets_no_advice(start_server: Start) -> None:
    """Folklore raises innodb_old_blocks_pct, in vain where more is read between two scans than the pool holds."""
    server = cold(start_server, "mysql-9.7", {"orders": PAGES, "archive": 3_000, "items": 9_000})
    fill(server)
    just_scan = scanning(server, "orders", 0.0)

    def one_pass() -> None:
        just_scan()
        with server.connect() as connection:
            look_up(connection, "items", 9_000, 3_000)
        time.sleep(PAUSE)

    one_pass()
    assert said(watched(server, one_pass, 2), OLD_SUBLIST) == []
    execute(server, "SET GLOBAL innodb_old_blocks_pct = 80")
    read_by(server, one_pass, 2)
    assert read_by(server, just_scan) > 0.9 * PAGES


GROWING = {
    "mysql-9.7": {"innodb-buffer-pool-chunk-size": "8M"},
    "mariadb-10.11": {"innodb-buffer-pool-size-max": "256M"},
}


@pytest.mark.parametrize("name", GROWING)
def test_a_pool_that_holds_the_table_ends_the_reads_and_a_larger_old_sublist_does_not(
    start_server: Start, name: str
) -> None:
    tables = {"orders": 3_600, "archive": 3_400}
    server = cold(start_server, name, tables, **GROWING[name], **{"innodb-buffer-pool-size": "48M"})
    one_pass = scanning(server, "orders", 0.2)
    fill(server)
    one_pass()
    [found] = said(watched(server, one_pass, 3), POOL)
    assert found.effect is not None
    assert found.effect.predicted == 0
    assert found.effect.now == pytest.approx(3_600, rel=0.1)

    execute(server, "SET GLOBAL innodb_old_blocks_pct = 95")  # folklore
    read_by(server, one_pass, 2)
    assert read_by(server, one_pass) > 0.9 * 3_600
    execute(server, "SET GLOBAL innodb_old_blocks_pct = 37")

    [change] = found.changes
    resize(server, change)
    fill(server)
    read_by(server, one_pass, 2)
    assert read_by(server, one_pass) < 0.01 * 3_600
    assert said(watched(server, one_pass, 2), POOL) == []
    execute(server, *change.rollback)


ZERO = {"innodb-old-blocks-time": "0", "innodb-buffer-pool-size": "32M"}


def test_scans_leave_the_hot_set_alone_after_the_time_zero_rule(start_server: Start) -> None:
    tables = {"archive": 2_500, "items": HOT_PAGES}
    server = cold(start_server, "mysql-9.7", tables, **ZERO)

    def lookups() -> None:
        with server.connect() as connection:
            look_up(connection, "items", HOT_PAGES, 1_800)

    def one_round() -> None:
        fill(server)
        lookups()

    read_by(server, one_round, 3)
    window = watched(server, one_round, 3)
    [found] = said(window, TIME_ZERO)
    assert found.effect is not None
    [change] = found.changes
    assert change.to == 1_000

    execute(server, *change.apply)
    for _ in range(3):
        one_round()
        time.sleep(PAUSE)
    round_seconds = window.seconds / 3
    assert read_by(server, one_round, 3) == pytest.approx(found.effect.predicted * round_seconds, rel=0.1)
    fill(server)
    assert read_by(server, lookups) < 0.05 * HOT_PAGES
    assert said(watched(server, one_round, 2), TIME_ZERO) == []
    execute(server, *change.rollback)


def test_a_time_of_zero_that_keeps_a_scanned_table_cached_is_left_alone(start_server: Start) -> None:
    pages = PAGES // 2
    server = cold(start_server, "mysql-9.7", {"orders": pages, "archive": 1_500}, **ZERO)
    one_pass = scanning(server, "orders", 0.1)
    fill(server)
    read_by(server, one_pass, 2)
    assert said(watched(server, one_pass, 3), TIME_ZERO) == []
    assert read_by(server, one_pass) < 0.01 * pages

    server.restart({"innodb-old-blocks-time": OLD_BLOCKS_TIME})  # folklore
    fill(server)
    one_pass = scanning(server, "orders")
    read_by(server, one_pass, 2)
    assert read_by(server, one_pass) > 0.5 * pages


def test_a_pool_that_holds_the_hot_set_reads_what_was_predicted(start_server: Start) -> None:
    pages = 4_000
    options = {"innodb-buffer-pool-size": "48M", "innodb-buffer-pool-chunk-size": "2M"}
    server = cold(start_server, "mysql-9.7", {"items": pages}, **options)

    def lookups(times: int = 2_400) -> None:
        with server.connect() as connection:
            look_up(connection, "items", pages, times)

    lookups(20_000)  # from empty: until its reads no longer fall
    before = pages_read(server)
    window = watched(server, lookups, 4)
    measured, seconds = (pages_read(server) - before) / 4, window.seconds / 4
    [found] = said(window, TOO_SMALL)
    assert found.effect is not None
    [change] = found.changes

    resize(server, change)
    lookups(8_000)
    assert read_by(server, lookups, 3) == pytest.approx(found.effect.predicted * seconds, abs=0.2 * measured)
    assert said(watched(server, lookups, 2), TOO_SMALL) == []
    execute(server, *change.rollback)


def test_what_is_shut_is_a_blind_spot_with_the_statements_that_open_it(start_server: Start) -> None:
    server = start_server("mysql-9.7")
    off = "UPDATE performance_schema.setup_instruments SET ENABLED = 'NO' WHERE NAME = 'wait/io/table/sql/handler'"
    execute(server, off, "CREATE USER nobody@'%'")

    def spots(user: str) -> list[Recommendation]:
        return said(watched(server, lambda: None, 1, user), BLIND_SPOT)

    def follow(found: Sequence[Recommendation]) -> list[str]:
        """Their statements; those that take them back."""
        actions = [action for each in found for action in each.actions]
        execute(server, *(statement for action in actions for statement in action.apply))
        return [statement for action in actions for statement in action.rollback]

    privileges = follow(spots("nobody"))
    assert len(privileges) >= 3
    [instrument] = follow(spots("nobody"))
    assert instrument == off
    assert spots("nobody") == []
    execute(server, *privileges, instrument)
    assert len(spots("nobody")) == len(privileges)
    assert len(spots("root")) == 1


def test_mariadb_without_performance_schema_is_blind_and_says_so(start_server: Start, watch: Watch) -> None:
    server = start_server("mariadb-11.8")
    advice = watch(server, lambda: None, 1)
    blind = {(b.rule, b.lacks): b for b in advice.blind}
    assert "performance_schema = ON" in str(blind[OLD_SUBLIST, "table_scans"].cure)
    [spot] = by_rule(advice, BLIND_SPOT)
    assert "performance_schema = ON" in spot.actions[0].do
