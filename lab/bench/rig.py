"""The servers of the benchmarks: idle with both exporters, or under a load that makes rules fire and models run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from lab import demo, servers
from lab.bench.exporters import Exporter, peer, settle, sidecar
from lab.bench.figures import BenchRun
from lab.harness.workloads import BackgroundLoad, look_up, make_table, scan
from lab.processes.program import version_of
from lab.programs import mysqld_exporter
from lab.servers import PrivateServer

SERVER = "mysql-9.7"
TABLES, TABLE_PAGES = 10, 300
"""Of an idle server: small tables, named t0, t1 and so on."""


@contextmanager
def started(run: BenchRun, options: Mapping[str, str], datadir: Path | None = None) -> Iterator[PrivateServer]:
    """A server, whose version the run records. Raises as `servers.start`."""
    with servers.start(SERVER, options, datadir) as server:
        run.versions["MySQL"] = server.version
        yield server


@contextmanager
def idle(run: BenchRun) -> Iterator[tuple[PrivateServer, Exporter, Exporter]]:
    """A server with small tables, the sidecar and mysqld_exporter, settled."""
    with started(run, {"innodb-buffer-pool-size": demo.POOL}) as server:
        make_small_tables(server)
        with sidecar(server) as ours, compared(run, server) as theirs:
            settle(ours, theirs)
            yield server, ours, theirs


@contextmanager
def compared(run: BenchRun, server: PrivateServer, *flags: str) -> Iterator[Exporter]:
    """mysqld_exporter, whose version the run records. Raises as `peer`."""
    run.versions["mysqld_exporter"] = version_of(mysqld_exporter.command())
    with peer(server, *flags) as exporter:
        yield exporter


def make_small_tables(server: PrivateServer) -> None:
    """Make the tables of an idle server."""
    with server.connect() as connection:
        for number in range(TABLES):
            make_table(connection, f"t{number}", TABLE_PAGES)


@contextmanager
def under_scans(run: BenchRun) -> Iterator[PrivateServer]:
    """A server under a repeated scan beside point lookups."""
    with scanned(run) as server, scans(server):
        yield server


@contextmanager
def scanned(run: BenchRun) -> Iterator[PrivateServer]:
    """The server with the tables of that load; a third table has filled the pool."""
    with started(run, {"innodb-buffer-pool-size": demo.POOL}) as server:
        demo.make_tables(server)
        with server.connect() as connection:
            scan(connection, demo.OTHER)
        yield server


@contextmanager
def scans(server: PrivateServer) -> Iterator[None]:
    """That load: a lighter one than of `make run`, which leaves cores to the exporters."""
    with BackgroundLoad(server.connect) as load:
        load.repeat(lambda connection: look_up(connection, demo.HOT, demo.HOT_PAGES, 50), pause=0.1)
        load.repeat(lambda connection: scan(connection, demo.SCANNED), pause=1.5)
        yield
