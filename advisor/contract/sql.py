"""Foreign names and texts, quoted for SQL under every sql_mode."""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[\w./:;,+%-]*", re.ASCII)
"""A text that means itself in every quotation."""


def identifier(name: str) -> str:
    """A name. Backticks quote names also under ANSI_QUOTES, and a backslash is never an escape in them."""
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """A text; in hexadecimal where it needs care: whether a backslash escapes depends on NO_BACKSLASH_ESCAPES."""
    if "\\" not in text and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    return f"_utf8mb4 X'{text.encode('utf-8', 'replace').hex()}'"


def option(text: str) -> str:
    """A text as an option file takes it: in one line, without a comment (mysys/my_default.cc)."""
    if _PLAIN.fullmatch(text):
        return text
    escaped = text.replace("\\", "\\\\")
    for character, written in (("\n", r"\n"), ("\r", r"\r"), ("\t", r"\t"), ("\b", r"\b")):
        escaped = escaped.replace(character, written)
    return f'"{escaped}"'
