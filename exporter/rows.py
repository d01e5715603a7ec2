"""Result sets, in the plain types that a recording can hold."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Final

Value = None | int | float | str

USUAL: Final = 1 << 20
"""Bytes of an answer that are read: it has 500 rows of tables, or some hundred settings or counters of a server."""
LARGE: Final = 4 << 20
"""The same where there is a row for each index of the server, or a long text: InnoDB's status ends at 1 MiB."""
PICOSECONDS: Final = 1e12
"""Per second: the unit of performance_schema's timers."""
_WRAPPED: Final = 2**63
"""Larger counts are negative ones that a server shows as unsigned (seen: 18446744073709551615 for -1)."""
_LONGEST: Final = 400
"""Characters of a number: no double has more digits before its point, and Python reads at most 4,300."""


@dataclass(frozen=True, slots=True)
class Rows:
    """One result set."""

    columns: tuple[str, ...]
    """Column names in lower case: MySQL 8 returns INFORMATION_SCHEMA's names in capitals, whatever the query says."""
    rows: tuple[tuple[Value, ...], ...]
    """Rows, each as long as ``columns``."""

    @classmethod
    def of(cls, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Rows:
        """Normalise the values of a driver or a JSON file."""
        return cls(tuple(c.lower() for c in columns), tuple(tuple(map(plain, row)) for row in rows))

    def __iter__(self) -> Iterator[dict[str, Value]]:
        """The rows as dictionaries by column name."""
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)


def plain(value: object) -> Value:
    """A driver's value as None, int, float or str; bytes that are not UTF-8 become replacement characters."""
    match value:
        case bool():
            return int(value)
        case str():
            # JSON can hold half a surrogate pair, which cannot be written as UTF-8.
            return value if value.isascii() else value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        case None | int() | float():
            return value
        case Decimal():
            # A long exponent is a number in ten bytes, and gigabytes of digits.
            whole = value.is_finite() and value.adjusted() < _LONGEST and value == value.to_integral_value()
            return int(value) if whole else float(value)
        case bytes() | bytearray():
            return bytes(value).decode("utf-8", "replace")
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case _:
            return str(value)


def number(value: Value) -> float | None:
    """The value as a number; None for NULL and for a text that is not a number."""
    if value is None or (isinstance(value, str) and not _numeral(value)):
        return None
    try:
        plain_number = float(value)
    except (ValueError, OverflowError):
        return None
    return plain_number if math.isfinite(plain_number) else None


def credible(value: float) -> bool:
    """Whether it can be a count: not below 0, and not a negative number shown as unsigned."""
    return 0 <= value < _WRAPPED


def count(value: Value) -> int:
    """A count: a whole number, never below 0.

    Raises:
        ValueError: It is something else. The collector then fails; it does not guess.
    """
    counted = value if isinstance(value, int) else whole(value)
    if not 0 <= counted < _WRAPPED:
        raise ValueError(f"{counted} where a count was expected: it has wrapped below 0")
    return counted


def count_or_none(value: Value) -> int | None:
    """A count; None if it has wrapped below 0: for one of many counts, which must not hide the others.

    Raises:
        ValueError: It is not a whole number.
    """
    counted = whole(value)
    return counted if credible(counted) else None


def lower_half(value: Value) -> int | None:
    """The lower 32 bits of a change buffer's size; None if these have wrapped below 0.

    MariaDB 10.11 leaves garbage in the upper bits (seen: 4355096838145 and 541165879297 for 1).

    Raises:
        ValueError: It is not a whole number.
    """
    pages = whole(value) & 0xFFFFFFFF
    return pages if pages < 1 << 31 else None


def seconds(value: Value) -> float:
    """A sum of performance_schema's timers, in picoseconds, as seconds.

    Unlike a count it may exceed 2^63, which is 107 days: a hundred connections wait that long in one day.

    Raises:
        ValueError: It is not a whole number, or below 0.
    """
    picoseconds = whole(value)
    if not 0 <= picoseconds < _WRAPPED * int(PICOSECONDS):
        raise ValueError(f"{picoseconds} where a time was expected")
    return picoseconds / PICOSECONDS


def text(value: Value) -> str:
    """The value as text, empty for NULL."""
    return "" if value is None else str(value)


def whole(value: Value) -> int:
    """A whole number, whatever its sign.

    Raises:
        ValueError: It is not a whole number.
    """
    if value is None:
        raise ValueError("NULL where a number was expected")
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(f"{value} where a whole number was expected")
    if isinstance(value, str) and not _numeral(value):
        raise ValueError(f"{value[:40]!r} where a whole number was expected")
    return int(value)


def _numeral(value: str) -> bool:
    """Whether a server could print this number: Python also reads 1_000 and the digits of other scripts."""
    return value.isascii() and "_" not in value and len(value) <= _LONGEST
