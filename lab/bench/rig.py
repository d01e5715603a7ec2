"""The servers of the benchmarks: idle with both exporters, or under a load that makes rules fire and models run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from lab import servers
from lab.bench.exporters import Exporter, peer, settle, sidecar
from lab.harness.workloads import BackgroundLoad, look_up, make_table, scan
from lab.servers import PrivateServer

SERVER = "mysql-9.7"
POOL = "256M"
TABLES, TABLE_PAGES = 10, 300
SCANNED, HOT, OTHER = "orders", "customers", "archive"
SCANNED_PAGES, HOT_PAGES = 11_400, 2_900
"""Of 16,382 pages in the pool: the scanned table fits alone, but not beside the others."""


@contextlib.contextmanager
def idle() -> Iterator[tuple[PrivateServer, Exporter, Exporter]]:
    """A server with small tables, the sidecar and mysqld_exporter, settled. Raises as `servers.start` and `peer` do."""
    with servers.start(SERVER, {"innodb-buffer-pool-size": POOL}) as server:
        make_small_tables(server)
        with sidecar(server) as ours, peer(server) as theirs:
            settle(ours, theirs)
            yield server, ours, theirs


def make_small_tables(server: PrivateServer) -> None:
    """Make `TABLES` tables, named t0, t1 and so on."""
    with server.connect() as connection:
        for number in range(TABLES):
            make_table(connection, f"t{number}", TABLE_PAGES)


@contextlib.contextmanager
def under_scans() -> Iterator[PrivateServer]:
    """A server under a repeated scan beside point lookups."""
    with scanned_server() as server, scans(server):
        yield server


@contextlib.contextmanager
def scanned_server() -> Iterator[PrivateServer]:
    """The server with its tables; another one than those of the load has filled the pool."""
    with servers.start(SERVER, {"innodb-buffer-pool-size": POOL}) as server:
        with server.connect() as connection:
            for table, pages in ((SCANNED, SCANNED_PAGES), (HOT, HOT_PAGES), (OTHER, SCANNED_PAGES)):
                make_table(connection, table, pages)
            scan(connection, OTHER)
        yield server


@contextlib.contextmanager
def scans(server: PrivateServer) -> Iterator[None]:
    """The load: lookups beside a scan."""
    with BackgroundLoad(server.connect) as load:
        load.repeat(lambda connection: look_up(connection, HOT, HOT_PAGES, 50), pause=0.1)
        load.repeat(lambda connection: scan(connection, SCANNED), pause=1.5)
        yield
