"""A server under a load by hand: its counters grow by what is done in each ten seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from exporter.collectors.data_files import FileReads
from exporter.collectors.table_io import NO_INDEX, IndexIo
from exporter.snapshot import Index, Snapshot, Table
from tests.advisor.building import BOOTED, pool, snapshot, variables

INTERVAL = 10.0


@dataclass(frozen=True)
class Done:
    """What is done with a table in a second.

    Attributes:
        rows: Looked up by the primary key.
        scanned: Fetched by scans.
        read: Pages read.
        waited: Seconds of statements.
    """

    rows: float = 0.0
    scanned: float = 0.0
    read: float = 0.0
    waited: float = 0.0


@dataclass
class Load:
    """The server, and the snapshots of it so far.

    Attributes:
        settings: Its variables, but for those of ``variables``.
        history: Oldest first.
        free: Pages of the pool that are free.
        pages: Size of the pool.
        instrumented: Whether performance_schema tells of tables.
    """

    settings: dict[str, str] = field(default_factory=dict)
    history: list[Snapshot] = field(default_factory=list)
    free: int = 0
    pages: int = 10_000
    instrumented: bool = True
    booted: float = BOOTED
    _at: float = BOOTED + 86_400.0
    _grown: dict[str, list[float]] = field(default_factory=dict)
    _printed: Mapping[str, str] = field(default_factory=dict)

    def go_on(self, done: Mapping[str, Done], free: int = 0) -> Snapshot:
        """Ten more seconds."""
        self._at += INTERVAL
        self.free = free
        for name, work in done.items():
            grown = self._grown.setdefault(name, [0.0] * 4)
            for number, rate in enumerate((work.rows, work.scanned, work.read, work.waited)):
                grown[number] += rate * INTERVAL
        self.history.append(self._snapshot())
        del self.history[:-361]
        return self.history[-1]

    def restart(self) -> None:
        """All counters begin at 0 again."""
        self.booted = self._at
        self._grown = {}

    def _variables(self) -> Mapping[str, str]:
        """One object in all snapshots while nothing changes, as the sampler has it."""
        if variables(**self.settings) != self._printed:
            self._printed = variables(**self.settings)
        return self._printed

    def _snapshot(self) -> Snapshot:
        known = {Table("shop", name): grown for name, grown in self._grown.items()}
        read = round(sum(grown[2] for grown in known.values()))
        table_io = {}
        for table, (rows, scanned, _, waited) in known.items():
            share = rows / ((rows + scanned) or 1.0)
            by = {"PRIMARY": (rows, share), NO_INDEX: (scanned, 1.0 - share)}
            for index, (fetched, part) in by.items():
                if fetched:
                    io = IndexIo(round(fetched), 0, 0, 0, waited * part, 0.0)
                    table_io[Index(table.schema, table.table, index)] = io
        by_table: dict[str, Any] = {
            "table_files": {table: FileReads(round(grown[2]), 0, 0.0) for table, grown in known.items()},
            "table_io": table_io,
            "data_files": FileReads(read, 0, read * 1e-4),
        }
        return snapshot(
            self._at - self.booted,
            booted=self.booted,
            status={"uptime": self._at - self.booted, "questions": sum(grown[0] for grown in known.values())},
            variables=self._variables(),
            pools=(
                pool(
                    size_pages=self.pages,
                    database_pages=self.pages - self.free,
                    free_pages=self.free,
                    pages_read=read,
                ),
            ),
            **(by_table if self.instrumented else {}),
        )
