"""What a collector is: the SQL that fits a server, and a pure function from the rows to a section."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from exporter.rows import Rows
from exporter.server import Server
from exporter.snapshot import Failure

PICOSECONDS = 1e12
"""In a second: the unit of performance_schema's timers."""

TOP = 100
"""Tables and indexes that get a series of their own; the rest is summed."""

SYSTEM_SCHEMAS = ("mysql", "sys", "information_schema", "performance_schema")
"""What is not the user's; its repr() is what SQL's IN takes."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Why a server offers nothing to this collector, before anything was asked.

    Attributes:
        failure: ``absent`` where this server has no such source, ``disabled`` where it is switched off.
        reason: In words.
        cure: What would help, where anything would.
    """

    failure: Failure
    reason: str
    cure: str | None = None


PERFORMANCE_SCHEMA_OFF = Unavailable(
    "disabled",
    "performance_schema is OFF",
    "add performance_schema = ON to the server's option file and restart it",
)


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
        instruments: Instruments and consumers of performance_schema that must be on.
        each_session: Asked once in every session of the sidecar, which tells about that session alone.
    """

    name: str
    queries: Callable[[Server], tuple[str, ...] | Unavailable]
    parse: Callable[[Sequence[Rows]], Any]
    privilege: str | None = None
    every: float = 0.0
    each_session: bool = False
    instruments: tuple[str, ...] = ()


def fixed(*statements: str) -> Callable[[Server], tuple[str, ...]]:
    """The same statements for every server."""
    return lambda _server: statements


def with_performance_schema(*statements: str) -> Callable[[Server], tuple[str, ...] | Unavailable]:
    """Statements that read performance_schema, the same for every server that has it switched on."""
    return lambda server: statements if server.performance_schema else PERFORMANCE_SCHEMA_OFF
