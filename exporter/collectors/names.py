"""Table names as InnoDB's dictionary writes them: ``schema/table``, file-name encoded, a name for each partition."""

from __future__ import annotations

import re

_PARTITION = re.compile(r"#p#.*", re.IGNORECASE | re.DOTALL)
_CODE_POINT = re.compile(r"@([0-9a-fA-F]{4})")


def logical_table(name: str) -> str:
    """The table that a partition belongs to (``t#P#p0``; in lower case from MySQL 8.0 on)."""
    return _PARTITION.sub("", name)


def from_filename(name: str) -> tuple[str, str]:
    """Schema and table of a dictionary name such as ``shop/order@002dlines#p#p0``.

    Decodes ``@`` and four hexadecimal digits (strings/ctype-utf8.cc, my_charset_filename). The two-character
    codes that this character set has for some Latin, Greek and Cyrillic letters stay as they are.

    Raises:
        ValueError: The name has no schema.
    """
    schema, slash, table = name.partition("/")
    if not slash:
        return "", name  # system tables and the like
    return _decode(schema), _decode(logical_table(table))


def _decode(name: str) -> str:
    return _CODE_POINT.sub(lambda match: chr(int(match[1], 16)), name)
