"""Tables that parallel readers counted in the window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from advisor.facts.base import Meaning, ratio
from advisor.facts.machine import MachineFacts
from advisor.facts.scans import ScanFacts
from advisor.models.parallel_read import ParallelRead
from advisor.observe.window import Window
from exporter.rows import number

_THREADS_PER_CORE = 2.0
# A random read takes 0.1 ms on an SSD, and up to 1 ms behind a network. A longer one is of a hard disk, or queued.
_QUEUED_SECONDS = 0.003
_OTHERS = 2.0
_BUSY = 0.8


@dataclass(frozen=True, slots=True)
class ParallelReadFacts:
    """A table that COUNT(*) read from disk in the window, with as many reader threads as are allowed."""

    schema: Annotated[str, Meaning("Schema of the table.")]
    table: Annotated[str, Meaning("Name of the table.")]
    pages: Annotated[float | None, Meaning("Size of its clustered index.", unit="pages")] = None
    counts: Annotated[float | None, Meaning("COUNT(*) of it in the window.", unit="counts")] = None
    threads: Annotated[float | None, Meaning("Reader threads, by innodb_parallel_read_threads.", unit="threads")] = None
    seconds: Annotated[float | None, Meaning("Time of one COUNT(*).", unit="seconds")] = None
    wait_seconds: Annotated[
        float | None,
        Meaning(
            "Time that all threads of one COUNT(*) together waited for reads of the table's data file.",
            unit="seconds",
        ),
    ] = None
    wait_share: Annotated[
        float | None, Meaning("Share of the threads' time that was waiting for reads.", unit="0 to 1")
    ] = None
    pages_read: Annotated[
        float | None, Meaning("Pages read from the table's data file by one COUNT(*).", unit="pages")
    ] = None
    read_seconds: Annotated[
        float | None, Meaning("Time of a read of one page that a thread waited for.", unit="seconds")
    ] = None
    saturated: Annotated[
        bool | None,
        Meaning(
            "Whether the device is at its limit: its reads take as long as in a queue, or it hardly rests and others "
            "use it more."
        ),
    ] = None
    more_threads: Annotated[
        float | None,
        Meaning("The next step up: at most two threads a core, and at most what the cores can feed.", unit="threads"),
    ] = None
    more_seconds: Annotated[
        float | None,
        Meaning("Time that one COUNT(*) would take with more_threads, if reads stayed as fast.", unit="seconds"),
    ] = None

    @property
    def subject(self) -> dict[str, str]:
        """The subject of a finding."""
        return {"schema": self.schema, "table": self.table}


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
