from collections.abc import Callable, Iterator
from typing import Any

import pytest

from exporter.anonymisation import Pseudonyms
from exporter.collectors import count_statements
from exporter.collectors.base import TOP
from exporter.collectors.count_statements import COUNT_STATEMENTS, CountStatement
from exporter.digest_text import CUT
from exporter.rows import Rows
from exporter.server import identify
from exporter.snapshot import Snapshot, Table
from lab.servers import PrivateServer
from tests.exporter.exposition import exposed

Ask = Callable[..., list[tuple[Any, ...]]]
Fetch = Callable[[PrivateServer, str], Rows]
Counted = Callable[..., dict[Table, CountStatement]]

SCHEMA = "count-ing"
ROWS = 300
T = Table(SCHEMA, "t")


def statement_of(server: PrivateServer) -> str:
    [sql] = count_statements.queries(identify({"version": server.version, "performance_schema": "ON"}))
    return sql


@pytest.fixture(scope="module")
def counted(server: PrivateServer, ask: Ask, fetch: Fetch) -> Iterator[Counted]:
    """Empty the server's digest table, run statements in SCHEMA, and return the section."""
    create = "CREATE TABLE {} (id INT PRIMARY KEY, k INT NOT NULL, KEY (k)) ENGINE=InnoDB"
    ask(
        server,
        f"DROP DATABASE IF EXISTS `{SCHEMA}`",
        f"CREATE DATABASE `{SCHEMA}`",
        f"USE `{SCHEMA}`",
        *(create.format(name) for name in ("t", "`a``b`", "`日本`", "`a b.c`", "user")),
        "INSERT INTO t VALUES " + ",".join(f"({n},{n})" for n in range(ROWS)),
    )

    def counted(*statements: str) -> dict[Table, CountStatement]:
        empty = "TRUNCATE TABLE performance_schema.events_statements_summary_by_digest"
        ask(server, f"USE `{SCHEMA}`", empty, *statements)
        return dict(count_statements.parse([fetch(server, statement_of(server))]))

    yield counted
    ask(server, f"DROP DATABASE `{SCHEMA}`")


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT COUNT(*) FROM t",
        "select count( * )  from\n t",
        "/* a job */ SELECT /* of mine */ COUNT(*) FROM t",
        f"SELECT COUNT(*) FROM `{SCHEMA}`.t",
        "SELECT COUNT(1) FROM t",
        "SELECT COUNT('x') FROM t",
        "SELECT COUNT(*) AS n FROM t",
        "SELECT COUNT(*) n FROM t",
        "SELECT COUNT(*) AS `how many` FROM t",
        "SELECT COUNT(*) AS 'how many' FROM t",
        "SELECT COUNT(*) FROM t AS x",
        f"SELECT COUNT(*) AS `__count` FROM `{SCHEMA}`.`t` `x`",
        "SELECT COUNT(*) FROM t USE INDEX (k)",
        "SELECT COUNT(*) FROM t FORCE INDEX (k)",
        "SELECT COUNT(*) FROM t FORCE INDEX (PRIMARY)",
        "SELECT COUNT(*) FROM t x FORCE KEY (`PRIMARY`)",
        "SELECT COUNT(*) FROM t USE INDEX (primary)",
    ],
)
def test_a_count_of_a_whole_table_is_found(counted: Counted, server: PrivateServer, statement: str) -> None:
    counts = counted(*[statement] * 3)
    assert list(counts) == [T]
    assert counts[T].executions == 3
    assert counts[T].seconds > 0
    assert counts[T].forced_primary == (3 if "primary" in statement.lower() else 0)
    # MySQL does not count the rows that a parallel read examines; the other servers do.
    assert counts[T].rows_examined == (0 if server.name == "mysql-9.7" else 3 * ROWS)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT COUNT(*) FROM t WHERE id > 7",
        "SELECT COUNT(*) FROM t x WHERE x.id > 7",
        "SELECT COUNT(*) FROM t WHERE k IN (1, 2)",
        "SELECT COUNT(*) FROM t GROUP BY k",
        "SELECT COUNT(*) FROM t HAVING COUNT(*) > 7",
        "SELECT COUNT(*) FROM t, t AS u",
        "SELECT COUNT(*) FROM t JOIN t AS u ON t.id = u.id",
        "SELECT COUNT(*) FROM t x JOIN t y USING (id)",
        "SELECT COUNT(*) FROM t LEFT JOIN `日本` y USING (id)",
        "SELECT COUNT(*) FROM (SELECT 1) AS x",
        "SELECT COUNT(*), MAX(k) FROM t",
        "SELECT COUNT(k) FROM t",
        "SELECT COUNT(DISTINCT k) FROM t",
        "SELECT COUNT(*) FROM t UNION SELECT 1",
        "SELECT (SELECT COUNT(*) FROM t)",
        "SELECT COUNT(*)",
        "EXPLAIN SELECT COUNT(*) FROM t",
        "SELECT * FROM t",
    ],
)
def test_another_statement_is_not(counted: Counted, statement: str) -> None:
    assert counted(statement) == {}


