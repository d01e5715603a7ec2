"""The templates of a rule, such as its summary: their names, and values as people read them."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping

from advisor.contract.sql import identifier, literal

_UNITS = ("TiB", "GiB", "MiB", "KiB", "B")
FactValue = float | str | bool
"""The value of an expression or a fact."""


def placeholders(template: str) -> list[tuple[str, str]]:
    """Names and formats of a template such as ``{scan.table} ({scan.bytes:bytes})``; the format includes the colon.

    Raises:
        ValueError: A brace has no counterpart.
    """
    return [
        (name, (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else ""))
        for _, name, spec, conversion in string.Formatter().parse(template)
        if name is not None
    ]


def fill(template: str, values: Mapping[str, FactValue | None]) -> str:
    """A template with its values; a value that is not known becomes ``?``."""
    parts = []
    for words, name, spec, _ in string.Formatter().parse(template):
        parts.append(words)
        if name:
            value = values.get(name)
            parts.append("?" if value is None else FORMATS[f":{spec}" if spec else ""](value))
    return "".join(parts)


def binary(value: FactValue) -> str:
    """Bytes in binary units, with three digits."""
    size = float(value)
    units = [*_UNITS]
    while size >= 1024 and len(units) > 1:
        size /= 1024
        units.pop()
    return f"{size:.3g} {units[-1]}" if size < 1000 else f"{size:.0f} {units[-1]}"


def exact_binary(value: FactValue) -> str:
    """Bytes exactly, in the largest unit that they are a whole number of."""
    size = float(value)
    units = [*_UNITS]
    while size and not size % 1024 and len(units) > 1:
        size /= 1024
        units.pop()
    return f"{size:,.0f} {units[-1]}"


def _rounded(value: FactValue) -> str:
    number = float(value)
    return f"{number:,.0f}" if abs(number) >= 10 else f"{number:.1f}".removesuffix(".0")


def _integer(value: FactValue) -> str:
    return f"{float(value):.0f}"


def value_text(value: float | str, unit: str = "") -> str:
    """A value for people: bytes in binary units, other numbers with commas between thousands."""
    if isinstance(value, str):
        return value
    return binary(value) if unit.split(" ", maxsplit=1)[0] == "bytes" else f"{value:,}"


def duration(seconds: FactValue) -> str:
    """Seconds below two minutes, minutes below two hours, else hours."""
    value = float(seconds)
    if value < 120:
        return f"{value:.0f} s"
    return f"{value / 60:.0f} min" if value < 7200 else f"{value / 3600:.0f} h"


FORMATS: dict[str, Callable[[FactValue], str]] = {
    "": str,
    ":bytes": binary,
    ":duration": duration,
    ":identifier": lambda name: identifier(str(name)),
    ":integer": _integer,
    ":literal": lambda text: literal(str(text)),
    ":number": _rounded,
}
"""How a template shows a value: as it is, bytes in binary units, seconds as time, a name as SQL quotes it, a whole
number as SQL takes it, a text as SQL quotes it, or a number for people."""
TEXT_FORMATS = frozenset({":identifier", ":literal"})
"""The formats that take a text, and quote it for SQL."""
