"""The definition of a collector, and what several collectors share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from prometheus_client import Metric

from exporter.anonymisation import Anonymiser
from exporter.exposition import LabelledValue, MetricType, Spec
from exporter.rows import USUAL, Rows, Value, count, credible, number, text
from exporter.server import Server
from exporter.snapshot import ConfiguredMachine, Failure, Index, SectionKey, Snapshot, Table

Section = TypeVar("Section")
Item = TypeVar("Item")

TOP = 100
"""Tables and indexes with a series of their own; the others are summed."""

MOST_ROWS = 500
"""Rows of tables or indexes that are read, the ones with the largest numbers: a catalogue may have many thousands."""

OF_TABLE = ("schema", "table")
OF_INDEX = (*OF_TABLE, "index")
"""Labels of a table and of an index."""

OTHER = Index("", "", "__other__")
"""The label values of a sum over all indexes that have no series of their own."""


class SourceUnavailable(Exception):
    """A collector cannot run, or its answer is empty, for a known reason."""

    def __init__(self, failure: Failure, reason: str, cure: str | None = None) -> None:
        """The arguments are fields of ReadOutcome."""
        super().__init__(reason)
        self.failure: Failure = failure
        self.reason = reason
        self.cure = cure


HostReader = Callable[[Path, int | None, Snapshot, ConfiguredMachine], Rows]
"""Rows from the root of the host's file system, the server's process if it can be seen, the sections of the collectors
that ran before, and the user's description of the machine. Raises SourceUnavailable."""

Values = Callable[[Snapshot], Iterable[LabelledValue]]
"""What a metric shows of a snapshot."""


@dataclass(frozen=True, slots=True)
class SectionMetric(Spec):
    """A metric of a collector's section. What is not known gives no sample, never a zero."""

    field: str | None = None
    """The field of the section's items that its series show, so that series can be read back into a section; empty
    where the item itself is the number. ``{}`` is the last label, one of ``words``. None for a derived metric."""
    words: tuple[str, ...] = ()
    values: Values | None = None
    """What is exposed, if that is not the field of each item."""

    def field_of(self, labels: Sequence[str]) -> str | None:
        """The field that a series with these label values shows; None for a derived metric."""
        return self.field.format(labels[-1]) if self.field and self.words else self.field

    def of_items(self, items: Iterable[tuple[tuple[str, ...], Any]]) -> Iterator[LabelledValue]:
        """The field of each item, with the item's label values."""
        for labels, item in items:
            for word in self.words or (None,):
                name = self.field if word is None else (self.field or "").format(word)
                value = item if not name else item.get(name) if isinstance(item, Mapping) else getattr(item, name)
                if value is not None:
                    yield labels if word is None else (*labels, word), value


def _whole(section: object) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The section as its own only item."""
    yield (), section


@dataclass(frozen=True, slots=True)
class Collector(SectionKey[Section]):
    """A source of the server's state. Its name is also the name of its section."""

    queries: Callable[[Server], tuple[str, ...]]
    """The statements for a server. Raises SourceUnavailable if there are none."""
    parse: Callable[..., Section]
    """The section from the statements' results, a Rows for each statement; a second argument as ``completed_by`` says.
    Raises ValueError, KeyError or IndexError on an answer that it does not understand: it never guesses. Raises
    SourceUnavailable where the reason of an empty answer is known."""
    anonymise: Anonymiser = field(kw_only=True)
    """Removes the owner's names from a result."""
    values: tuple[Value, ...] = ()
    """Parameters, for each ``%s`` of every statement."""
    bound: int = USUAL
    """Bytes of an answer; a larger one is a failure."""
    metrics: tuple[SectionMetric, ...] = ()
    items: Callable[[Section], Iterable[tuple[tuple[str, ...], Any]]] = _whole
    """What has the metrics' fields: label values, and a dataclass, a mapping or a number."""
    privilege: str | None = None
    """What the account needs, as in ``GRANT <privilege> TO …``; None if any account will do."""
    every: float = 0.0
    """Minimum seconds between two runs; 0 runs it in every collection."""
    quick: bool = False
    """Cheap on any server: also runs for a scrape between two collections."""
    instruments: tuple[str, ...] = ()
    """Instruments and consumers of performance_schema that must be on."""
    host_reader: HostReader | None = None
    """For a source that is not a table of the server: makes the rows to record and parse. Runs in a thread."""
    each_session: bool = False
    """Runs once in every session of the sidecar: each result describes its session only."""
    precondition: Callable[[Snapshot], None] | None = None
    """Raises SourceUnavailable if it must not run now, by the sections of the collectors before it."""
    needed: Callable[[Snapshot], bool] | None = None
    """Whether it is to run, by the sections of the collectors before it; None if it always is."""
    completed_by: str | None = None
    """A collector whose last known section, or None, is the second argument of ``parse``. When it changes, the last
    answer is parsed again."""
    integrate: Callable[[Section, Section, float], Section] | None = None
    """For a source that shows only the moment: the section from the last section, a new sample, and the seconds between
    the two."""
    shorten: Callable[[Rows], Rows] | None = None
    """A result as the stored history keeps it: with the same section, in less space and without clients' statements."""

    def families(self, snapshot: Snapshot) -> Iterator[Metric]:
        """The families of its metrics, in their order; a family may have no samples."""
        section = snapshot[self]
        items = () if section is None else tuple(self.items(section))
        for metric in self.metrics:
            yield metric.family(metric.of_items(items) if metric.values is None else metric.values(snapshot))


