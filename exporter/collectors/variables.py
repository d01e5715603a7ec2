"""Global variables: the settings, and signs of the machine and of the service that runs the server.

Some of them reveal a managed server: aurora_version reveals Aurora, a basedir under /rdsdbbin RDS, aad_auth_only Azure;
cloudsql_iam_authentication is a flag of Cloud SQL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from exporter import knowledge
from exporter.anonymisation import name_value_pairs, plain_version, plain_words
from exporter.collectors.base import Collector, fixed, gauge
from exporter.exposition import LabelledValue
from exporter.rows import Rows, Value, number, text
from exporter.snapshot import Snapshot

SQL = (
    "SHOW GLOBAL VARIABLES WHERE Variable_name LIKE 'innodb%' OR Variable_name LIKE 'aad%'"
    " OR Variable_name LIKE 'azure%' OR Variable_name LIKE 'cloudsql%' OR Variable_name LIKE 'rds%'"
    " OR Variable_name LIKE 'temptable%' OR Variable_name IN ("
    "'aurora_version', 'basedir', 'container_aware', 'datadir', 'group_replication_group_name', 'hostname', 'license', "
    "'log_bin', 'long_query_time', 'max_connections', 'performance_schema', 'pid_file', 'port', 'query_cache_size', "
    "'read_only', 'socket', 'super_read_only', 'table_definition_cache', 'thread_handling', 'thread_pool_size', "
    "'tmp_table_size', 'version', 'version_comment', 'version_compile_machine', 'version_compile_os', 'wsrep_on')"
)

EXPORTED = tuple(sorted(knowledge.SETTINGS))
"""The settings with a metric."""

_SWITCH = re.compile(r"ON|OFF|YES|NO|", re.IGNORECASE)
_PRIVATE = frozenset({"port"})


def parse(results: Sequence[Rows]) -> Mapping[str, str]:
    """Values by name in lower case, as the server prints them."""
    return {text(name).lower(): text(value) for name, value in results[0].rows}


def _exported(snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    return ((name, value) for name in EXPORTED if (value := snapshot.setting(name)) is not None)


def _setting(snapshot: Snapshot) -> Iterator[LabelledValue]:
    for name, value in _exported(snapshot):
        as_number = {"ON": 1.0, "OFF": 0.0}.get(value, number(value))
        if as_number is not None:
            yield (name,), as_number


def _setting_info(snapshot: Snapshot) -> Iterator[LabelledValue]:
    return ((pair, 1.0) for pair in _exported(snapshot))


def _anonymous(name: str, value: Value) -> Value:
    """Settings that rules know, numbers and switches are kept."""
    printed = text(value)
    match name:
        case "version":
            return plain_version(printed)
        case "version_comment" | "version_compile_os" | "version_compile_machine" | "license":
            return plain_words(printed)
        case _:
            plain = name in knowledge.SETTINGS or number(value) is not None or _SWITCH.fullmatch(printed) is not None
            return value if plain and name not in _PRIVATE else None


VARIABLES = Collector(
    "variables",
    fixed(SQL),
    parse,
    anonymise=name_value_pairs(_anonymous),
    metrics=(
        gauge("innodb_setting", "A setting that is a number or ON (1) or OFF (0).", labels=("name",), values=_setting),
        gauge(
            "innodb_setting_info",
            "A setting as the server prints it; always 1.",
            labels=("name", "value"),
            values=_setting_info,
        ),
    ),
)
