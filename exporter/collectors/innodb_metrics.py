"""INFORMATION_SCHEMA.INNODB_METRICS: the enabled counters, with the change buffer's among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from exporter.collectors.base import Collector
from exporter.rows import Rows, count, text
from exporter.server import Server

SQL = "SELECT NAME, COUNT FROM information_schema.INNODB_METRICS WHERE {enabled}"
IBUF_SIZE_MASK = 0xFFFFFFFF


def queries(server: Server) -> tuple[str, ...]:
    """MySQL's column is STATUS, a text; MariaDB's is ENABLED, a number (seen on 10.5, 10.11 and 11.8)."""
    column = "ENABLED = 1" if server.at_least(mariadb=(10, 5, 0)) else "STATUS = 'enabled'"
    return (SQL.format(enabled=column),)


def parse(results: Sequence[Rows]) -> Mapping[str, int]:
    """Counters by name, as cumulative counts since they were enabled."""
    metrics = {text(name): count(value) for name, value in results[0].rows}
    if "ibuf_size" in metrics:
        # MariaDB 10.11 leaves garbage in the upper half (seen: 4355096838145 for 1).
        metrics["ibuf_size"] &= IBUF_SIZE_MASK
    return metrics


COLLECTOR = Collector("innodb_metrics", queries, parse, privilege="PROCESS ON *.*")