def _unit(name: str) -> str:
    """The base unit at the end of a metric's name."""
    word = name.removesuffix("_total").rpartition("_")[2]
    return word if word in ("bytes", "pages", "seconds") else ""


def _number(
    kind: MetricType,
    name: str,
    help_text: str,
    field: str | None = None,
    labels: tuple[str, ...] = (),
    *,
    words: tuple[str, ...] = (),
    values: Values | None = None,
) -> SectionMetric:
    """A metric with its help text; the rest as in SectionMetric."""
    return SectionMetric(name, kind, help_text, labels, _unit(name), field=field, words=words, values=values)


gauge, counter = partial(_number, "gauge"), partial(_number, "counter")


def info(name: str, help_text: str, labels: tuple[str, ...], *, values: Values) -> SectionMetric:
    """A metric whose labels are texts and whose value is 1."""
    return SectionMetric(name, "info", help_text, labels, values=values)


def fixed(*statements: str) -> Callable[[Server], tuple[str, ...]]:
    """The same statements for every server."""
    return lambda _server: statements


def with_performance_schema(*statements: str) -> Callable[[Server], tuple[str, ...]]:
    """Statements that read performance_schema, the same for every server that has it switched on."""

    def queries(server: Server) -> tuple[str, ...]:
        require_performance_schema(server)
        return statements

    return queries


def of_dictionary(statement: str) -> Callable[[Server], tuple[str, ...]]:
    """A statement on InnoDB's dictionary, whose tables have other names before MySQL 8.0 and on MariaDB.

    Args:
        statement: With ``{prefix}`` before the name of each of these tables.
    """
    return lambda server: (statement.format(prefix="INNODB_" if server.data_dictionary else "INNODB_SYS_"),)


def require_performance_schema(server: Server) -> None:
    """Raises SourceUnavailable if it is off; the cure says where to switch it on."""
    if server.performance_schema:
        return
    cure = "add performance_schema = ON to the server's option file and restart it"
    if server.managed is not None:
        cure = (
            "switch performance_schema on in the service's parameter group, server parameters or flags and restart it"
        )
    raise SourceUnavailable("disabled", "performance_schema is OFF", cure)


def exact(name: str, characters: int) -> str:
    """SQL for a name by which rows are grouped: Con and con differ, and the temporary table stays in memory.

    A text of more than 512 characters, which a cast to BINARY also makes of a shorter one, puts the temporary table on
    disk. On MySQL 5.7, and on later ones with internal_tmp_mem_storage_engine = MEMORY, that is an InnoDB table, whose
    writes change what a scan reads. Every server knows utf8mb4; utf8 is a warning on MySQL 8.0 and later.
    """
    return f"LEFT(CONVERT({name} USING utf8mb4) COLLATE utf8mb4_bin, {characters})"


def amount(snapshot: Snapshot, setting: str) -> float | None:
    """A setting that is an amount; None if it is not known or below 0."""
    value = number(snapshot.setting(setting))
    return None if value is None or not credible(value) else value


def summed(one: Item, other: Item) -> Item:
    """Two dataclasses of numbers as one, field by field."""
    numbers = ((getattr(one, field.name), getattr(other, field.name)) for field in fields(one))  # type: ignore[arg-type]
    return type(one)(*[mine + others for mine, others in numbers])


def counts_by_table(rows: Rows, column: str) -> dict[Table, int]:
    """A column of counts by table, from rows with object_schema and object_name."""
    counts: dict[Table, int] = {}
    for row in rows:
        table = Table(text(row["object_schema"]), text(row["object_name"]))
        counts[table] = counts.get(table, 0) + count(row[column])  # names that are not UTF-8 may become equal
    return counts


def optional(value: float | None, *labels: str) -> Iterator[LabelledValue]:
    """One sample of a metric; none where the value is not known."""
    if value is not None:
        yield labels, value


def index_labels(index: Index) -> tuple[str, str, str]:
    """Label values of an index: schema, table, index."""
    return index.schema, index.table, index.index
