"""Errors between the sidecar and the server, by cause; the driver's errors become these by the server's numbers."""

from __future__ import annotations

import os
import re
from typing import Literal

from pymysql import err

from exporter.connection.target import Target

_PRIVILEGE = frozenset({1044, 1142, 1143, 1227, 1370, 1410})
_LOGIN = frozenset({1045, 1130, 1251, 1524, 1698, 1820, 1862, 2059, 3118, 3159, 4151})
_DEADLINE = frozenset({1317, 1969, 3024})
_LOST = frozenset({1053, 1077, 1079, 1927, 2006, 2013, 2014, 2055, 4031})
_SETTING = frozenset({1115, 1193, 1227, 1231, 1232, 1238, 1273, 1298})
_QUOTA = 1226
_RESOURCE = re.compile(r"'(max_\w+)'")
_SESSIONS = 4
"""Enough for the sidecar's two, and for two that the server has not ended yet."""
_QUERIES = ("max_questions", "max_queries_per_hour")
LONGEST_TEXT = 512
"""Characters of a text: MYSQL_ERRMSG_SIZE, the most that a server sends (include/mysql_com.h)."""
DIRECT = (
    "connect to the server itself, not through a proxy, and take --maximum-… options for these settings away: what the"
    " statements return depends on them"
)
"""The cure where a session does not get its settings."""


class ServerError(Exception):
    """An error between the sidecar and the server; its text is for a user to read.

    Attributes:
        failure: ``privilege``: the account may not read the source. ``deadline``: the statement exceeded its time
            limit.
    """

    def __init__(self, text: str, failure: Literal["privilege", "deadline", "failed"] = "failed") -> None:
        super().__init__(text)
        self.failure: Literal["privilege", "deadline", "failed"] = failure


class ConnectionLost(ServerError):
    """The connection broke; a new one must be opened."""


def query_error(error: err.MySQLError, target: Target) -> ServerError:
    """The error of a statement."""
    code, text = _code_and_text(error)
    if code in _PRIVILEGE:
        return ServerError(text, "privilege")
    if code in _DEADLINE:
        return ServerError(text, "deadline")
    if code in _LOST or isinstance(error, err.InterfaceError):
        return ConnectionLost(f"the connection to {target.address} broke: {text}")
    if code == _QUOTA:
        return ServerError(_over_quota(text, target))
    return ServerError(f"error {code}: {text}" if code else text)


def connect_error(error: err.MySQLError, target: Target, *, greeted: bool) -> ServerError:
    """The error of a login, or of the first statements of a session.

    Args:
        error: The driver's error.
        target: The server.
        greeted: Whether the server had sent its greeting.
    """
    code, text = _code_and_text(error)
    if code == _QUOTA:
        return ServerError(_over_quota(text, target))
    if code in _LOGIN:
        return ServerError(f"{target.address} refused the login of {target.user!r}: {text}")
    if code in _SETTING:
        return ServerError(f"{target.address} refuses the session's settings: error {code}: {text}; {DIRECT}")
    cause = error.__cause__
    if greeted and (code in _LOST or isinstance(cause, ConnectionError)):
        return ServerError(f"{target.address} closed the connection during the login")
    if isinstance(cause, OSError):
        # asyncio's own text for a refused connection repeats the address.
        reason = os.strerror(cause.errno) if isinstance(cause, ConnectionError) and cause.errno else cause.strerror
        return ServerError(f"cannot connect to {target.address}: {reason or cause}")
    if code in _LOST:
        return ServerError(f"{target.address} closed the connection without a MySQL greeting; is it a MySQL server?")
    if isinstance(error, err.InternalError) and not code:
        return ServerError(f"{target.address} does not speak the MySQL protocol: {text}")
    return ServerError(f"{target.address} refused the connection: {text}")


def _over_quota(text: str, target: Target) -> str:
    """The refusal of an account that exceeded one of its limits, and the cure.

    It is the same for statements and for logins, which the server refuses in turn, so that a log has it once.
    """
    named = _RESOURCE.search(text)
    resource = "MAX_QUERIES_PER_HOUR" if named is None or named[1] in _QUERIES else named[1].upper()
    limit = _SESSIONS if resource == "MAX_USER_CONNECTIONS" else 0  # 0 is no limit
    return f"{target.address} refuses the account {target.user!r}: {text}; ALTER USER … WITH {resource} {limit}"


def _code_and_text(error: err.MySQLError) -> tuple[int, str]:
    """The error's number, 0 without one, and its text, which may be anybody's who answers at that address."""
    match error.args:
        case (int(code), str(text), *_):
            return code, _shortened(text)
        case (str(text), *_):
            return 0, _shortened(text)
        case _:
            return 0, type(error).__name__


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]} …"
