"""Global variables: the settings, and what tells of the machine and of who runs the server.

Managed servers are told by some of them: Aurora by aurora_version, RDS by a basedir under /rdsdbbin, Azure by
aad_auth_only; cloudsql_iam_authentication is a flag of Cloud SQL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from exporter.collectors.base import Collector, fixed
from exporter.rows import Rows, text

SQL = (
    "SHOW GLOBAL VARIABLES WHERE Variable_name LIKE 'innodb%' OR Variable_name LIKE 'aad%'"
    " OR Variable_name LIKE 'azure%' OR Variable_name LIKE 'cloudsql%' OR Variable_name LIKE 'rds%'"
    " OR Variable_name IN ("
    "'aurora_version', 'basedir', 'datadir', 'group_replication_group_name', 'hostname', 'license', 'long_query_time', "
    "'max_connections', 'performance_schema', 'pid_file', 'port', 'read_only', 'socket', 'super_read_only', "
    "'table_definition_cache', 'thread_handling', 'thread_pool_size', 'version', 'version_comment', "
    "'version_compile_machine', 'version_compile_os', 'wsrep_on')"
)


def parse(results: Sequence[Rows]) -> Mapping[str, str]:
    """Values by name in lower case, as the server prints them."""
    return {text(name).lower(): text(value) for name, value in results[0].rows}


COLLECTOR = Collector("variables", fixed(SQL), parse)
