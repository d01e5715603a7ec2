"""Result sets without the owner's names: the building blocks that collectors anonymise their rows with."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from exporter.pseudonyms import Pseudonyms
from exporter.rows import Rows, Value, text

Row = Mapping[str, Value]
Anonymiser = Callable[[Pseudonyms, Rows], Rows]

_WORD = re.compile(r"[A-Za-z0-9_]+")
_KNOWN_WORD = re.compile(
    r"\d+|\d*(?:deb|ubu|ubuntu|el|fc|rc)\d*(?:u\d+)?|mysql|mariadb|maria|percona|aurora|amazon|rds|azure|google|community|"
    r"enterprise|commercial|cluster|server|edition|gpl|source|distribution|binary|org|debian|ubuntu|from|log|debug|"
    r"release|linux|gnu|glibc\d*|win32|win64|x86_64|aarch64|arm64",
    re.IGNORECASE,
)


def numbers(_: Pseudonyms, rows: Rows) -> Rows:
    """Numbers are kept, texts are removed."""
    return Rows(rows.columns, tuple(tuple(None if isinstance(v, str) else v for v in row) for row in rows.rows))


def columns(**rewrites: Callable[[Pseudonyms, str], str]) -> Anonymiser:
    """Texts of the named columns are rewritten, texts of other columns are removed, numbers are kept."""

    def anonymise(pseudonyms: Pseudonyms, rows: Rows) -> Rows:
        def value(column: str, value: Value) -> Value:
            if not isinstance(value, str):
                return value
            return rewrites[column](pseudonyms, value) if column in rewrites else None

        pairs = (zip(rows.columns, row, strict=True) for row in rows.rows)
        return Rows(rows.columns, tuple(tuple(value(*pair) for pair in row) for row in pairs))

    return anonymise


def kept(_: Pseudonyms, value: str) -> str:
    """A text of the server's own, unchanged: a rewrite for ``columns``."""
    return value


def each_row(rewrite: Callable[[Pseudonyms, Row], Row | None]) -> Anonymiser:
    """Each row is rewritten; it is removed where ``rewrite`` gives None."""

    def anonymise(pseudonyms: Pseudonyms, rows: Rows) -> Rows:
        rewritten = (new for row in rows if (new := rewrite(pseudonyms, row)) is not None)
        return Rows(rows.columns, tuple(tuple(row[column] for column in rows.columns) for row in rewritten))

    return anonymise


def name_value_pairs(rewrite: Callable[[str, Value], Value]) -> Anonymiser:
    """Rows of a name and a value, whatever the two columns are called.

    ``rewrite`` gets the name in lower case and the value. It gives the new value, or None to remove the row.
    """

    def anonymise(_: Pseudonyms, rows: Rows) -> Rows:
        pairs = ((name, rewrite(text(name).lower(), value)) for name, value in rows.rows)
        return Rows(rows.columns, tuple(pair for pair in pairs if pair[1] is not None))

    return anonymise


def plain_words(comment: str) -> str:
    """A comment of the server's builder: unchanged if all its words are known here, else only the known words."""
    words = _WORD.findall(comment)
    known = [word for word in words if _KNOWN_WORD.fullmatch(word)]
    return comment if len(known) == len(words) else " ".join(word for word in known if not word.isdecimal())


def plain_version(version: str) -> str:
    """A version without unknown suffixes: ``8.0.36-acme-log`` becomes ``8.0.36-log``."""
    return re.sub(
        rf"[^A-Za-z0-9_]*({_WORD.pattern})", lambda part: part[0] if _KNOWN_WORD.fullmatch(part[1]) else "", version
    )
