"""The cores, memory and storage of the server's container or machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from advisor.facts.base import maybe, ratio
from advisor.facts.io import read_ahead_pages, through_page_cache
from advisor.observe.window import Window
from exporter.collectors.data_files import DATA_FILES
from exporter.collectors.machine import CONFIGURATION, MACHINE, Machine
from exporter.rows import number


@dataclass(frozen=True, slots=True)
class _Storage:
    """The kind of storage by the time of a read.

    A random read of 16 KiB takes 5 ms or more on a hard disk, 0.1 ms on an SSD, and up to 1 ms on an SSD behind a
    network. Sequential reads that are too short for read-ahead take about 0.1 ms on a hard disk after the first one.
    Their mean is below half a millisecond only for runs of 20 pages and more.
    """

    enough_reads: float = 200.0
    """Reads from which on their mean counts."""
    mostly_random: float = 0.8
    """Share of random reads from which on the mean is that of random ones."""
    ssd_seconds: float = 0.001
    ssd_seconds_where_rotational: float = 0.0005
    hdd_seconds: float = 0.003


_STORAGE = _Storage()
_IN_MEMORY = ("tmpfs", "ramfs", "zfs")  # here O_DIRECT does not mean that reads reach a device


@dataclass(frozen=True, slots=True)
class MachineFacts:
    """Cores, memory and storage of the server's container or machine, never of the sidecar's own."""

    cores: float | None = maybe("Cores that the server can keep busy.", unit="cores")
    cores_source: str | None = maybe("Where the number of cores comes from.")
    cpu_busy: float | None = maybe("Share of the cores that was busy over the window, with any work.", unit="0 to 1")
    memory_bytes: float | None = maybe("Memory for the server and for everything that shares its limits.", unit="bytes")
    memory_source: str | None = maybe("Where the size of the memory comes from.")
    memory_available_bytes: float | None = maybe("Memory that is still available.", unit="bytes")
    storage: str | None = maybe("How the storage of the data files behaves: ssd or hdd.")
    storage_source: str | None = maybe(
        "What tells the kind of storage: measured latency, its disks, or the configuration."
    )
    filesystem: str | None = maybe("Type of the data folder's file system.")
    device: str | None = maybe("Disks under the data folder.")
    disk_busy: float | None = maybe(
        "Share of the window in which the disks had a request in progress, as a mean over the disks.", unit="0 to 1"
    )
    disk_queue: float | None = maybe(
        "Requests in progress, summed over the disks, as a mean over the window.", unit="requests"
    )
    waited_reads: float | None = maybe(
        "Reads of data files over the window that something waited for; reads by read-ahead are not among them.",
        unit="reads",
    )
    read_seconds_per_read: float | None = maybe(
        "Time of a read of a data file that something waited for, with or without the page cache.", unit="seconds"
    )
    random_read_share: float | None = maybe(
        "Share of the reads of data files that something waited for. InnoDB reads ahead where pages are read in "
        "order: a high share means mostly random reads.",
        unit="0 to 1",
    )


def machine(window: Window) -> MachineFacts:
    """From the files of the server's process or the configuration, and performance_schema's file reads."""
    seen = window.latest[MACHINE] or Machine()
    waited, share, seconds = _reads(window)
    storage, source = _storage(window, seen, waited, share, seconds)
    return MachineFacts(
        cores=seen.cores,
        cores_source=seen.cores_source,
        cpu_busy=ratio(_per_second(window, lambda m: m.cpu_seconds), seen.cores),
        memory_bytes=None if seen.memory_bytes is None else float(seen.memory_bytes),
        memory_source=seen.memory_source,
        memory_available_bytes=None if seen.memory_available_bytes is None else float(seen.memory_available_bytes),
        storage=storage,
        storage_source=source,
        filesystem=seen.filesystem,
        device=seen.device,
        disk_busy=_per_second(window, lambda m: m.disk_busy_seconds),
        disk_queue=_per_second(window, lambda m: m.disk_queue_seconds),
        waited_reads=waited,
        read_seconds_per_read=seconds,
        random_read_share=share,
    )


def _reads(window: Window) -> tuple[float | None, float | None, float | None]:
    """Reads that something waited for, their share of all reads, and the seconds of one.

    performance_schema counts the reads of read-ahead too, but of their time only that of handing them to the kernel:
    a serial scan in O_DIRECT shows 9 µs a read where a random one takes 84 (seen on 9.7, alike on 5.6 and MariaDB).
    """
    reads = window.delta(lambda s: None if (files := s[DATA_FILES]) is None else float(files.reads))
    seconds = window.delta(lambda s: None if (files := s[DATA_FILES]) is None else files.seconds)
    ahead = window.delta(read_ahead_pages)
    if reads is None or ahead is None:
        return None, None, None
    waited = max(0.0, reads - ahead)
    return waited, ratio(waited, reads), ratio(seconds, waited)


def _storage(
    window: Window, seen: Machine, waited: float | None, share: float | None, seconds: float | None
) -> tuple[str | None, str | None]:
    """The kind of the storage and its source: its latency, or else its disks, or the configuration."""
    if waited is not None and seconds is not None and waited >= _STORAGE.enough_reads:
        measured = f"{seconds * 1000.0:.2f} ms a read of a data file, mean of {waited:.0f}"
        cached = through_page_cache(window.latest) is not False or seen.filesystem in _IN_MEMORY
        fast = _STORAGE.ssd_seconds_where_rotational if seen.rotational else _STORAGE.ssd_seconds
        random = share is not None and share >= _STORAGE.mostly_random and _reads_ahead(window)
        if random and seconds <= fast and not cached:
            return "ssd", measured
        # An SSD is so slow in the mean only if many requests wait for it.
        if seconds >= _STORAGE.hdd_seconds and seen.rotational is not False:
            return "hdd", measured
    if seen.storage is None:
        return None, None
    if seen.storage_source == CONFIGURATION:
        return seen.storage, CONFIGURATION
    claim = "is rotational" if seen.rotational else "is not rotational"
    return seen.storage, f"{seen.device} {claim}: {seen.device_source}"


def _reads_ahead(window: Window) -> bool:
    """Whether sequential reads start read-ahead, so that its absence means random reads.

    0 ends it on every server. At 64 MySQL hardly reads ahead (seen).
    """
    threshold = number(window.latest.setting("innodb_read_ahead_threshold"))
    return threshold is not None and 1 <= threshold <= 60


def _per_second(window: Window, counter: Callable[[Machine], float | None]) -> float | None:
    """Growth per second of a counter of the machine, between its first and its last reading."""
    read = [
        (s.outcomes["machine"].at, value)
        for s in window.snapshots
        if (seen := s[MACHINE]) is not None and "machine" in s.outcomes and (value := counter(seen)) is not None
    ]
    if not read:
        return None
    (began, first), (ended, last) = read[0], read[-1]
    return ratio(last - first, ended - began) if last >= first else None
