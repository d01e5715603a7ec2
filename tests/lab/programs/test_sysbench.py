"""sysbench runs on every server, reports its results, and fails with its output."""

import time
from collections.abc import Iterator

import pytest

from lab.packages.cache import Unavailable
from lab.programs import sysbench
from lab.servers import Server
from lab.servers.sql import execute, query_number
from tests.unavailable import give_up
from tests.waiting import DEADLINE

SCHEMA, ROWS = "sysbench_test", 2_000

# The end of what seed 004 shows of a run, as sysbench 1.0.20 prints it.
REPORT = """\
SQL statistics:
    queries performed:
        read:                            0
        write:                           2059942
        other:                           1030033
        total:                           3089975
    transactions:                        514659 (857.76 per sec.)
    queries:                             3089975 (5149.91 per sec.)
    ignored errors:                      715    (1.19 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          600.0029s
    total number of events:              514659

Latency (ms):
         min:                                    1.39
         avg:                                    4.66
         max:                                   82.23
         95th percentile:                        9.06
         sum:                              2398246.98
"""


@pytest.fixture
def prepared(server: Server) -> Iterator[Server]:
    try:
        sysbench.prepare(server, "oltp_write_only", schema=SCHEMA, table_size=ROWS, secondary=True)
    except Unavailable as error:
        give_up(f"sysbench is unavailable here: {error}")
    yield server
    execute(server, f"DROP DATABASE {SCHEMA}")


def inserts(server: Server) -> int:
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL STATUS LIKE 'Com_insert'")
        [(_, value)] = cursor.fetchall()
        return int(value)


def test_every_number_of_the_report_is_read() -> None:
    found = sysbench.parsed(REPORT)
    assert (found.transactions, found.queries, found.writes, found.ignored_errors) == (
        514_659,
        3_089_975,
        2_059_942,
        715,
    )
    assert (found.latency_min, found.latency_avg, found.latency_p95, found.latency_max) == (1.39, 4.66, 9.06, 82.23)
    assert found.transactions_per_second == pytest.approx(857.76, abs=0.01)
    assert found.queries_per_second == pytest.approx(5149.91, abs=0.03)


def test_a_report_with_a_missing_number_is_an_error() -> None:
    with pytest.raises(sysbench.SysbenchError, match=r"transactions.*\n.*total time"):
        sysbench.parsed("    total time:    1.5s")


def test_tables_are_created_and_written_by_the_options(prepared: Server) -> None:
    assert query_number(prepared, f"SELECT COUNT(*) FROM {SCHEMA}.sbtest1") == ROWS
    indexes = f"SELECT COUNT(DISTINCT INDEX_NAME) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = '{SCHEMA}'"
    assert query_number(prepared, f"{indexes} AND NON_UNIQUE = 1") == query_number(prepared, indexes) == 2

    before = inserts(prepared)
    found = sysbench.run(
        prepared, "oltp_write_only", threads=2, events=50, schema=SCHEMA, table_size=ROWS, rand_type="uniform"
    )
    assert found.transactions == 50
    # One INSERT a transaction; one that met a deadlock began again, and may have done its INSERT before.
    assert 50 <= inserts(prepared) - before <= 50 + found.ignored_errors
    assert found.queries >= 6 * found.transactions
    assert found.writes == pytest.approx(found.queries * 4 / 6, abs=8)
    assert 0 < found.latency_min <= found.latency_avg <= found.latency_max


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
def test_a_failure_contains_sysbenchs_output(prepared: Server) -> None:
    with pytest.raises(sysbench.SysbenchError, match="Table 'sbtest1' already exists"):
        sysbench.prepare(prepared, "oltp_write_only", schema=SCHEMA)
    with pytest.raises(sysbench.SysbenchError, match="Unknown database 'nowhere'"):
        sysbench.run(prepared, "oltp_write_only", seconds=1, schema="nowhere")
    with pytest.raises(sysbench.SysbenchError, match="no such built-in test"):
        sysbench.run(prepared, "oltp_no_such", seconds=1)
    with pytest.raises(ValueError, match="without an end"):
        sysbench.run(prepared, "oltp_write_only")


@pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)
def test_nothing_keeps_running_after_a_run_that_took_too_long(
    prepared: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sysbench, "PATIENCE_SECONDS", -4.0)
    with pytest.raises(sysbench.SysbenchError, match="took longer than 1 s"):
        sysbench.run(prepared, "oltp_write_only", seconds=5, schema=SCHEMA, table_size=ROWS)
    writing = f"SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = '{SCHEMA}'"
    deadline = time.monotonic() + DEADLINE
    while query_number(prepared, writing) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert query_number(prepared, writing) == 0
