"""Parallel reader threads over the window, and the tables that they counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.facts.base import TableFacts, maybe, ratio
from advisor.facts.machine import MachineFacts
from advisor.facts.scans import ScanFacts
from advisor.models.parallel_read import ParallelRead
from advisor.observe.window import Window
from exporter.collectors.parallel_readers import PARALLEL_READERS
from exporter.rows import number

_THREADS_PER_CORE = 2.0
"""Bound of the threads that are advised."""
_QUEUED_SECONDS = 0.003
"""A random read takes 0.1 ms on an SSD, and up to 1 ms behind a network. A longer one is of a hard disk, or queued."""
_OTHERS = 2.0
"""Requests of others for each request of the read: from here on others use the device more."""
_BUSY = 0.8
"""Share of the time: a disk that is busy for longer hardly rests."""


@dataclass(frozen=True, slots=True)
class ParallelFacts:
    """Parallel reader threads over the window, as samples saw them."""

    threads_seen: float | None = maybe("Reader threads alive at the newest sample.", unit="threads")
    thread_seconds: float | None = maybe("Time of all reader threads together.", unit="seconds")
    reads_observed: float | None = maybe(
        "Samples that saw reader threads after one that saw none: a lower bound of the parallel reads.", unit="reads"
    )


def parallel(window: Window) -> ParallelFacts:
    """From performance_schema.threads."""
    latest = window.latest[PARALLEL_READERS]
    return ParallelFacts(
        threads_seen=None if latest is None or latest.threads is None else float(latest.threads),
        thread_seconds=window.delta(
            lambda s: None if (readers := s[PARALLEL_READERS]) is None else readers.thread_seconds
        ),
        reads_observed=window.delta(
            lambda s: None if (readers := s[PARALLEL_READERS]) is None else readers.reads_observed
        ),
    )


@dataclass(frozen=True, slots=True)
class ParallelReadFacts(TableFacts):
    """A table that COUNT(*) read from disk in the window, with as many reader threads as are allowed."""

    pages: float | None = maybe("Size of its clustered index.", unit="pages")
    counts: float | None = maybe("COUNT(*) of it in the window.", unit="counts")
    threads: float | None = maybe("Reader threads, by innodb_parallel_read_threads.", unit="threads")
    seconds: float | None = maybe("Time of one COUNT(*).", unit="seconds")
    wait_seconds: float | None = maybe(
        "Time that all threads of one COUNT(*) together waited for reads of the table's data file.", unit="seconds"
    )
    wait_share: float | None = maybe("Share of the threads' time that was waiting for reads.", unit="0 to 1")
    pages_read: float | None = maybe("Pages read from the table's data file by one COUNT(*).", unit="pages")
    read_seconds: float | None = maybe("Time of a read of one page that a thread waited for.", unit="seconds")
    saturated: bool | None = maybe(
        "Whether the device is at its limit: its reads take as long as in a queue, or it hardly rests and others "
        "use it more."
    )
    more_threads: float | None = maybe(
        "The next step up: at most two threads a core, and at most what the cores can feed.", unit="threads"
    )
    more_seconds: float | None = maybe(
        "Time that one COUNT(*) would take with more_threads, if reads stayed as fast.", unit="seconds"
    )


def parallel_reads(window: Window, scanned: Sequence[ScanFacts], machine: MachineFacts) -> list[ParallelReadFacts]:
    """Each table that only COUNT(*) scanned, on a server with parallel readers.

    Args:
        window: What has been watched.
        scanned: The scans in it.
        machine: The server's.
    """
    threads = number(window.latest.setting("innodb_parallel_read_threads"))
    if threads is None or not window.latest.server.parallel_read:
        return []
    return [_read(window, scan, threads, machine) for scan in scanned if scan.counts and scan.counts == scan.passes]


def _read(window: Window, scan: ScanFacts, threads: float, machine: MachineFacts) -> ParallelReadFacts:
    waited = scan.read_seconds  # of a pass; all passes are counts
    reading = None
    if scan.count_seconds and waited is not None and machine.cores is not None:
        reading = ParallelRead(scan.count_seconds, threads, waited, machine.cores)
    read_seconds = ratio(waited, scan.pages_read_per_pass)
    more = None if reading is None else reading.more_threads(at_most=_THREADS_PER_CORE * reading.cores)
    return ParallelReadFacts(
        schema=scan.schema,
        table=scan.table,
        pages=scan.pages,
        counts=scan.counts,
        threads=threads,
        seconds=scan.count_seconds,
        wait_seconds=waited,
        wait_share=ratio(waited, None if scan.count_seconds is None else scan.count_seconds * threads),
        pages_read=scan.pages_read_per_pass,
        read_seconds=read_seconds,
        saturated=_saturated(window, machine, read_seconds, None if waited is None else waited * (scan.counts or 0.0)),
        more_threads=more,
        more_seconds=None if reading is None or more is None else reading.seconds_with(more),
    )


def _saturated(window: Window, disks: MachineFacts, read_seconds: float | None, waited: float | None) -> bool | None:
    """Whether more threads would only wait longer; None where the time of reads is not known."""
    if read_seconds is None or waited is None:
        return None
    # Writes come in bursts: a long queue that is gone at once. Only a disk that hardly rests is saturated.
    busy = disks.disk_busy is not None and disks.disk_busy >= _BUSY
    queued = disks.disk_queue is not None and disks.disk_queue * window.seconds > (1.0 + _OTHERS) * waited
    return read_seconds >= _QUEUED_SECONDS or (busy and queued)
