"""The state of a server at one moment: a section from each collector."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeVar

from exporter.server import Server

Failure = Literal["absent", "disabled", "privilege", "deadline", "failed", "unreadable"]
Storage = Literal["ssd", "hdd"]
Section = TypeVar("Section")

_VARIABLES = "variables"


@dataclass(frozen=True, slots=True)
class ReadOutcome:
    """The result of a collector's last run."""

    at: float
    """Start, Unix seconds."""
    seconds: float
    """Duration."""
    failure: Failure | None = None
    """None for success. ``absent``: this server has no such source. ``disabled``: the source is switched off.
    ``privilege``: the account may not read it. ``deadline``: it took too long. ``failed``: the server returned another
    error. ``unreadable``: the answer could not be parsed."""
    reason: str = ""
    """The failure in words; empty on success."""
    cure: str | None = None
    """A statement or option-file line that would help, if there is one."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table's name."""

    schema: str
    table: str


@dataclass(frozen=True, slots=True)
class Index:
    """An index's name."""

    schema: str
    table: str
    index: str
    """PRIMARY or GEN_CLUST_INDEX for a clustered index."""

    @property
    def clustered(self) -> bool:
        """Whether the index holds the rows themselves."""
        return self.index in ("PRIMARY", "GEN_CLUST_INDEX")

    @property
    def of_table(self) -> Table:
        """The table that it is an index of."""
        return Table(self.schema, self.table)


@dataclass(frozen=True, slots=True)
class ConfiguredMachine:
    """The user's description of the server's machine; used where the machine could not be read."""

    cores: float | None = None
    memory_bytes: int | None = None
    storage: Storage | None = None


@dataclass(frozen=True, slots=True)
class SectionKey(Generic[Section]):
    """The name of a section, and its type for a type checker. Every collector is the key of its own section."""

    name: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The sections. ``snapshot[POOLS]`` is the section of the collector POOLS; None if it is not known."""

    at: float
    """Start of the collection, Unix seconds."""
    server: Server
    account: str
    """The account of the sidecar's session, ``user@host``."""
    outcomes: Mapping[str, ReadOutcome] = field(default_factory=dict)
    """Each collector's last run, by the collector's name."""
    read_at: Mapping[str, float] = field(default_factory=dict)
    """When the values of each section were read, Unix seconds, by the collector's name."""
    sections: Mapping[str, Any] = field(default_factory=dict)
    """The known sections, by the collector's name."""

    def __getitem__(self, key: SectionKey[Section]) -> Section | None:
        return self.sections.get(key.name)

    def with_section(self, key: SectionKey[Section], section: Section | None) -> Snapshot:
        """A copy in which one section is replaced; None makes it unknown."""
        others = {name: value for name, value in self.sections.items() if name != key.name}
        return replace(self, sections=others if section is None else {**self.sections, key.name: section})

    def setting(self, name: str) -> str | None:
        """A global variable as the server prints it; None if the server has none of this name, or it is not known."""
        variables: Mapping[str, str] | None = self.sections.get(_VARIABLES)
        return None if variables is None else variables.get(name)
