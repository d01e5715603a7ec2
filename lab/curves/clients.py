"""Clients that put a load on a server, no faster than a given rate, and count what they asked for."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Protocol

from lab.curves.loads import Load
from lab.programs import sysbench
from lab.servers import Server
from lab.servers.sql import global_status
from lab.workloads import ROWS_PER_PAGE, SCHEMA, scan

RATE = 16_000
"""Lookups a second at most: each size of the pool is measured at the same rate where the disk keeps up."""
SCAN_EVERY = 4 * RATE
"""Lookups from the begin of a scan to the begin of the next."""
SCANNED = "report"
_BATCH = 50
"""Lookups a statement: a client in Python is slower than the server."""
SYSBENCH: Mapping[str, Any] = {"tables": 4, "table_size": 224_000}
SYSBENCH_TABLES = tuple(f"{sysbench.SCHEMA}.sbtest{number}" for number in range(1, 5))
"""48 MiB each."""
_SYSBENCH_RATE = 600
"""Transactions a second at most."""
_STATEMENTS = 14
"""Of a transaction of oltp_read_only without BEGIN and COMMIT."""
_TURN = 4
"""Seconds that sysbench runs at a time: it cannot be told to stop."""


class Client(Protocol):
    """A load on a server."""

    def run(self, seconds: float) -> None:
        """Put it on the server for so long."""

    def done(self) -> float:
        """Lookups or transactions so far."""


class Lookups:
    """Point lookups by primary key from one connection.

    Args:
        server: Has the tables.
        load: Which pages.
        scans: Whether another connection scans a table meanwhile, once in SCAN_EVERY lookups.
    """

    def __init__(self, server: Server, load: Load, *, scans: bool) -> None:
        self._server, self._load, self._scans = server, load, scans
        self._chooser = random.Random(7)
        self._done = 0
        self._next_scan = 0
        self._scanner = ThreadPoolExecutor(1)
        self._scanning: Future[None] | None = None
        self._connection = server.connect()

    def run(self, seconds: float) -> None:
        """Look up for so long."""
        began, before = time.monotonic(), self._done
        with self._connection.cursor() as cursor:
            while (now := time.monotonic() - began) < seconds:
                ahead = (self._done - before) / RATE - now
                if ahead > 0:
                    time.sleep(min(0.02, ahead + 0.0005))
                    continue
                if self._scans and self._done >= self._next_scan:
                    self._begin_scan()
                look_up(cursor, self._load.choose(self._chooser, self._done, _BATCH))
                self._done += _BATCH

    def done(self) -> float:
        """Lookups so far."""
        return float(self._done)

    def close(self) -> None:
        """Let a scan end, and close the connection."""
        self._scanner.shutdown()
        self._connection.close()

    def _begin_scan(self) -> None:
        if self._scanning is not None:
            self._scanning.result()
        self._scanning = self._scanner.submit(self._scan)
        self._next_scan = self._done + SCAN_EVERY

    def _scan(self) -> None:
        with self._server.connect() as connection:
            scan(connection, SCANNED)


def look_up(cursor: Any, pages: Iterable[tuple[str, int]]) -> None:
    """Read a row of each of these pages by its primary key: a statement for each table."""
    by_table: dict[str, list[int]] = {}
    for table, page in pages:
        by_table.setdefault(table, []).append(max(1, page * ROWS_PER_PAGE))
    for table, ids in by_table.items():
        listed = ",".join(map(str, ids))
        cursor.execute(f"SELECT COUNT(filler) FROM {SCHEMA}.{table} WHERE id IN ({listed}) AND filler <> ''")
        cursor.fetchall()


class SysbenchTransactions:
    """Transactions of sysbench's oltp_read_only, in the background.

    Args:
        server: Has sysbench's tables.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._stop = threading.Event()
        self._worker = ThreadPoolExecutor(1)
        self._working = self._worker.submit(self._work)

    def run(self, seconds: float) -> None:
        """Wait for so long."""
        time.sleep(seconds)

    def done(self) -> float:
        """Transactions so far, by the statements that the server has run."""
        return global_status(self._server, "Com_select") / _STATEMENTS

    def close(self) -> None:
        """Let the turn end. Raises SysbenchError where a turn failed."""
        self._stop.set()
        self._worker.shutdown()
        self._working.result()

    def _work(self) -> None:
        while not self._stop.is_set():
            sysbench.run(
                self._server, "oltp_read_only", seconds=_TURN, rate=_SYSBENCH_RATE, skip_trx=True, threads=2, **SYSBENCH
            )


@contextmanager
def lookups(server: Server, load: Load, *, scans: bool) -> Iterator[Client]:
    """A client of its own for a load."""
    client = Lookups(server, load, scans=scans)
    try:
        yield client
    finally:
        client.close()


@contextmanager
def transactions(server: Server) -> Iterator[Client]:
    """Sysbench, while the context lasts."""
    client = SysbenchTransactions(server)
    try:
        yield client
    finally:
        client.close()
