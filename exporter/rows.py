"""What a query returned, in the plain types that a recording can hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal

Value = None | int | float | str


@dataclass(frozen=True, slots=True)
class Rows:
    """One result set.

    Attributes:
        columns: Column names in lower case: MySQL 8 returns INFORMATION_SCHEMA's names in capitals
            whatever the query says, MariaDB as written.
        rows: The rows, each as long as ``columns``.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    @classmethod
    def of(cls, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Rows:
        """Normalise what a driver or a JSON file returned."""
        return cls(tuple(c.lower() for c in columns), tuple(tuple(map(plain, row)) for row in rows))

    def __iter__(self) -> Iterator[dict[str, Value]]:
        """The rows as dictionaries by column name."""
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)


def plain(value: object) -> Value:
    """A driver's value as None, int, float or str; bytes that are no UTF-8 keep a replacement mark."""
    match value:
        case bool():
            return int(value)
        case None | int() | float() | str():
            return value
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case bytes() | bytearray():
            return bytes(value).decode("utf-8", "replace")
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case _:
            return str(value)


def number(value: Value) -> float | None:
    """The value as a number; None where the server gave NULL or a text that is none."""
    if value is None:
        return None
    try:
        return float(value)
    except ValueError:
        return None


def count(value: Value) -> int:
    """A value that the server's own definition makes a whole number.

    Raises:
        ValueError: The server gave something else; the collector then fails rather than guess.
    """
    if value is None:
        raise ValueError("NULL where a number was expected")
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(f"{value} where a whole number was expected")
    return int(value)


def text(value: Value) -> str:
    """The value as text, empty for NULL."""
    return "" if value is None else str(value)
