"""Where the global variables are set that do not stand at their default: an option file, the command line, at runtime.

MySQL tells it from 8.0 on (performance_schema.variables_info, also while performance_schema is off), MariaDB in
INFORMATION_SCHEMA.SYSTEM_VARIABLES, a temporary table on disk for each query: both are read seldom. Names are read,
and the kind of place; no path, and no value but that of a setting of knowledge.toml in mysqld-auto.cnf.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from exporter import knowledge
from exporter.anonymisation import columns, unchanged
from exporter.collectors.base import Collector, SourceUnavailable
from exporter.rows import Rows, text
from exporter.server import Server

Origin = Literal["option file", "command line", "mysqld-auto.cnf", "environment", "runtime"]

ORIGINS: Final[Mapping[str, Origin]] = {
    # MySQL: the option files that it reads, in their order
    "GLOBAL": "option file",
    "SERVER": "option file",
    "EXPLICIT": "option file",
    "EXTRA": "option file",
    "USER": "option file",
    "LOGIN": "option file",
    "COMMAND_LINE": "command line",
    "PERSISTED": "mysqld-auto.cnf",
    "DYNAMIC": "runtime",
    # MariaDB
    "CONFIG": "option file",
    "COMMAND-LINE": "command line",
    "ENVIRONMENT": "environment",
    "SQL": "runtime",
}

_KNOWN = ", ".join(f"'{name}'" for name in sorted(knowledge.SETTINGS))
MYSQL_SQL = (
    "SELECT VARIABLE_NAME AS name, VARIABLE_SOURCE AS origin FROM performance_schema.variables_info"
    " WHERE VARIABLE_SOURCE <> 'COMPILED'"
)
PERSISTED_SQL = (
    f"SELECT VARIABLE_NAME AS name, IF(VARIABLE_NAME IN ({_KNOWN}), VARIABLE_VALUE, NULL) AS value"
    " FROM performance_schema.persisted_variables"
)
MARIADB_SQL = (  # AUTO: computed by the server
    "SELECT VARIABLE_NAME AS name, GLOBAL_VALUE_ORIGIN AS origin FROM information_schema.SYSTEM_VARIABLES"
    " WHERE GLOBAL_VALUE_ORIGIN NOT IN ('COMPILE-TIME', 'AUTO')"
)


@dataclass(frozen=True, slots=True)
class VariableOrigins:
    """Variables that do not stand at their default, by name in lower case."""

    origins: Mapping[str, Origin]
    """Where the present value comes from. ``runtime``: from SET GLOBAL, also where SET PERSIST has kept it. MySQL says
    so after a session's SET SESSION too, with the global value as it was (seen on 9.7.4)."""
    persisted: Mapping[str, str | None]
    """In mysqld-auto.cnf, with the value of a setting of knowledge.toml; None for the value of others."""


def queries(server: Server) -> tuple[str, ...]:
    """The present values' origins; on MySQL also mysqld-auto.cnf."""
    if server.mariadb:
        return (MARIADB_SQL,)
    if not server.has("variable_origins"):
        raise SourceUnavailable(
            "absent", "MySQL tells where a variable is set from 8.0 on; its option file tells it too"
        )
    return MYSQL_SQL, PERSISTED_SQL


def parse(results: Sequence[Rows]) -> VariableOrigins:
    """All variables that are set; on MariaDB nothing is persisted."""
    origins = {text(row["name"]).lower(): ORIGINS[text(row["origin"])] for row in results[0]}
    persisted = {
        text(row["name"]).lower(): None if row["value"] is None else text(row["value"])
        for rows in results[1:]
        for row in rows
    }
    return VariableOrigins(origins, persisted)


VARIABLE_ORIGINS = Collector(
    "variable_origins",
    queries,
    parse,
    every=300.0,
    anonymise=columns(name=unchanged, origin=unchanged, value=unchanged),
)
