"""A fact is declared once: its field has its type, its unit and its meaning."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import pytest

from advisor.facts.base import NO_FACT, Fact, Meaning, fact_fields, values_by_name, vocabulary


@dataclass
class Declared:
    pages: Annotated[float | None, Meaning("Size.", unit="pages")]
    name: Annotated[str, Meaning("Name.")]
    cached: Annotated[bool | None, Meaning("Whether it is cached.")] = None
    files: tuple[str, ...] = field(default=(), metadata=NO_FACT)


@dataclass
class Unexplained:
    pages: float


@dataclass
class Whole:
    pages: Annotated[int, Meaning("Size.", unit="pages")]


def test_a_field_is_a_fact() -> None:
    assert fact_fields(Declared) == (
        Fact("pages", float, Meaning("Size.", "pages")),
        Fact("name", str, Meaning("Name.")),
        Fact("cached", bool, Meaning("Whether it is cached.")),
    )
    assert values_by_name("d", Declared(2.0, "a", files=("b",))) == {"d.pages": 2.0, "d.name": "a", "d.cached": None}
    assert vocabulary("d", Declared) == {"d.pages": float, "d.name": str, "d.cached": bool}


@pytest.mark.parametrize("shape", [Unexplained, Whole])
def test_a_field_without_a_meaning_or_of_another_type_is_refused(shape: type) -> None:
    with pytest.raises(TypeError, match=r"pages must be Annotated"):
        fact_fields(shape)
