"""Global status: InnoDB's cumulative counters, and the uptime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from exporter.collectors.base import Collector, fixed
from exporter.rows import Rows, number, text

SQL = (
    "SHOW GLOBAL STATUS WHERE Variable_name LIKE 'Innodb%' OR Variable_name IN ("
    "'Aborted_connects', 'Questions', 'Threads_connected', 'Threads_running', 'Uptime')"
)


def parse(results: Sequence[Rows]) -> Mapping[str, float]:
    """Numbers by name in lower case; values that are texts (Innodb_buffer_pool_dump_status) are left out."""
    values = {text(name).lower(): number(value) for name, value in results[0].rows}
    if values.get("uptime") is None:
        raise ValueError("SHOW GLOBAL STATUS without Uptime")
    return {name: value for name, value in values.items() if value is not None}


COLLECTOR = Collector("status", fixed(SQL), parse)
