"""The declaration of a fact, and helpers for growth and quotients of counters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from types import NoneType
from typing import Any, get_args, get_type_hints

from advisor.observe.window import Window, known_total
from exporter.collectors.count_statements import COUNT_STATEMENTS
from exporter.collectors.index_sizes import IndexSizes
from exporter.collectors.innodb_metrics import INNODB_METRICS
from exporter.collectors.pools import POOLS
from exporter.collectors.status import STATUS
from exporter.collectors.table_files import TABLE_FILES
from exporter.collectors.table_statements import TABLE_STATEMENTS
from exporter.snapshot import Snapshot, Table

NO_SIZES = IndexSizes({}, 0)
SECONDARY = "__secondary__"
"""Index name of all secondary indexes of a table together, where only their sum is known: INFORMATION_SCHEMA.TABLES."""
_KINDS: tuple[type, ...] = (float, str, bool)


@dataclass(frozen=True, slots=True)
class Fact:
    """A name that rule expressions may use.

    Attributes:
        name: With its group: pool.free_pages.
        kind: float, str or bool.
        meaning: One or more sentences.
        unit: Of a number; empty where it has none, and for texts and truth values.
        sql: Whether it is a text that SQL takes as it is: quoted, and nothing of the owner's is outside the quotes.
    """

    name: str
    kind: type
    meaning: str
    unit: str = ""
    sql: bool = False


def fact(meaning: str, *, unit: str = "", sql: bool = False, default: Any = MISSING) -> Any:
    """A field of a class of facts, described as in Fact. Expressions cannot name a field that is none."""
    return field(default=default, metadata={"meaning": meaning, "unit": unit, "sql": sql})


def maybe(meaning: str, *, unit: str = "", sql: bool = False) -> Any:
    """The same for a fact that may be unknown, None by default."""
    return fact(meaning, unit=unit, sql=sql, default=None)


@cache
def facts_in(group: str, shape: type) -> tuple[Fact, ...]:
    """The facts of a class, in the order of its fields, with the name that expressions give to the group.

    Raises:
        TypeError: A fact is neither a float, a str nor a bool.
    """
    hints = get_type_hints(shape)
    return tuple(
        Fact(f"{group}.{field.name}", _kind(shape, field.name, hints[field.name]), **field.metadata)
        for field in fields(shape)
        if field.metadata
    )


def _kind(shape: type, name: str, hint: Any) -> type:
    kinds = [kind for kind in get_args(hint) or (hint,) if kind is not NoneType]
    if len(kinds) != 1 or kinds[0] not in _KINDS:
        raise TypeError(f"{shape.__name__}.{name} must be a float, str or bool, or None")
    return kinds[0]  # type: ignore[no-any-return]


def values_by_name(group: str, facts: Any) -> dict[str, float | str | bool | None]:
    """The values under their names in expressions."""
    begin = len(group) + 1
    return {fact.name: getattr(facts, fact.name[begin:]) for fact in facts_in(group, facts.__class__)}


@dataclass(frozen=True, slots=True)
class TableFacts:
    """Facts about a table."""

    schema: str = fact("Schema of the table.")
    table: str = fact("Name of the table.")

    @property
    def subject(self) -> dict[str, str]:
        """The subject of a finding."""
        return {"schema": self.schema, "table": self.table}


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


def file_reads(window: Window, table: Table) -> float | None:
    """Pages read from a table's data file over the window: InnoDB reads files page by page.

    0 for a table without a file of its own.
    """
    return window.growth(lambda snapshot: snapshot[TABLE_FILES], table, lambda file: file.reads)


def statements(window: Window, table: Table) -> float | None:
    """Statements on a table over the window."""
    return window.growth(lambda snapshot: snapshot[TABLE_STATEMENTS], table, float)


def counts_of(window: Window, table: Table) -> float | None:
    """COUNT(*) of a table over the window."""
    return window.growth(lambda snapshot: snapshot[COUNT_STATEMENTS], table, lambda count: count.executions)


def count_seconds(window: Window, table: Table) -> float | None:
    """Time of one COUNT(*) of a table."""
    seconds = window.growth(lambda snapshot: snapshot[COUNT_STATEMENTS], table, lambda count: count.seconds)
    return ratio(seconds, counts_of(window, table))
