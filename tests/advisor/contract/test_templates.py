"""A template shows its values as people and SQL read them."""

from __future__ import annotations

import pytest

from advisor.contract.templates import FactValue, fill, placeholders


def test_a_summary_shows_values_for_people() -> None:
    values: dict[str, FactValue | None] = {
        "a": 2_040_109_465.6,
        "b": 0.25,
        "c": 1234.4,
        "d": "x{y}",
        "e": None,
        "f": 9.0,
    }
    template = "{{{a:bytes}}} {b:number} {c:number} {d} {e:bytes} {f:number} {f}"
    assert fill(template, values) == "{1.9 GiB} 0.2 1,234 x{y} ? 9 9.0"
    assert placeholders(template)[:2] == [("a", ":bytes"), ("b", ":number")]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1.5 * 2**20, "1.5 MiB"),
        (2**30 * 100, "100 GiB"),
        (1020 * 2**20, "1020 MiB"),
        (2**50, "1024 TiB"),
    ],
)
def test_bytes_are_shown_in_binary_units(value: float, shown: str) -> None:
    assert fill("{a:bytes}", {"a": float(value)}) == shown