def test_the_forms_of_one_count_are_summed(counted: Counted) -> None:
    counts = counted(
        "SELECT COUNT(*) FROM t",
        f"SELECT COUNT(*) FROM `{SCHEMA}`.t",
        "SELECT COUNT(1) FROM t",
        "SELECT COUNT(*) FROM t FORCE INDEX (PRIMARY)",
    )
    assert counts[T].executions == 4
    assert counts[T].forced_primary == 1


def test_names_are_those_of_the_tables(counted: Counted) -> None:
    names = ("a`b", "日本", "a b.c", "t")
    counts = counted(
        *(
            statement.format("`" + name.replace("`", "``") + "`")
            for name in names
            for statement in ("SELECT COUNT(*) FROM {}", f"SELECT COUNT(*) FROM `{SCHEMA}`.{{}} AS x")
        )
    )
    assert {table: one.executions for table, one in counts.items()} == {Table(SCHEMA, name): 2 for name in names}


def test_a_name_that_the_server_prints_as_a_keyword_is_not_guessed(counted: Counted) -> None:
    """Unquoted, `user` is printed as SYSTEM_USER; quoted or after its schema, unchanged."""
    assert counted("SELECT COUNT(*) FROM user") == {}
    counts = counted("SELECT COUNT(*) FROM `user`", f"SELECT COUNT(*) FROM `{SCHEMA}`.user")
    assert {table: one.executions for table, one in counts.items()} == {Table(SCHEMA, "user"): 2}


def test_the_sidecars_own_statements_are_left_out(counted: Counted, server: PrivateServer) -> None:
    own = ("SELECT CURRENT_USER()", statement_of(server))
    assert counted(*(f"/* innodb-advisor:x */ {sql}" for sql in own)) == {}


LONG = "長" * 22
"""66 bytes: one character more than a digest names for a client with utf8mb4."""


@pytest.mark.parametrize(
    ("statement", "whole"),
    [
        ("SELECT COUNT(*) FROM {}", True),
        ("select count( 1 ) from -- of mine\n {} as x ;", True),
        ("SELECT COUNT(*) FROM {} FORCE INDEX (PRIMARY)", True),
        ("SELECT COUNT(*) FROM {} WHERE id > 7", False),
        ("SELECT COUNT(*) FROM {} a, t b", False),
    ],
)
def test_a_name_that_the_digest_cuts_is_read_from_the_sample(
    counted: Counted, ask: Ask, server: PrivateServer, statement: str, *, whole: bool
) -> None:
    ask(server, f"CREATE TABLE IF NOT EXISTS `{SCHEMA}`.`{LONG}` LIKE `{SCHEMA}`.t")
    counts = counted(statement.format(f"`{LONG}`"))
    sampled = server.name == "mysql-9.7"  # the others keep no sample
    assert set(counts) == ({Table(SCHEMA, LONG if sampled else CUT)} if whole else set())
    assert count_statements.hidden(counts, Table(SCHEMA, LONG)) == (whole and not sampled)
    assert not count_statements.hidden(counts, T)


def test_a_sample_is_kept_out_of_shared_recordings(counted: Counted, server: PrivateServer, fetch: Fetch) -> None:
    counted(f"SELECT COUNT(*) FROM `{LONG}`")
    rows = COUNT_STATEMENTS.anonymise(Pseudonyms(), fetch(server, statement_of(server)))
    assert LONG not in repr(rows)
    assert len(count_statements.parse([rows])) == 1


def test_executions_are_exposed() -> None:
    known = Snapshot(1.0, identify({"version": "9.7.4", "performance_schema": "ON"}), "a@b")
    counted = {Table("shop", "orders"): CountStatement(executions=7, seconds=1.0, rows_examined=0, forced_primary=0)}
    metrics = exposed(known.with_section(COUNT_STATEMENTS, counted))
    assert metrics["innodb_count_star_total"] == {("shop", "orders"): 7}


def test_of_many_tables_those_counted_most_have_series() -> None:
    known = Snapshot(1.0, identify({"version": "9.7.4", "performance_schema": "ON"}), "a@b")
    counted = {Table("shop", f"t{n}"): CountStatement(n, 2000.0 - n, 5000 - n, 0) for n in range(2000)}
    metrics = exposed(known.with_section(COUNT_STATEMENTS, counted))
    most = {("shop", f"t{n}") for n in range(2000 - TOP, 2000)}
    for name in ("", "_seconds", "_rows_examined", "_forced_primary"):
        assert set(metrics[f"innodb_count_star{name}_total"]) == most
    assert metrics["innodb_count_star_seconds_total"]["shop", "t1999"] == 1.0
