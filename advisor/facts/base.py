"""What the facts have in common: how counters become growth and quotients, and what rules call the fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from advisor.observe.window import Window, total
from exporter.snapshot import Snapshot

_KINDS: dict[str, type] = {"str": str, "bool": bool, "float": float}


def vocabulary(group: str, shape: type) -> dict[str, type]:
    """The names that a class of facts gives to expressions: each a float, a str or a bool."""
    return {f"{group}.{f.name}": _KINDS[str(f.type).removesuffix(" | None")] for f in fields(shape)}


def named(group: str, facts: Any) -> dict[str, float | str | bool | None]:
    """The values under their names in expressions."""
    return {f"{group}.{f.name}": getattr(facts, f.name) for f in fields(facts)}


def ratio(dividend: float | None, divisor: float | None) -> float | None:
    """The quotient; None where a part is not known or the divisor is 0."""
    return None if dividend is None or not divisor else dividend / divisor


def over_pools(counter: str) -> Callable[[Snapshot], float | None]:
    """A cumulative count of all buffer pool instances together."""
    return lambda snapshot: None if snapshot.pools is None else total(getattr(p, counter) for p in snapshot.pools)


def metric(window: Window, name: str) -> float | None:
    """How much a counter of INNODB_METRICS grew over the window."""
    return window.delta(lambda snapshot: (snapshot.innodb_metrics or {}).get(name))


def status(window: Window, name: str) -> float | None:
    """How much a counter of SHOW GLOBAL STATUS grew over the window; ``name`` in lower case."""
    return window.delta(lambda snapshot: (snapshot.status or {}).get(name))
