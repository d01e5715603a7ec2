"""A fact is declared once: its field has its type, its unit and its meaning."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from advisor.facts.base import Fact, fact, facts_in, maybe, values_by_name


@dataclass
class Declared:
    name: str = fact("Name.", sql=True)
    pages: float | None = maybe("Size.", unit="pages")
    cached: bool | None = maybe("Whether it is cached.")
    files: tuple[str, ...] = ()


@dataclass
class Whole:
    pages: int = fact("Size.", unit="pages")


def test_a_field_is_a_fact() -> None:
    assert facts_in("d", Declared) == (
        Fact("d.name", str, "Name.", sql=True),
        Fact("d.pages", float, "Size.", "pages"),
        Fact("d.cached", bool, "Whether it is cached."),
    )
    declared = Declared("a", 2.0, files=("b",))
    assert values_by_name("d", declared) == {"d.pages": 2.0, "d.name": "a", "d.cached": None}


def test_a_fact_of_another_type_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Whole.pages must be a float, str or bool"):
        facts_in("whole", Whole)
