"""What a collector is: the SQL that fits a server, and a pure function from the rows to a section."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporter.connection.target import Peer
from exporter.rows import Rows, number
from exporter.server import Server
from exporter.snapshot import ConfiguredMachine, Failure, Snapshot

TOP = 100
"""Tables and indexes that get a series of their own; the rest is summed."""

KEPT = 500
"""Tables that are known of at most, those with the largest numbers: a catalogue may have many thousands."""

SYSTEM_SCHEMAS = ("mysql", "sys", "information_schema", "performance_schema")
"""What is not the user's; its repr() is what SQL's IN takes."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Why there is nothing for this collector, other than that a statement failed.

    Attributes:
        failure: ``absent`` where this server has no such source, ``disabled`` where it is switched off; the others
            as in Outcome.
        reason: In words.
        cure: What would help, where anything would.
    """

    failure: Failure
    reason: str
    cure: str | None = None


@dataclass(frozen=True, slots=True)
class Here:
    """What a collector that reads this machine's files has to know.

    Attributes:
        peer: The ends of the connection to the server.
        known: What the collectors before it found.
        configured: What the user says of the server's machine.
        root: Where this machine's files begin.
    """

    peer: Peer
    known: Snapshot
    configured: ConfiguredMachine
    root: Path


Local = Callable[[Sequence[Rows], Here], Rows | Unavailable]


@dataclass(frozen=True, slots=True)
class Collector:
    """One source.

    Attributes:
        name: Also the name of its section in Snapshot.
        queries: The statements for a server, or why there are none.
        parse: From their results, in the same order, to the section. Raises ValueError, KeyError or
            IndexError on an answer it does not understand: never a guess.
        privilege: What the account needs, as in ``GRANT <privilege> TO …``; None where any account will do.
        every: Seconds between two runs at least; 0 means at every collection.
        quick: Cheap however large the server: asked for a scrape between two collections, too.
        instruments: Instruments and consumers of performance_schema that must be on.
        local: For a source that is no table of the server: from the statements' results, and with the files of this
            machine, to the rows that are kept and parsed in their place. Runs in a thread.
        each_session: Asked once in every session of the sidecar, which tells about that session alone.
        allowed: Why it must not run now, from what the collectors before it found; None where it may.
    """

    name: str
    queries: Callable[[Server], tuple[str, ...] | Unavailable]
    parse: Callable[[Sequence[Rows]], Any]
    privilege: str | None = None
    every: float = 0.0
    quick: bool = False
    local: Local | None = None
    each_session: bool = False
    allowed: Callable[[Snapshot], Unavailable | None] | None = None
    instruments: tuple[str, ...] = ()


def fixed(*statements: str) -> Callable[[Server], tuple[str, ...]]:
    """The same statements for every server."""
    return lambda _server: statements


def with_performance_schema(*statements: str) -> Callable[[Server], tuple[str, ...] | Unavailable]:
    """Statements that read performance_schema, the same for every server that has it switched on."""
    return lambda server: statements if server.performance_schema else performance_schema_off(server)


def dictionary_fits(known: Snapshot) -> Unavailable | None:
    """Why a table that lists InnoDB's tables or indexes is not read: the server would open each of them.

    MySQL's data dictionary keeps no more tables open than table_definition_cache (9.7.4, 10,000 tables in a cache of
    2,000: 4 s of its CPU each time, which no limit cuts short).
    """
    tables = None if known.index_sizes is None else known.index_sizes.tables
    cache = number(known.setting("table_definition_cache"))
    if tables is None or cache is None or tables <= cache or not known.server.data_dictionary:
        return None
    return Unavailable(
        "disabled",
        f"{tables:,} tables, and room for {cache:,.0f} in table_definition_cache: the server would open them all",
        f"SET GLOBAL table_definition_cache = {tables + tables // 10}",
    )


def performance_schema_off(server: Server) -> Unavailable:
    """That the server has no performance_schema to read now, and where it is switched on."""
    cure = "add performance_schema = ON to the server's option file and restart it"
    if server.managed is not None:
        cure = (
            "switch performance_schema on in the service's parameter group, server parameters or flags and restart it"
        )
    return Unavailable("disabled", "performance_schema is OFF", cure)
