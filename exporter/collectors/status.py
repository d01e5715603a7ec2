"""Global status: InnoDB's cumulative counters, and the uptime.

MariaDB has no Innodb_rows_inserted and the like from 10.6 on (seen: 10.5 has them, 10.11 and 11.8 do not). The Handler_
counters, which count all engines, are therefore read too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from exporter.anonymisation import name_value_pairs
from exporter.collectors.base import Collector, counter, gauge
from exporter.rows import Rows, Value, credible, lower_half, number, text
from exporter.server import Server

_WHERE = (
    " WHERE Variable_name LIKE 'Innodb%' OR Variable_name IN ("
    "'Aborted_connects', 'Handler_delete', 'Handler_update', 'Handler_write', 'Questions', 'Threads_connected', "
    "'Threads_running', 'Uptime')"
)
SHOW_SQL = f"SHOW GLOBAL STATUS{_WHERE}"
SELECT_SQL = f"SELECT VARIABLE_NAME, VARIABLE_VALUE FROM performance_schema.global_status{_WHERE}"
"""The same in less than half the server's time (9.7.4: 0.4 ms instead of 1.0), for any account."""
_IBUF_PAGES = ("innodb_ibuf_free_list", "innodb_ibuf_segment_size", "innodb_ibuf_size")


def queries(server: Server) -> tuple[str, ...]:
    """One statement. MySQL 5.7's table may be empty (show_compatibility_56); older ones and MariaDB have none."""
    return (SELECT_SQL if server.data_dictionary and server.performance_schema else SHOW_SQL,)


def parse(results: Sequence[Rows]) -> Mapping[str, float]:
    """Numbers by name in lower case. Texts (Innodb_buffer_pool_dump_status) and numbers below 0 are left out.

    Innodb_row_lock_current_waits and Innodb_buffer_pool_pages_misc are known to go below 0: 18446744073709551615.
    """
    printed = {text(name).lower(): value for name, value in results[0].rows}
    # MariaDB 10.11 leaves garbage in the upper half of these (seen: 541165879297 for 1).
    values = {name: lower_half(value) if name in _IBUF_PAGES else number(value) for name, value in printed.items()}
    known = {name: float(value) for name, value in values.items() if value is not None and credible(value)}
    if "uptime" not in known:
        raise ValueError("a status without Uptime")
    return known


def _numbers(_: str, value: Value) -> Value:
    return None if number(value) is None else value


STATUS = Collector(
    "status",
    queries,
    parse,
    quick=True,
    anonymise=name_value_pairs(_numbers),
    metrics=(
        gauge("innodb_server_uptime_seconds", "Time since the server started.", "uptime"),
        counter(
            "innodb_rows_total",
            "Rows that statements inserted, updated, deleted or read. MariaDB 10.6 and later do not count them.",
            "innodb_rows_{}",
            ("operation",),
            words=("inserted", "updated", "deleted", "read"),
        ),
        counter(
            "innodb_buffer_pool_read_ahead_random_total",
            "Pages read by random read-ahead, which innodb_buffer_pool_read_ahead_total does not hold. MariaDB 11.8 "
            "counts them there, and 0 here.",
            "innodb_buffer_pool_read_ahead_rnd",
        ),
    ),
)
