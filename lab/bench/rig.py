"""A server that is watched by the sidecar, and by its peer where that is wanted."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lab import servers
from lab.bench import exporters
from lab.bench.exporters import Exporter
from lab.servers import Server
from lab.workloads import make_table

SERVER = "mysql-9.7"
TABLES, TABLE_PAGES = 10, 300
POOL = "256M"
SETTLING = 3.0
"""Seconds after the start in which the sidecar reads everything once and a Go program's first garbage goes."""
APART = 1.1
"""Seconds between two scrapes of the sidecar at least: within a second of one it answers with the same collection."""


@dataclass(frozen=True)
class Rig:
    """What runs.

    Attributes:
        server: With `TABLES` small tables, and nothing else to do.
        ours, peer: What watches it.
    """

    server: Server
    ours: Exporter
    peer: Exporter

    @property
    def both(self) -> tuple[Exporter, Exporter]:
        """The exporters."""
        return self.ours, self.peer


@contextlib.contextmanager
def watched(server: Server, *arguments: str) -> Iterator[Exporter]:
    """The sidecar on a server, settled."""
    exporters.create_accounts(server)
    with (
        tempfile.TemporaryDirectory(prefix="innodb-advisor-bench-") as folder,
        exporters.sidecar(server, Path(folder), *arguments) as ours,
    ):
        settle(ours)
        yield ours


@contextlib.contextmanager
def rig(options: Mapping[str, str] | None = None) -> Iterator[Rig]:
    """A server with both exporters, settled. Raises as `servers.start` and `mysqld_exporter.running` do."""
    with servers.start(SERVER, {"innodb-buffer-pool-size": POOL, **(options or {})}) as server:
        with server.connect() as connection:
            for number in range(TABLES):
                make_table(connection, f"t{number}", TABLE_PAGES)
        exporters.create_accounts(server)
        with (
            tempfile.TemporaryDirectory(prefix="innodb-advisor-bench-") as folder,
            exporters.sidecar(server, Path(folder)) as ours,
            exporters.peer(server, Path(folder)) as peer,
        ):
            settle(ours, peer)
            yield Rig(server, ours, peer)


def settle(*exporters: Exporter) -> None:
    """Scrape each a few times while everything is read, opened and compiled for the first time."""
    deadline = time.monotonic() + SETTLING
    while time.monotonic() < deadline:
        for each in exporters:
            each.scrape()
        time.sleep(SETTLING / 5)
