"""Digest texts of performance_schema: statements without literals, with a space between any two tokens.

Names come in backticks, except for unquoted names that are keywords somewhere. These are printed as the keyword, in
capitals or even as another keyword (`user` as SYSTEM_USER). In a name, MySQL prints a backtick unchanged and MariaDB
doubles it. A backtick with a space beside it ends the name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

NAME = r"`(?:[^`]|(?<! )`(?! |$))+`"
"""A regular expression for a name."""
LONGEST = 64
"""Bytes of a name that compute_digest_text (sql_digest.cc) converts: a third of NAME_LEN."""
CUT = "..."
"""Stands in a digest for a name that is longer than LONGEST bytes where the client's character set is not the old utf8
(seen on all servers)."""
_TOKEN = re.compile(rf"{NAME}|\S+")
_OTHER_WORK = frozenset({"DROP", "EXPLAIN", "SHOW", "TRUNCATE"})
"""Statements that name a table and do not read it."""
_BEFORE_LISTS = frozenset({"FROM", "TABLE", "UPDATE"})
_BEFORE_ONE = frozenset({"INTO"})
_JOINS = frozenset({"JOIN", "STRAIGHT_JOIN"})
_ENDS = frozenset({"FOR", "GROUP", "HAVING", "LIMIT", "ORDER", "SET", "UNION", "VALUES", "WHERE", "WINDOW"})
_MODIFIERS = frozenset(
    {"DELAYED", "EXISTS", "HIGH_PRIORITY", "IF", "IGNORE", "LATERAL", "LOW_PRIORITY", "ONLY", "QUICK", "TABLE"}
)
_NO_UPDATE = frozenset({"FOR", "KEY"})
"""Words before UPDATE in FOR UPDATE and in ON DUPLICATE KEY UPDATE."""


@dataclass(slots=True)
class _Level:
    """A level of parentheses.

    Attributes:
        query: Whether FROM begins tables there, and does not belong to a function such as TRIM.
        listing: Whether a comma comes before another table.
        expecting: Whether a table comes next.
    """

    query: bool
    listing: bool = False
    expecting: bool = False


def unquoted(printed: str) -> str:
    """A name without its backticks."""
    return printed[1:-1].replace("``", "`") if printed.startswith("`") else printed


def tables_read(digest_text: str) -> frozenset[tuple[str | None, str]]:
    """The tables that a statement reads or writes, each with its schema; None for one of the session's own schema.

    A keyword in a table's place is a table. So is the name of a common table expression: it may hide a table.
    """
    tokens: list[str] = _TOKEN.findall(digest_text)
    if not tokens or tokens[0] in _OTHER_WORK:
        return frozenset()
    tables: set[tuple[str | None, str]] = set()
    levels = [_Level(query=True, expecting=tokens[0] in ("INSERT", "REPLACE"))]
    for place, token in enumerate(tokens):
        level, before = levels[-1], tokens[place - 1] if place else ""
        if token == "(":  # noqa: S105 - not a password
            # Tables in parentheses, or a query instead of a table.
            levels.append(_Level(level.expecting, level.expecting, level.expecting))
            level.expecting = False
        elif token == ")" and len(levels) > 1:  # noqa: S105 - as above
            levels.pop()
        elif level.expecting and token not in _MODIFIERS | _BEFORE_ONE | {"SELECT"}:
            if place:  # INSERT and REPLACE themselves
                tables.add(_table(tokens, place))
                level.expecting = False
        else:
            _follow(level, token, before, creates=tokens[0] == "CREATE")
    return frozenset(tables)


def _follow(level: _Level, token: str, before: str, *, creates: bool) -> None:
    """Take a token that is no table."""
    if token == "SELECT":  # noqa: S105 - as above
        level.query, level.listing, level.expecting = True, False, False
    elif token == ",":  # noqa: S105 - as above
        level.expecting = level.listing
    elif token in _ENDS:
        level.listing = False
    elif token in _JOINS:
        level.expecting = level.listing
    elif (
        level.query
        and token in _BEFORE_LISTS
        and not (
            (token == "UPDATE" and before in _NO_UPDATE) or (token == "TABLE" and creates)  # noqa: S105
        )
    ):
        level.listing = level.expecting = True
    elif (level.query and token in _BEFORE_ONE) or (creates and token == "ON"):  # noqa: S105
        level.expecting = True


def _table(tokens: Sequence[str], place: int) -> tuple[str | None, str]:
    """The table that begins at a token."""
    first = unquoted(tokens[place])
    if tokens[place + 1 : place + 2] == ["."] and place + 2 < len(tokens):
        return first, unquoted(tokens[place + 2])
    return None, first
