"""The settings of the sidecar's sessions, so that no result depends on settings that the owner chose for other clients.

A session begins with the server's global values, and for an account without SUPER with the statements of init_connect.
Some of these spoil results without an error: latin1 makes two tables one (``??.??``), sql_select_limit cuts results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from exporter.rows import Value, text
from exporter.server import Server

LOCK_WAIT_SECONDS: Final = 2
_IDLE_SECONDS: Final = 3600
_TEMPORARY_BYTES: Final = 64 << 20
"""Temporary tables up to this size stay in memory: a row of INFORMATION_SCHEMA takes 2 KiB there, one a table."""

_Settings = Mapping[str, float | str]

_RESULTS: _Settings = {
    "character_set_client": "utf8mb4",
    "character_set_results": "utf8mb4",
    "collation_connection": "utf8mb4_general_ci",  # known to every server; sets character_set_connection, too
    "sql_mode": "",
    "sql_quote_show_create": 1,  # InnoDB prints names in quotes
    "sql_select_limit": 2**64 - 1,
    "sql_big_selects": 1,  # max_join_size does not apply
    "max_sort_length": 1024,  # the part of a text that is compared
    "time_zone": "+00:00",
    "autocommit": 1,  # else every result is as old as the session's first
}
"""Results depend on these."""
_COSTS: _Settings = {
    # A temporary table on disk may be InnoDB's: the sidecar would write, and change what it measures.
    "sql_buffer_result": 0,
    "tmp_table_size": _TEMPORARY_BYTES,
    "max_heap_table_size": _TEMPORARY_BYTES,
    "lock_wait_timeout": LOCK_WAIT_SECONDS,
    "innodb_lock_wait_timeout": LOCK_WAIT_SECONDS,
    "wait_timeout": _IDLE_SECONDS,  # the owner's may be shorter than the time between two collections
}
"""Results do not depend on these: a server may allow less (``--maximum-wait-timeout``)."""


def _set(settings: _Settings) -> str:
    return f"SET {', '.join(f'SESSION {name} = {value!r}' for name, value in settings.items())}"


FIRST_SQL: Final = _set({**_RESULTS, **_COSTS})
"""Precedes all else, also the question which server it is: a limit of rows would cut that answer off."""


def second_sql(server: Server, statement_seconds: float) -> str:
    """The settings whose names depend on the server: a read-only session, and a limit for each statement."""
    settings = {**_transactions(server)}
    if server.has("big_tables"):
        settings["big_tables"] = 0
    if server.has("max_execution_time"):
        settings["max_execution_time"] = round(statement_seconds * 1000)  # SELECT only
    elif server.has("max_statement_time"):
        settings["max_statement_time"] = statement_seconds
    return _set(settings)


def check_sql(server: Server) -> str:
    """The account, the session's number, and the settings that results depend on, as they are."""
    names = ", ".join(f"@@SESSION.{name} AS {name}" for name in _checked(server))
    return f"SELECT CURRENT_USER() AS account, CONNECTION_ID() AS id, {names}"


def differences(server: Server, session: Mapping[str, Value]) -> Iterator[str]:
    """The settings that are not as they were set, such as ``sql_select_limit is 100``."""
    for name, value in _checked(server).items():
        if text(session[name]) != str(value):
            yield f"{name} is {text(session[name]) or 'empty'}"


def _transactions(server: Server) -> _Settings:
    prefix = "transaction" if server.has("transaction_variables") else "tx"
    return {f"{prefix}_isolation": "READ-COMMITTED", f"{prefix}_read_only": 1}


def _checked(server: Server) -> _Settings:
    return {**_RESULTS, **_transactions(server)}
