"""The statements that name a table, from real servers."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from exporter.anonymisation import Pseudonyms
from exporter.collectors.table_digests import MOST_DIGESTS, SQL, Digest, not_in_digests, table_digests
from exporter.connection.errors import ConnectionLost
from exporter.connection.target import from_dsn
from exporter.rows import Rows
from exporter.sampling.sampler import Sampler
from exporter.server import identify
from exporter.snapshot import Table
from lab.servers import PrivateServer

Ask = Callable[..., list[tuple[Any, ...]]]
Named = Callable[..., dict[str, Digest]]

SCHEMA, ODD = "digest-s", "we`ird 漢字_%"
ROWS = 300
EMPTY = "TRUNCATE TABLE performance_schema.events_statements_summary_by_digest"


@pytest.fixture(scope="module")
def named(server: PrivateServer, ask: Ask) -> Iterator[Named]:
    """Empty the server's digest table, run statements in SCHEMA, and return the ones that name a table, by text."""
    create = "CREATE TABLE {} (id INT PRIMARY KEY, t INT NOT NULL, filler INT, KEY (t)) ENGINE=InnoDB"
    ask(
        server,
        f"DROP DATABASE IF EXISTS `{SCHEMA}`",
        f"CREATE DATABASE `{SCHEMA}`",
        f"USE `{SCHEMA}`",
        *(create.format(name) for name in ("t", "t2", f"`{ODD.replace('`', '``')}`")),
        "INSERT INTO t VALUES " + ",".join(f"({n},{n},{n})" for n in range(ROWS)),
    )
    identity = identify({"version": server.version, "performance_schema": "ON"})

    def named(table: Table, *statements: str, within: str = SCHEMA) -> dict[str, Digest]:
        ask(server, f"USE `{within}`", EMPTY, *statements)
        collector = table_digests(table)
        assert collector.queries(identity) == (SQL,)
        with server.connect(charset="utf8mb4") as connection, connection.cursor() as cursor:
            cursor.execute(SQL, collector.values)
            rows = Rows.of([column[0] for column in cursor.description or ()], cursor.fetchall())
        section = collector.parse([rows])
        return {} if section is None else {digest.text: digest for digest in section.digests}

    yield named
    ask(server, f"DROP DATABASE `{SCHEMA}`")


def test_a_statement_has_its_executions_rows_and_times(named: Named) -> None:
    began = time.time()
    digests = named(
        Table(SCHEMA, "t"),
        *["SELECT SUM(id) FROM t"] * 3,
        *[f"SELECT * FROM `{SCHEMA}`.t WHERE id = {number}" for number in range(7)],
    )
    [scan], [lookup] = (
        [digest for text, digest in digests.items() if ("SUM" in text) is scans] for scans in (True, False)
    )
    assert (scan.executions, scan.rows_examined) == (3, 3 * ROWS)
    assert (lookup.executions, lookup.rows_examined, lookup.without_index) == (7, 7, False)
    assert scan.seconds > 0.0
    assert scan.schema == SCHEMA
    # MariaDB cuts off what is less than a second, and MySQL 5.6 rounds it.
    assert math.floor(began) <= scan.first_seen <= scan.last_seen <= math.ceil(time.time())


def test_reads_without_an_index_and_whole_counts_are_told_from_others(named: Named) -> None:
    digests = named(
        Table(SCHEMA, "t"),
        "SELECT * FROM t WHERE id + 1 = 5",
        "SELECT COUNT(*) FROM t",
        "SELECT * FROM t WHERE t = 5",
    )
    assert sorted(digest.without_index for digest in digests.values()) == [False, True, True]


def test_only_statements_on_this_very_table_are_found(named: Named) -> None:
    statements = ("SELECT t FROM t2", f"SELECT * FROM `{SCHEMA}`.t2, mysql.help_topic", "SELECT 1")
    assert named(Table(SCHEMA, "t"), *statements) == {}
    assert len(named(Table(SCHEMA, "t2"), *statements)) == 2
    assert named(Table("mysql", "t2"), *statements) == {}
    assert len(named(Table("mysql", "help_topic"), "SELECT COUNT(*) FROM help_topic", within="mysql")) == 1


def test_a_name_is_found_whatever_it_holds(named: Named) -> None:
    quoted = f"`{ODD.replace('`', '``')}`"
    assert len(named(Table(SCHEMA, ODD), f"SELECT * FROM {quoted}", f"DELETE FROM `{SCHEMA}`.{quoted}")) == 2
    for name in ("漢字", "'; DROP TABLE t", "`", "\\", "x" * 64):
        assert named(Table(SCHEMA, name), "SELECT * FROM t") == {}


async def test_the_sidecar_asks_in_its_own_session_and_keeps_nothing(
    server: PrivateServer, watch: Callable[..., Sampler], named: Named
) -> None:
    named(Table(SCHEMA, "t"), *["SELECT SUM(id) FROM t"] * 3)
    sampler = watch(server)
    with pytest.raises(ConnectionLost, match="has not been reached yet"):
        await sampler.ask(table_digests(Table(SCHEMA, "t")))
    await sampler.collect()
    for name, executions in (("t", [3]), (ODD, []), ("\\'; DROP TABLE t -- %s", [])):
        collector = table_digests(Table(SCHEMA, name))
        answer = await sampler.ask(collector)
        assert (answer.failure, answer.reason) == (None, "")
        section = collector.parse(answer.results)
        assert [digest.executions for digest in (section.digests if section else ())] == executions
    assert "table_digests" not in (await sampler.collect()).outcomes


async def test_an_account_that_may_not_read_digests_is_told_the_grant(
    server: PrivateServer, watch: Callable[..., Sampler], ask: Ask
) -> None:
    ask(server, "CREATE USER digestless@localhost")
    sampler = watch(replace(from_dsn(server.dsn), user="digestless"))
    await sampler.collect()
    answer = await sampler.ask(table_digests(Table(SCHEMA, "t")))
    ask(server, "DROP USER digestless@localhost")
    assert answer.failure == "privilege"
    assert answer.cure == "GRANT SELECT ON performance_schema.* TO 'digestless'@'localhost'"


def test_only_the_statements_that_took_most_time_are_asked_for(named: Named) -> None:
    many = [f"SELECT id AS a{number} FROM t LIMIT 1" for number in range(MOST_DIGESTS + 20)]
    assert len(named(Table(SCHEMA, "t"), *many)) == MOST_DIGESTS


def test_names_that_no_digest_has_are_told() -> None:
    assert not_in_digests(Table("s", "x" * 64)) is None
    assert not_in_digests(Table("s", "x" * 65)) == "digests cut names that are longer than 64 bytes"
    assert "beyond U+FFFF" in (not_in_digests(Table("s", "😀")) or "")


def test_no_text_gets_into_an_anonymous_recording() -> None:
    rows = Rows(("digest_text",), (("SELECT ? FROM `secret`",),))
    assert table_digests(Table("s", "t")).anonymise(Pseudonyms(), rows).rows == ()
