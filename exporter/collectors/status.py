"""Global status: InnoDB's cumulative counters, and the uptime.

MariaDB counts no Innodb_rows_inserted and the like from 10.6 on (seen: 10.5 does, 10.11 and 11.8 do not), so that the
Handler_ counters, of all engines, are taken too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from exporter.collectors.base import Collector, fixed
from exporter.rows import Rows, number, text

SQL = (
    "SHOW GLOBAL STATUS WHERE Variable_name LIKE 'Innodb%' OR Variable_name IN ("
    "'Aborted_connects', 'Handler_delete', 'Handler_update', 'Handler_write', 'Questions', 'Threads_connected', "
    "'Threads_running', 'Uptime')"
)
_IBUF_PAGES = ("innodb_ibuf_free_list", "innodb_ibuf_segment_size", "innodb_ibuf_size")


def parse(results: Sequence[Rows]) -> Mapping[str, float]:
    """Numbers by name in lower case; values that are texts (Innodb_buffer_pool_dump_status) are left out."""
    values = {text(name).lower(): number(value) for name, value in results[0].rows}
    if values.get("uptime") is None:
        raise ValueError("SHOW GLOBAL STATUS without Uptime")
    known = {name: value for name, value in values.items() if value is not None}
    # MariaDB 10.11 leaves garbage in the upper half of these (seen: 541165879297 for 1).
    return known | {name: float(int(known[name]) & 0xFFFFFFFF) for name in _IBUF_PAGES if name in known}


COLLECTOR = Collector("status", fixed(SQL), parse)
