"""Global variables: the settings, and what the machine tells through them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from exporter.collectors.base import Collector, fixed
from exporter.rows import Rows, text

SQL = (
    "SHOW GLOBAL VARIABLES WHERE Variable_name LIKE 'innodb%' OR Variable_name IN ("
    "'aurora_version', 'datadir', 'hostname', 'long_query_time', 'max_connections', 'performance_schema', "
    "'port', 'read_only', 'super_read_only', 'version', 'version_comment', 'version_compile_machine', "
    "'version_compile_os')"
)


def parse(results: Sequence[Rows]) -> Mapping[str, str]:
    """Values by name in lower case, as the server prints them."""
    return {text(name).lower(): text(value) for name, value in results[0].rows}


COLLECTOR = Collector("variables", fixed(SQL), parse)
