"""INFORMATION_SCHEMA.INNODB_METRICS: the enabled counters, with the change buffer's among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from exporter.collectors.base import Collector
from exporter.rows import Rows, count_or_none, lower_half, text
from exporter.server import Server

SQL = "SELECT NAME, COUNT FROM information_schema.INNODB_METRICS WHERE {enabled}"
_SIZE = "ibuf_size"


def queries(server: Server) -> tuple[str, ...]:
    """MySQL's column is STATUS, a text; MariaDB's is ENABLED, a number (seen on 10.5, 10.11 and 11.8)."""
    column = "ENABLED = 1" if server.at_least(mariadb=(10, 5, 0)) else "STATUS = 'enabled'"
    return (SQL.format(enabled=column),)


def parse(results: Sequence[Rows]) -> Mapping[str, int]:
    """Counters by name, as cumulative counts since they were enabled; one that was reset may be below 0: left out."""
    printed = {text(name): value for name, value in results[0].rows}
    # MariaDB 10.11 leaves garbage in the upper half of ibuf_size (seen: 4355096838145 for 1).
    metrics = {name: lower_half(value) if name == _SIZE else count_or_none(value) for name, value in printed.items()}
    return {name: value for name, value in metrics.items() if value is not None}


COLLECTOR = Collector("innodb_metrics", queries, parse, privilege="PROCESS ON *.*", quick=True)
