"""Parallel reader threads: they exist only during a parallel read, so they are sampled and integrated.

They are sampled several times a second, in a session of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from exporter.anonymisation import numbers
from exporter.collectors.base import Collector, SourceUnavailable, counter, gauge, require_performance_schema
from exporter.rows import Rows, count
from exporter.server import Server

SQL = "SELECT COUNT(*) AS threads FROM performance_schema.threads WHERE NAME = 'thread/innodb/parallel_read_thread'"
LONGEST_GAP = 10.0
"""Seconds. A longer gap between two samples is not integrated."""


@dataclass(frozen=True, slots=True)
class ParallelReaders:
    """Parallel reader threads, integrated over samples."""

    threads: int
    """Alive at the last sample."""
    thread_seconds: float
    """Integral of ``threads`` over time since the sidecar's start."""
    reads_observed: int
    """Samples with threads after a sample without. Reads shorter than the sampling period are missed, so this is a
    lower bound."""


def queries(server: Server) -> tuple[str, ...]:
    """One light statement."""
    if not server.parallel_read:
        raise SourceUnavailable("absent", "parallel clustered index reads came with MySQL 8.0.14; MariaDB has none")
    if not server.has("parallel_readers_instrumented"):
        raise SourceUnavailable(
            "absent",
            "the parallel readers of MySQL 8.0.14 to 8.0.16 are threads that performance_schema does not know: neither"
            " the threads nor what they read can be counted",
        )
    require_performance_schema(server)
    return (SQL,)


def parse(results: Sequence[Rows]) -> ParallelReaders:
    """A single sample."""
    threads = count(results[0].rows[0][0])
    return ParallelReaders(threads, 0.0, 1 if threads else 0)


def add(last: ParallelReaders, sample: ParallelReaders, seconds: float) -> ParallelReaders:
    """Integrate by the trapezoidal rule, over the seconds since the last sample."""
    area = seconds * (last.threads + sample.threads) / 2 if 0 < seconds <= LONGEST_GAP else 0.0
    began = 1 if sample.threads and not last.threads else 0
    return ParallelReaders(sample.threads, last.thread_seconds + area, last.reads_observed + began)


def shifted_to_zero(newest_first: Sequence[ParallelReaders]) -> Sequence[ParallelReaders]:
    """Counts from before the sidecar's start as negative numbers, so that its own count from 0 continues them.

    A drop in the counts is an earlier restart of the sidecar.
    """
    later, seconds, observed = ParallelReaders(0, 0.0, 0), 0.0, 0
    shifted = []
    for readers in newest_first:
        if readers.thread_seconds > later.thread_seconds or readers.reads_observed > later.reads_observed:
            seconds += later.thread_seconds - readers.thread_seconds  # the end of an earlier sidecar's count
            observed += later.reads_observed - readers.reads_observed
        later = readers
        shifted.append(
            ParallelReaders(readers.threads, readers.thread_seconds + seconds, readers.reads_observed + observed)
        )
    return shifted


PARALLEL_READERS = Collector(
    "parallel_readers",
    queries,
    parse,
    privilege="SELECT ON performance_schema.*",
    integrate=add,
    anonymise=numbers,
    metrics=(
        gauge("innodb_parallel_read_threads", "Parallel reader threads alive at the last sample.", "threads"),
        counter(
            "innodb_parallel_read_thread_seconds_total",
            "Parallel reader threads, integrated over time since the sidecar began to watch.",
            "thread_seconds",
        ),
        counter(
            "innodb_parallel_reads_observed_total",
            "Samples with parallel reader threads after a sample without; reads shorter than the sampling period "
            "are missed.",
            "reads_observed",
        ),
    ),
)
