"""The sidecar's cost to the server: time spent in the statements of its own sessions."""

from __future__ import annotations

from collections.abc import Sequence

from exporter.anonymisation import numbers
from exporter.collectors.base import Collector, counter, with_performance_schema
from exporter.rows import Rows, seconds, whole

SQL = (
    "SELECT SUM(s.SUM_TIMER_WAIT) AS picoseconds"
    " FROM performance_schema.threads t"
    " JOIN performance_schema.events_statements_summary_by_thread_by_event_name s ON s.THREAD_ID = t.THREAD_ID"
    " WHERE t.PROCESSLIST_ID = CONNECTION_ID()"
)


def parse(results: Sequence[Rows]) -> float:
    """Seconds since the sessions were opened, over all sessions (one result for each)."""
    return seconds(sum(whole(rows.rows[0][0]) for rows in results))


SERVER_TIME = Collector(
    "server_time",
    with_performance_schema(SQL),
    parse,
    privilege="SELECT ON performance_schema.*",
    each_session=True,
    anonymise=numbers,
    metrics=(
        counter(
            "innodb_exporter_collector_server_seconds_total",
            "Time the server spent in the sidecar's own statements, since its sessions were opened.",
            "",
        ),
    ),
)
