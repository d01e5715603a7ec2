"""Parallel reader threads over the window, and the counts that went through them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.facts.base import ratio
from advisor.facts.machine import Machine
from advisor.facts.scans import Scan
from advisor.models.parallel_read import ParallelRead
from advisor.observe.window import Window
from exporter.rows import number

_THREADS_PER_CORE = 2.0
# A random read of an SSD takes 0.1 ms, behind a network up to 1 ms; this long it is a hard disk, or waits in a queue.
_QUEUED_SECONDS = 0.003
_OTHERS = 2.0
_BUSY = 0.8


@dataclass(frozen=True, slots=True)
class Parallel:
    """Parallel reader threads over the window, as samples of them saw.

    Attributes:
        threads_seen: Alive at the newest sample.
        thread_seconds: Time of all reader threads together.
        reads_observed: Samples that saw reader threads after one that saw none: at least so many parallel reads.
    """

    threads_seen: float | None = None
    thread_seconds: float | None = None
    reads_observed: float | None = None


def parallel(window: Window) -> Parallel:
    """From performance_schema.threads."""
    latest = window.latest.parallel_readers
    return Parallel(
        threads_seen=None if latest is None else float(latest.threads),
        thread_seconds=window.delta(
            lambda s: None if s.parallel_readers is None else s.parallel_readers.thread_seconds
        ),
        reads_observed=window.delta(
            lambda s: None if s.parallel_readers is None else float(s.parallel_readers.reads_observed)
        ),
    )


@dataclass(frozen=True, slots=True)
class Read:
    """A table that COUNT(*) read from disk in the window, with as many reader threads as are allowed.

    Attributes:
        schema: Of the table.
        table: Its name.
        pages: Of its clustered index.
        counts: COUNT(*) of it in the window.
        threads: Reader threads, by innodb_parallel_read_threads.
        seconds: Time that one COUNT(*) took.
        wait_seconds: Time that the threads of one COUNT(*) waited for reads of the table's data file, all together.
        wait_share: Share of the threads' time that is waiting for reads.
        pages_read: Pages read from the table's data file by one COUNT(*).
        read_seconds: Time that a read of one page took, of those that a thread waited for.
        saturated: Whether the device is at its limit: its reads take as long as in a queue, or it
            hardly rests and others use it more.
        more_threads: The next step up, at most two threads a core and what the cores can feed.
        more_seconds: Time that one COUNT(*) would take with so many, if a read took no longer for it.
    """

    schema: str
    table: str
    pages: float | None = None
    counts: float | None = None
    threads: float | None = None
    seconds: float | None = None
    wait_seconds: float | None = None
    wait_share: float | None = None
    pages_read: float | None = None
    read_seconds: float | None = None
    saturated: bool | None = None
    more_threads: float | None = None
    more_seconds: float | None = None

    @property
    def subject(self) -> dict[str, str]:
        """What a finding is about."""
        return {"schema": self.schema, "table": self.table}


def parallel_reads(window: Window, scanned: Sequence[Scan], machine: Machine) -> list[Read]:
    """Every table that was scanned by COUNT(*) and by nothing else, on a server that has parallel readers.

    Args:
        window: What has been watched.
        scanned: The scans in it.
        machine: The server's.
    """
    threads = number(window.latest.setting("innodb_parallel_read_threads"))
    if threads is None or not window.latest.server.parallel_read:
        return []
    return [_read(window, scan, threads, machine) for scan in scanned if scan.counts and scan.counts == scan.passes]


def _read(window: Window, scan: Scan, threads: float, machine: Machine) -> Read:
    waited = scan.read_seconds  # a pass, and all passes are counts
    found = None
    if scan.count_seconds and waited is not None and machine.cores is not None:
        found = ParallelRead(scan.count_seconds, threads, waited, machine.cores)
    read_seconds = ratio(waited, scan.pages_read_per_pass)
    more = None if found is None else found.more_threads(at_most=_THREADS_PER_CORE * found.cores)
    return Read(
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
        more_seconds=None if found is None or more is None else found.seconds_with(more),
    )


def _saturated(window: Window, disks: Machine, read_seconds: float | None, waited: float | None) -> bool | None:
    """Whether more threads would only wait longer; None where the reads' time is not known."""
    if read_seconds is None or waited is None:
        return None
    # Writes come in bursts with a long queue that is gone at once: only a disk that hardly rests counts.
    busy = disks.disk_busy is not None and disks.disk_busy >= _BUSY
    queued = disks.disk_queue is not None and disks.disk_queue * window.seconds > (1.0 + _OTHERS) * waited
    return read_seconds >= _QUEUED_SECONDS or (busy and queued)
