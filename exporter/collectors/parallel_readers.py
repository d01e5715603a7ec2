"""Parallel reader threads: they exist only while a parallel read runs, so they are sampled and integrated."""

from __future__ import annotations

from collections.abc import Sequence

from exporter.collectors.base import Collector, Unavailable, performance_schema_off
from exporter.rows import Rows, count
from exporter.server import Server
from exporter.snapshot import ParallelReaders

SQL = "SELECT COUNT(*) AS threads FROM performance_schema.threads WHERE NAME = 'thread/innodb/parallel_read_thread'"
LONGEST_GAP = 10.0
"""Seconds. A longer pause between two samples is not integrated: nobody watched."""


def queries(server: Server) -> tuple[str, ...] | Unavailable:
    """The one light statement."""
    if not server.parallel_read:
        return Unavailable("absent", "parallel clustered index reads came with MySQL 8.0.14; MariaDB has none")
    return (SQL,) if server.performance_schema else performance_schema_off(server)


def parse(results: Sequence[Rows]) -> int:
    """Parallel reader threads alive."""
    return count(results[0].rows[0][0])


class Integrator:
    """Samples of the number of threads, summed up over time by the trapezoidal rule."""

    def __init__(self) -> None:
        self._last: tuple[float, int] | None = None
        self._seconds = 0.0
        self._observed = 0

    def add(self, at: float, threads: int) -> None:
        """Take in a sample made at ``at`` (Unix seconds)."""
        if self._last is not None:
            then, before = self._last
            if 0 < at - then <= LONGEST_GAP:
                self._seconds += (at - then) * (before + threads) / 2
            if threads and not before:
                self._observed += 1
        elif threads:
            self._observed += 1
        self._last = (at, threads)

    def section(self) -> ParallelReaders | None:
        """What the samples add up to; None before the first."""
        if self._last is None:
            return None
        return ParallelReaders(self._last[1], self._seconds, self._observed)


COLLECTOR = Collector("parallel_readers", queries, parse, privilege="SELECT ON performance_schema.*")
