"""Rounds of a workload's clients, beside which the sidecar watches, and what the server counts in them."""

from __future__ import annotations

import contextlib
import math
import random
import re
import statistics
import time
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import pymysql

from lab.gauntlet.workload import GauntletWorkload
from lab.harness.measure import Figures, innodb_metric, pages_read
from lab.harness.watch import SidecarSampler
from lab.harness.workloads import ask
from lab.servers import PrivateServer
from lab.servers.sql import global_status, query_number

_FILES = (
    "SELECT FILE_NAME, COUNT_READ FROM performance_schema.file_summary_by_instance"
    " WHERE EVENT_NAME = 'wait/io/file/innodb/innodb_data_file'"
)
_TEMPORARY = (
    "SELECT COALESCE(SUM(SUM_NUMBER_OF_BYTES_WRITE), 0) FROM performance_schema.file_summary_by_event_name"
    " WHERE EVENT_NAME = 'wait/io/file/innodb/innodb_temp_file'"
)
_OWN = re.compile(r"/(mysql|sys|performance_schema)/|/#innodb|\.ibu$|ibdata|ibtmp|undo|/mysql\.ibd$")
_TABLE = re.compile(r"([^/]+/[^/]+)\.ibd$")
READ, WRITTEN, MERGES, TEMPORARY, BUSY = "read", "written", "merges", "temporary", "busy"
"""Figures of a round: pages that the buffer pool read and wrote, merges of the change buffer, bytes written to InnoDB's
temporary files, and the seconds that the clients worked. The others are pages read from each table's file, by
``schema/table``."""


class LoadRounds:
    """A workload's clients, which work in rounds; a context manager.

    Attributes:
        cycle: Rounds until the load repeats itself.
        seconds: The duration of each round, its rest included.
    """

    def __init__(self, server: PrivateServer, workload: GauntletWorkload, sidecar: SidecarSampler) -> None:
        self._server, self._sidecar, self._period = server, sidecar, workload.period
        self.cycle = workload.cycle
        self._clients = {**workload.clients, **{name: make(server) for name, make in workload.programs.items()}}
        self._random = {name: random.Random(zlib.crc32(name.encode())) for name in self._clients}
        self._connections: dict[str, pymysql.Connection[Any]] = {}
        self._pool = ThreadPoolExecutor(len(self._clients))
        self._number = 0
        self.seconds: list[float] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()
        self.disconnect()

    def disconnect(self) -> None:
        """Close the clients' connections: the server restarts, or new sessions shall have its new settings."""
        for connection in self._connections.values():
            with contextlib.suppress(pymysql.Error):
                connection.close()
        self._connections.clear()

    def run(self, times: int) -> list[Figures]:
        """Play rounds, with a collection of the sidecar after each.

        Args:
            times: How many; they are made up to whole cycles.

        Returns:
            The figures of a round: the mean of each cycle.
        """
        rounds: list[Figures] = []
        times = math.ceil(times / self.cycle) * self.cycle
        before = _counted(self._server)
        for _ in range(times):
            began = time.monotonic()
            self._play()
            busy = time.monotonic() - began
            self._sidecar.collect()
            time.sleep(max(0.05, self._period - (time.monotonic() - began)))
            after = _counted(self._server)
            rounds.append({name: value - before.get(name, 0.0) for name, value in after.items()} | {BUSY: busy})
            before = after
            self.seconds.append(time.monotonic() - began)
        return [_averaged(rounds[at : at + self.cycle]) for at in range(0, times, self.cycle)]

    def _play(self) -> None:
        for name in self._clients:
            if name not in self._connections:
                self._connections[name] = self._server.connect()
        shares = [
            self._pool.submit(work, self._connections[name], self._random[name], self._number)
            for name, work in self._clients.items()
        ]
        self._number += 1
        for share in shares:
            share.result()


def _counted(server: PrivateServer) -> Figures:
    """The server's counters now."""
    with server.connect() as connection:
        files = {str(name): float(reads) for name, reads in ask(connection, _FILES)}
    tables = {
        table[1]: reads
        for name, reads in files.items()
        if not _OWN.search(name) and (table := _TABLE.search(name)) is not None
    }
    return {
        READ: pages_read(server),
        WRITTEN: global_status(server, "Innodb_pages_written"),
        MERGES: innodb_metric(server, "ibuf_merges"),
        TEMPORARY: query_number(server, _TEMPORARY),
        **tables,
    }


def _averaged(rounds: Sequence[Figures]) -> Figures:
    names = {name for figures in rounds for name in figures}
    return {name: statistics.fmean(column(rounds, name)) for name in names}


def column(rounds: Sequence[Figures], name: str) -> list[float]:
    """A figure of each round; 0 where the round has none, for a table that was made later."""
    return [figures.get(name, 0.0) for figures in rounds]


def noise(before: Sequence[float], after: Sequence[float] = ()) -> float:
    """Two standard errors of the difference between the means, or of the one mean."""
    variance = sum(statistics.variance(side) / len(side) for side in (before, after) if len(side) > 1)
    return float(2.0 * variance**0.5)
