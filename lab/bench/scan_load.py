"""A server under a load that makes rules fire and models run: a repeated scan beside point lookups."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from lab import servers
from lab.bench.rig import POOL, SERVER
from lab.harness.workloads import Load, look_up, make_table, scan
from lab.servers import Server

SCANNED, HOT, OTHER = "orders", "customers", "archive"
SCANNED_PAGES, HOT_PAGES = 11_400, 2_900
"""Of 16,382 pages in the pool: the scanned table fits alone, but not beside the others."""


@contextlib.contextmanager
def scan_load() -> Iterator[Server]:
    """The server, with its load."""
    with scanned_server() as server, scanning(server):
        yield server


@contextlib.contextmanager
def scanned_server() -> Iterator[Server]:
    """The server with its tables; another one than those of the load has filled the pool."""
    with servers.start(SERVER, {"innodb-buffer-pool-size": POOL}) as server:
        with server.connect() as connection:
            for table, pages in ((SCANNED, SCANNED_PAGES), (HOT, HOT_PAGES), (OTHER, SCANNED_PAGES)):
                make_table(connection, table, pages)
            scan(connection, OTHER)
        yield server


@contextlib.contextmanager
def scanning(server: Server) -> Iterator[None]:
    """The load: lookups beside a scan."""
    with Load(server.connect) as load:
        load.repeat(lambda connection: look_up(connection, HOT, HOT_PAGES, 50), pause=0.1)
        load.repeat(lambda connection: scan(connection, SCANNED), pause=1.5)
        yield
