"""The rules about counts, parallel reads and index builds on real servers: followed, measured, and taken back."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pymysql
import pytest

from advisor.recommendation import Advice, Recommendation
from lab.captures.scenarios.counts import make_scattered_table
from lab.captures.scenarios.index_builds import make_notes
from lab.servers import Server
from lab.watching import asked, by_rule, execute
from lab.workloads import SCHEMA, count, make_table, scan

Start = Callable[..., Server]
Watch = Callable[[Server, Callable[[], None], int], Advice]
ONE_LOOK_AT_THE_MACHINE = 10.0  # seconds from one to the next


def pages_read(server: Server, table: str) -> float:
    return asked(
        server,
        "SELECT SUM(COUNT_READ) FROM performance_schema.file_summary_by_instance"
        f" WHERE FILE_NAME LIKE '%{SCHEMA}/{table}.ibd'",
    )


def counting(server: Server, table: str, pause: float = 0.0) -> Callable[[], None]:
    def one() -> None:
        with server.connect() as connection:
            count(connection, table)
        time.sleep(pause)

    return one


def test_counts_by_parallel_readers_stop_reading_once_the_old_sublist_holds_the_table(
    start_server: Start, watch: Watch
) -> None:
    pages, rule = 2_700, "count-parallel-never-promotes"
    options = {"innodb-buffer-pool-size": "64M", "innodb-lru-scan-depth": "100", "innodb-parallel-read-threads": "4"}
    server = start_server("mysql-9.7", **options)
    with server.connect() as connection:
        make_table(connection, "orders", pages)
        make_table(connection, "archive", 3_000)
    server.restart()
    with server.connect() as connection:
        scan(connection, "archive")
    one_pass = counting(server, "orders", pause=1.1)  # innodb_old_blocks_time

    one_pass()
    advice = watch(server, one_pass, 3)
    [found] = by_rule(advice, rule)
    [change] = found.changes
    execute(server, *change.apply)
    one_pass()
    one_pass()
    before = pages_read(server, "orders")
    assert by_rule(watch(server, one_pass, 2), rule) == []
    assert (pages_read(server, "orders") - before) / 2 < 0.01 * pages
    execute(server, *change.rollback)


@pytest.mark.parametrize("name", ["mysql-9.7", "mysql-5.6", "mariadb-10.11"])
def test_an_index_on_the_key_is_what_a_table_is_counted_by(start_server: Start, watch: Watch, name: str) -> None:
    rule, rows = "count-has-no-small-index", 12_000
    server = start_server(name, **{"innodb-buffer-pool-size": "64M", "performance-schema": "ON"})
    execute(server, f"CREATE DATABASE {SCHEMA}")
    with server.connect() as connection:
        make_table(connection, "source", 1_500)
    execute(
        server,
        f"CREATE TABLE {SCHEMA}.`or``ders` (`the id` BIGINT NOT NULL PRIMARY KEY, filler VARCHAR(1830)) ENGINE=InnoDB",
        f"INSERT INTO {SCHEMA}.`or``ders` SELECT id, REPEAT('x', 1830) FROM {SCHEMA}.source ORDER BY id",
        f"ANALYZE TABLE {SCHEMA}.`or``ders`",
    )
    one_pass = counting(server, "`or``ders`")

    [found] = by_rule(watch(server, one_pass, 4), rule)
    assert found.subject == {"schema": SCHEMA, "table": "or`ders"}
    assert found.effect is not None
    [action] = found.actions
    execute(server, *action.apply, f"ANALYZE TABLE {SCHEMA}.`or``ders`")
    assert by_rule(watch(server, one_pass, 4), rule) == []

    execute(server, "SET GLOBAL innodb_fast_shutdown = 0")
    server.restart()
    assert asked(server, f"SELECT COUNT(*) FROM {SCHEMA}.`or``ders`") == rows
    assert pages_read(server, "%") < found.effect.predicted + 20  # the dictionary may look at the table's first pages
    size = "SELECT stat_value FROM mysql.innodb_index_stats WHERE index_name = 'count_rows' AND stat_name = 'size'"
    assert asked(server, size) == pytest.approx(found.effect.predicted, rel=0.2)
    execute(server, *action.rollback)


def seconds_of_counts(server: Server, threads: int, times: int = 3) -> float:
    """The shortest of some counts from disk: of a table larger than the pool."""
    took = []
    with server.connect() as connection:
        with connection.cursor() as cursor:
            cursor.execute(f"SET SESSION innodb_parallel_read_threads = {threads}")
        for _ in range(times):
            began = time.perf_counter()
            count(connection, "scattered")
            took.append(time.perf_counter() - began)
    return min(took)


def cpu_seconds() -> tuple[float, float]:
    """Of the machine since it started: busy and idle."""
    _, *fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    idle = float(fields[3]) + float(fields[4])
    return sum(map(float, fields[:8])) - idle, idle


def test_reader_threads_that_wait_are_helped_by_more_and_those_that_do_not_wait_are_left_alone(
    start_server: Start, watch: Watch
) -> None:
    rule, more = "parallel-read-threads-too-few", 4
    server = start_server("mysql-9.7", **{"innodb-buffer-pool-size": "24M", "innodb-parallel-read-threads": "1"})
    with server.connect() as connection:
        make_scattered_table(connection, "scattered", 30_000)
        make_table(connection, "orders", 4_500)

    def both() -> None:
        counting(server, "scattered")()
        counting(server, "orders", pause=ONE_LOOK_AT_THE_MACHINE / 4.0)()

    alone, together = seconds_of_counts(server, 1), seconds_of_counts(server, more)
    assert together < 0.85 * alone
    began = cpu_seconds()
    found = by_rule(watch(server, both, 4), rule)
    busy, idle = (after - before for before, after in zip(began, cpu_seconds(), strict=True))
    if busy > 0.7 * (busy + idle):
        pytest.skip("others keep the machine's cores busy: then more threads are rightly not advised")
    assert [each.subject["table"] for each in found] == ["scattered"]
    [change] = found[0].changes
    assert change.setting == "innodb_parallel_read_threads"
    assert float(change.to) > 1
    execute(server, *change.apply, *change.rollback)


def written(server: Server) -> float:
    return asked(
        server,
        "SELECT SUM_NUMBER_OF_BYTES_WRITE FROM performance_schema.file_summary_by_event_name"
        " WHERE EVENT_NAME = 'wait/io/file/innodb/innodb_temp_file'",
    )


def build(server: Server) -> float:
    """Bytes that a build writes to temporary files; in a session of its own, with the global settings."""
    before = written(server)
    execute(server, f"ALTER TABLE {SCHEMA}.notes ADD INDEX again (text, other)")
    wrote = written(server) - before
    execute(server, f"ALTER TABLE {SCHEMA}.notes DROP INDEX again")
    return wrote


def applied(server: Server, found: Recommendation, *, back: bool = False) -> None:
    execute(server, *(sql for change in found.changes for sql in (change.rollback if back else change.apply)))


def test_index_builds_write_as_little_as_was_foretold_with_the_settings_that_were_advised(
    start_server: Start, watch: Watch
) -> None:
    starved, crowded = "ddl-buffer-starved", "ddl-threads-over-cores"
    server = start_server(
        "mysql-9.7",
        **{"innodb-buffer-pool-size": "128M", "innodb-parallel-read-threads": "4", "innodb-ddl-threads": "4"},
    )
    with server.connect() as connection:
        make_notes(connection, 200_000)

    advice = watch(server, lambda: None, 1)
    assert by_rule(advice, starved) == by_rule(advice, crowded) == []  # nothing was built

    wrote: list[float] = []
    [found] = by_rule(watch(server, lambda: wrote.append(build(server)), 1), starved)
    assert found.effect is not None
    assert found.effect.now == pytest.approx(wrote[-1], rel=0.2)
    applied(server, found)
    assert by_rule(watch(server, lambda: wrote.append(build(server)), 1), starved) == []
    assert found.effect.predicted == pytest.approx(wrote[-1], rel=0.2)
    applied(server, found, back=True)

    execute(server, "SET GLOBAL innodb_parallel_read_threads = 32", "SET GLOBAL innodb_ddl_threads = 32")
    [found] = by_rule(watch(server, lambda: wrote.append(build(server)), 1), crowded)
    assert found.effect is not None
    assert found.effect.now == pytest.approx(wrote[-1], rel=0.2)
    many = wrote[-1]
    applied(server, found)
    assert by_rule(watch(server, lambda: wrote.append(build(server)), 1), crowded) == []
    assert found.effect.predicted == pytest.approx(wrote[-1], rel=0.2)
    assert wrote[-1] < 0.85 * many


def test_builds_of_small_indexes_get_no_advice(start_server: Start, watch: Watch) -> None:
    server = start_server("mysql-9.7", **{"innodb-parallel-read-threads": "32"})
    with server.connect() as connection:
        make_notes(connection, 20_000)
    advice = watch(server, lambda: print(build(server)), 1)
    assert by_rule(advice, "ddl-buffer-starved") == by_rule(advice, "ddl-threads-over-cores") == []


def reads_of_a_count(connection: pymysql.Connection[Any], server: Server) -> float:
    before = pages_read(server, "orders")
    count(connection, "orders")
    return pages_read(server, "orders") - before


def test_a_server_without_the_bug_counts_by_the_secondary_index(start_server: Start) -> None:
    server = start_server("mysql-9.7", **{"innodb-buffer-pool-size": "24M"})
    with server.connect() as connection:
        make_table(connection, "orders", 2_000, indexes=1)
        make_table(connection, "archive", 3_000)
        scan(connection, "archive")
        assert reads_of_a_count(connection, server) < 100
