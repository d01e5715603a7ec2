"""Statements behind a table: rates from two looks, and their order."""

from __future__ import annotations

from dataclasses import replace

from advisor.overview.statements import MOST_STATEMENTS, earlier, statements
from exporter.collectors.table_digests import Digest, TableDigests

NOW = 1_700_003_600.0
SCAN = Digest("shop", "a", "SELECT * FROM `t`", 50, 100.0, 500_000, True, NOW - 1800.0, NOW)


def look(*digests: Digest, at: float = NOW) -> TableDigests:
    return TableDigests(digests, at)


def test_the_first_look_counts_since_the_server_saw_the_statement() -> None:
    [statement] = statements(look(SCAN), None).statements
    assert (statement.per_hour, statement.rows_examined_per_call, statement.seconds_per_call) == (100, 10_000, 2)
    assert statement.since == NOW - 1800.0


def test_a_later_look_counts_since_the_earlier_one() -> None:
    before = replace(SCAN, executions=40, seconds=95.0, rows_examined=499_000)
    [statement] = statements(look(SCAN), look(before, at=NOW - 360.0)).statements
    assert (statement.per_hour, statement.rows_examined_per_call, statement.seconds_per_call) == (100, 100, 0.5)
    assert statement.since == NOW - 360.0


def test_counts_that_began_anew_are_not_compared() -> None:
    for before in (
        replace(SCAN, executions=60),
        replace(SCAN, executions=40, first_seen=1.0),
        replace(SCAN, executions=40, schema=None),
    ):
        assert statements(look(SCAN), look(before, at=NOW - 360.0)) == statements(look(SCAN), None)


def test_a_single_execution_makes_no_rate_within_a_minute() -> None:
    once = replace(SCAN, executions=1, first_seen=NOW - 10.0)
    assert [statement.per_hour for statement in statements(look(once), None).statements] == [None]
    assert [statement.per_hour for statement in statements(look(once, at=NOW + 50.0), None).statements] == [60]


def test_one_that_rests_has_no_figures_of_a_call_and_comes_last() -> None:
    lookup = replace(SCAN, digest="b", without_index=False)
    before = look(SCAN, replace(lookup, executions=10), at=NOW - 60.0)
    first, last = statements(look(SCAN, lookup), before).statements
    assert (first.digest, last.digest) == ("b", "a")
    assert (last.per_hour, last.rows_examined_per_call, last.seconds_per_call) == (0, None, None)


def test_reads_without_an_index_come_first_and_the_busy_ones_before_others() -> None:
    lookup = replace(SCAN, digest="b", without_index=False, seconds=9000.0)
    idler = replace(SCAN, digest="c", seconds=1.0)
    assert [statement.digest for statement in statements(look(lookup, idler, SCAN), None).statements] == ["a", "c", "b"]


def test_the_others_are_counted() -> None:
    many = look(*(replace(SCAN, digest=f"{number}") for number in range(MOST_STATEMENTS + 3)))
    answer = statements(many, None)
    assert (len(answer.statements), answer.more_statements) == (MOST_STATEMENTS, 3)
    assert statements(None, None).statements == ()


def test_the_oldest_look_of_an_hour_is_compared() -> None:
    looks = [look(at=NOW - age) for age in (4000.0, 3000.0, 60.0)]
    assert earlier(looks, NOW, 3600.0) is looks[1]
    assert earlier([look()], NOW, 3600.0) is None
    assert earlier([look(at=NOW + 9.0)], NOW, 3600.0) is None  # the server's clock was set back
