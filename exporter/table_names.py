"""Table names in InnoDB's forms.

The dictionary's form is ``schema/table`` in file-name encoding, with a name for each partition. The form for people is
``schema.table``, quoted, with the partition in a comment.
"""

from __future__ import annotations

import functools
import re

from exporter.filename_charset import LETTERS

SYSTEM_SCHEMAS = ("mysql", "sys", "information_schema", "performance_schema")
"""The server's own schemas. The tuple's repr() is a valid list for SQL's IN."""

PARTITION = "#p#"
"""Stands between a table's name and its partition's; ``#P#`` before MySQL 8.0 and on MariaDB."""

_PARTITION = re.compile(rf"{PARTITION}.*", re.IGNORECASE | re.DOTALL)
_CODE_POINT = re.compile(r"[0-9a-f]{4}")
_SURROGATES = range(0xD800, 0xE000)
_QUOTED = re.compile(r"""([`"])((?:(?!\1).|\1\1)*)\1""", re.DOTALL)
_COMMENT = " /* "


@functools.cache
def _codes() -> dict[str, str]:
    """Letters by their two characters after ``@``. Made when a name first needs it: most servers have none."""
    return {
        chr(ord("0") + position) + second: letter
        for second, row in LETTERS.items()
        for position, letter in enumerate(row)
        if letter != " "
    }


def logical_table(name: str) -> str:
    """The table that a partition belongs to (``t#P#p0``; in lower case from MySQL 8.0 on).

    Only in the dictionary's form can a table's own name not hold the mark.
    """
    return _PARTITION.sub("", name)


def from_filename(name: str) -> tuple[str, str]:
    """Schema and table of a dictionary name such as ``shop/order@002dlines#p#p0``; the schema may be empty."""
    schema, slash, table = name.partition("/")
    if not slash:
        return "", name  # system tables and the like
    return _decode(schema), _decode(logical_table(table))


def from_quoted(name: str) -> tuple[str, str]:
    """Schema and table of a name such as ```shop`.`orders` /* Partition `p0` */``; the schema may be empty.

    explain_filename writes this form (sql/sql_table.cc). With ANSI_QUOTES in the server's sql_mode the quotes are
    double quotes. With sql_quote_show_create off there are none, and the first point separates schema and table.
    """
    first = _QUOTED.match(name)
    if first is None:
        schema, point, table = name.partition(_COMMENT)[0].partition(".")
        return (schema, table) if point else ("", schema)
    second = _QUOTED.match(name, first.end() + 1) if name[first.end() : first.end() + 1] == "." else None
    return ("", _unquoted(first)) if second is None else (_unquoted(first), _unquoted(second))


def _unquoted(name: re.Match[str]) -> str:
    return name[2].replace(name[1] * 2, name[1])


def _decode(name: str) -> str:
    """Undo the file-name encoding, as my_mb_wc_filename does (strings/ctype-utf8.cc).

    After an ``@`` come two characters that stand for a letter, or four hexadecimal digits. ``@@@`` ends
    names that Windows keeps for itself, such as ``con``.
    """
    decoded = ""
    while name:
        plain, mark, name = name.partition("@")
        decoded += plain
        if name[:2] in _codes():
            decoded += _codes()[name[:2]]
            name = name[2:]
        elif _CODE_POINT.match(name):
            code = int(name[:4], 16)
            decoded += "\ufffd" if code in _SURROGATES else chr(code)  # half a pair is not text
            name = name[4:]
        elif name == "@@":
            break
        else:
            decoded += mark
    return decoded
