"""A server with the sidecar, or with the sidecar and mysqld_exporter."""

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
from lab.harness.workloads import make_table
from lab.servers import Server

SERVER = "mysql-9.7"
TABLES, TABLE_PAGES = 10, 300
POOL = "256M"
SETTLING = 3.0
"""Seconds after the start: the sidecar reads everything once, and a Go program collects its first garbage."""
APART = 1.1
"""Least seconds between two scrapes of the sidecar: within one second it answers from the same collection."""


@dataclass(frozen=True)
class Rig:
    """A server and its two exporters.

    Attributes:
        server: Idle, with `TABLES` small tables.
        ours, peer: The exporters that watch it.
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
    """Scrape each a few times, until first reads and start-up work are over."""
    deadline = time.monotonic() + SETTLING
    while time.monotonic() < deadline:
        for each in exporters:
            each.scrape()
        time.sleep(SETTLING / 5)
