"""The stage of the attacks: a MySQL 9.7 under a steady load, and real sidecars on it."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

from lab import servers
from lab.bench import exporters
from lab.bench.rig import POOL, SERVER
from lab.processes.service import PLAIN, NotServing
from lab.servers import Server
from lab.workloads import Load, insert_rows, look_up, make_table, scan

SCANNED, HOT, WRITTEN = ("orders", "items", "invoices"), "customers", "events"
SCANNED_PAGES, HOT_PAGES, WRITTEN_PAGES = 5_700, 2_900, 100
"""Of 16,382 pages in the pool: the scanned tables do not fit beside the others, so that rules fire and models run."""
READY_SECONDS = 30.0
_AS_IN_THE_IMAGE = {"PYTHONNODEBUGRANGES": "1", "PYTHONDONTWRITEBYTECODE": ""}
"""Of sidecars: byte code that is there at the start, without columns (Dockerfile). It takes 1.5 MiB less memory."""


@dataclass(frozen=True)
class RunningSidecar:
    """A running `innodb-advisor serve`.

    Attributes:
        url: Where it listens, without a path.
        pid: Its process.
    """

    url: str
    pid: int


class LiveStage:
    """A stage with real programs.

    Attributes:
        server: A MySQL 9.7 with tables and a steady load of readers and writers.
        short: Whether this is CI's short form.
        say: Takes a progress message.
    """

    def __init__(self, server: Server, say: Callable[[str], None], *, short: bool) -> None:
        self.server, self.short = server, short
        self.say: Callable[[str], None] = say

    @contextlib.contextmanager
    def sidecar(self, *arguments: str, defaults_of: Server | None = None) -> Iterator[RunningSidecar]:
        """Start a sidecar on the server (or on another one), ready; it is stopped at the end.

        Raises:
            NotServing: It does not become ready.
        """
        watched = defaults_of or self.server
        exporters.create_accounts(watched)
        with (
            tempfile.TemporaryDirectory(prefix="innodb-advisor-attacks-") as folder,
            exporters.sidecar(watched, Path(folder), *arguments) as started,
        ):
            found = RunningSidecar(f"http://127.0.0.1:{started.port}", started.pid)
            _wait_until_ready(found)
            yield found


@contextlib.contextmanager
def staged(say: Callable[[str], None], *, short: bool) -> Iterator[LiveStage]:
    """A stage; everything on it ends with it.

    Args:
        say: Takes a progress message.
        short: CI's short form.

    Raises:
        Unavailable, StartError: There is no server here.
    """
    os.environ.update(_AS_IN_THE_IMAGE)
    with servers.start(SERVER, {"innodb-buffer-pool-size": POOL}) as server:
        with server.connect() as connection:
            for table in SCANNED:
                make_table(connection, table, SCANNED_PAGES)
            make_table(connection, HOT, HOT_PAGES)
            make_table(connection, WRITTEN, WRITTEN_PAGES, indexes=2)
        with Load(server.connect) as load:  # the pauses bound it, to some tenths of a core
            for table in SCANNED:
                load.repeat(lambda connection, table=table: scan(connection, table), pause=3.0)  # type: ignore[misc]
            load.repeat(lambda connection: look_up(connection, HOT, HOT_PAGES, 50), pause=0.1)
            load.repeat(
                lambda connection: insert_rows(connection, WRITTEN, 50, indexes=2, read_back=False, seed=None),
                pause=0.5,
            )
            yield LiveStage(server, say, short=short)


def _wait_until_ready(sidecar: RunningSidecar) -> None:
    """Wait until it has seen the server; one that wants a login serves, and does not say more."""
    deadline = time.monotonic() + READY_SECONDS
    while True:
        with contextlib.suppress(httpx.TransportError):
            answer = httpx.get(f"{sidecar.url}/readyz", timeout=READY_SECONDS, **PLAIN)
            if answer.status_code in (httpx.codes.OK, httpx.codes.UNAUTHORIZED):
                return
        if time.monotonic() > deadline:
            raise NotServing(f"innodb-advisor serve was not ready within {READY_SECONDS:g} s")
        time.sleep(0.1)
