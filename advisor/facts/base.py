"""The declaration of a fact, and helpers for growth and quotients of counters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from types import MappingProxyType, NoneType
from typing import Any, get_args, get_type_hints

from advisor.observe.window import Window, known_total
from exporter.collectors.innodb_metrics import INNODB_METRICS
from exporter.collectors.pools import POOLS
from exporter.collectors.status import STATUS
from exporter.snapshot import Snapshot

SECONDARY = "__secondary__"
"""Index name of all secondary indexes of a table together, where only their sum is known: INFORMATION_SCHEMA.TABLES."""
_KINDS: tuple[type, ...] = (float, str, bool)
NO_FACT = MappingProxyType({"fact": False})
"""Metadata of a field that is none: expressions cannot name it."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """The meaning of a fact, in the annotation of its field: ``Annotated[float | None, Meaning("…", unit="pages")]``.

    Attributes:
        text: One or more sentences.
        unit: Of a number; empty where it has none, and for texts and truth values.
        sql: Whether it is a text that SQL takes as it is: quoted, and nothing of the owner's is outside the quotes.
    """

    text: str
    unit: str = ""
    sql: bool = False


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact as its field declares it.

    Attributes:
        name: Of the field; expressions put the name of the group and a dot before it.
        kind: float, str or bool.
    """

    name: str
    kind: type
    meaning: Meaning


@cache
def fact_fields(shape: type) -> tuple[Fact, ...]:
    """The facts of a class, in the order of its fields.

    Raises:
        TypeError: A field without NO_FACT is not ``Annotated`` with a Meaning, or is neither a float, a str nor a bool.
    """
    hints = get_type_hints(shape, include_extras=True)
    return tuple(_fact(shape, field.name, hints[field.name]) for field in fields(shape) if field.metadata != NO_FACT)


def _fact(shape: type, name: str, hint: Any) -> Fact:
    kind, *extras = get_args(hint) or (None,)
    kinds = [one for one in get_args(kind) or (kind,) if one is not NoneType]
    if len(kinds) != 1 or kinds[0] not in _KINDS or not extras or not isinstance(extras[0], Meaning):
        raise TypeError(f"{shape.__name__}.{name} must be Annotated[float, str or bool, Meaning(…)]")
    return Fact(name, kinds[0], extras[0])


def vocabulary(group: str, shape: type) -> dict[str, type]:
    """The names that a class of facts gives to expressions, with their types: float, str or bool."""
    return {f"{group}.{fact.name}": fact.kind for fact in fact_fields(shape)}


def values_by_name(group: str, facts: Any) -> dict[str, float | str | bool | None]:
    """The values under their names in expressions."""
    return {f"{group}.{fact.name}": getattr(facts, fact.name) for fact in fact_fields(facts.__class__)}


def ratio(dividend: float | None, divisor: float | None) -> float | None:
    """The quotient; None where a number is not known or the divisor is 0."""
    return None if dividend is None or not divisor else dividend / divisor


def over_pools(counter: str) -> Callable[[Snapshot], float | None]:
    """A count of pages over all buffer pool instances, cumulative or as it is."""

    def summed(snapshot: Snapshot) -> float | None:
        pools = snapshot[POOLS]
        return None if pools is None else known_total(getattr(pool, counter) for pool in pools)

    return summed


def metric(window: Window, name: str) -> float | None:
    """Growth of a counter of INNODB_METRICS over the window."""
    return window.delta(lambda snapshot: (snapshot[INNODB_METRICS] or {}).get(name))


def status(window: Window, name: str) -> float | None:
    """Growth of a counter of SHOW GLOBAL STATUS over the window; ``name`` in lower case."""
    return window.delta(lambda snapshot: (snapshot[STATUS] or {}).get(name))
