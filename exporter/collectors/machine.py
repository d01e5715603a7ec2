"""The server's machine or container: cores, memory and storage, from files where the sidecar sees its process.

The sidecar's own limits are never used: the files describe the process at the other end of the connection
(exporter/linux). If that process cannot be seen, the values come from the configuration, then from the server.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from exporter.anonymisation import name_value_pairs
from exporter.collectors.base import Collector, SourceUnavailable, counter, fixed, gauge, info, optional
from exporter.collectors.innodb_metrics import INNODB_METRICS
from exporter.exposition import LabelledValue
from exporter.linux import disks, limits
from exporter.rows import Rows, Value, count, number, text
from exporter.snapshot import ConfiguredMachine, Snapshot, Storage

CONFIGURATION = "configuration"
_MYSQL_COUNT = "INNODB_METRICS cpu_n"


@dataclass(frozen=True, slots=True)
class Machine:
    """Cores, memory and storage of the server's container or machine, never of the sidecar's own."""

    cores: float | None = None
    """Cores that the server can keep busy."""
    cores_source: str | None = None
    """``cgroup cpu.max``, ``cgroup cpu.cfs_quota_us``, ``cpu affinity``, ``configuration``, or the server's own count
    at its start, which ignores CPU quotas: ``INNODB_METRICS cpu_n`` (MySQL). MariaDB tells its own only in
    SYSTEM_VARIABLES, which is a temporary table on disk at each query."""
    host_cores: int | None = None
    """Cores without the CPU quota. MySQL computes defaults of them."""
    cpu_seconds: float | None = None
    """CPU time that all processes spent on these cores, from an arbitrary start. Some cores are idle while it grows by
    less than ``cores`` a second."""
    memory_bytes: int | None = None
    """Memory for the server and all processes that share its limits."""
    memory_source: str | None = None
    """``cgroup memory.max``, ``cgroup memory.high``, ``cgroup memory.limit_in_bytes``, ``MemTotal`` or
    ``configuration``."""
    memory_available_bytes: int | None = None
    """The unused part of it."""
    host_memory_bytes: int | None = None
    """Memory without the limits. MySQL computes defaults of it."""
    filesystem: str | None = None
    """Type of the file system that holds the data folder."""
    device: str | None = None
    """Names of the whole disks under the data folder, such as ``sda, sdb``."""
    device_source: str | None = None
    """How the disks were found, or why not."""
    rotational: bool | None = None
    """Whether any of these disks reports that it rotates. Virtual disks often do, whatever they are."""
    storage_configured: Storage | None = None
    """The configured kind of storage."""
    disk_busy_seconds: float | None = None
    """Time with a request under way since the machine started, mean of the disks."""
    disk_queue_seconds: float | None = None
    """Time of all requests, summed over the disks: its growth a second is the number of requests under way."""

    @property
    def storage(self) -> Storage | None:
        """The kind of the storage by its disks, or else by the configuration."""
        if self.rotational is False:
            return "ssd"
        if self.storage_configured is not None:
            return self.storage_configured
        # Virtual disks of virtio and Xen claim to rotate by default, whatever they are (seen on an SSD's vda).
        return "hdd" if self.rotational and not (self.device or "").startswith(("vd", "xvd")) else None

    @property
    def storage_source(self) -> str | None:
        """Where ``storage`` comes from: ``configuration``, or how the disks were found or why not."""
        return CONFIGURATION if self.storage_configured and self.rotational is not False else self.device_source


def read(root: Path, pid: int | None, known: Snapshot, configured: ConfiguredMachine) -> Rows:
    """Everything that is known, by the names of Machine's fields; an unknown field has no row.

    Args:
        root: The root of the host's file system.
        pid: The server's process; None if it cannot be seen.
        known: The sections of the collectors before this one.
        configured: The user's description.

    Raises:
        SourceUnavailable: Nothing is known.
    """
    machine = {} if pid is None else _of_process(root, pid, known.setting("datadir"))
    if "cores" not in machine:
        machine |= _from_server(known)
    machine |= _configured(configured, machine.get)
    if not machine:
        raise SourceUnavailable(
            "absent",
            "the server's process cannot be seen from here, so that its cores, memory and disks are not known",
            "name them in the configuration: server: {cores: …, memory: …, storage: …}",
        )
    return Rows(("name", "value"), tuple(machine.items()))


def configure(snapshot: Snapshot, configured: ConfiguredMachine) -> Snapshot:
    """A recorded snapshot with the machine that the sampler would have found under this configuration."""
    known = snapshot[MACHINE] or Machine()
    values = _configured(configured, lambda name: getattr(known, name))
    return snapshot.with_section(MACHINE, replace(known, **values)) if values else snapshot


def _configured(configured: ConfiguredMachine, seen: Callable[[str], Value]) -> dict[str, Any]:
    """The fields of Machine that the configuration decides.

    What was read from the process's files wins over the configuration. The configuration wins over the processors that
    the server counted, which say nothing of a CPU quota.
    """
    decided: dict[str, Any] = {}
    if configured.cores is not None and (seen("cores") is None or seen("cores_source") == _MYSQL_COUNT):
        decided |= {"cores": configured.cores, "cores_source": CONFIGURATION}
    if configured.memory_bytes is not None and seen("memory_bytes") is None:
        decided |= {"memory_bytes": configured.memory_bytes, "memory_source": CONFIGURATION}
    if configured.storage is not None:
        decided["storage_configured"] = configured.storage
    return decided


def _of_process(root: Path, pid: int, datadir: str | None) -> dict[str, Value]:
    """The files' description of the process."""
    process: dict[str, Value | None] = {}
    if (cpu := limits.cpu(root, pid)) is not None:
        process |= {
            "cores": cpu.cores,
            "cores_source": cpu.source,
            "host_cores": limits.host_cores(root, pid),
            "cpu_seconds": cpu.seconds,
        }
    if (memory := limits.memory(root, pid)) is not None:
        process |= {
            "memory_bytes": memory.bytes,
            "memory_source": memory.source,
            "memory_available_bytes": memory.available_bytes,
            "host_memory_bytes": limits.host_memory(root),
        }
    folder = _folder(root, pid, datadir)
    if folder is not None and (storage := disks.under(root, pid, folder)) is not None:
        process |= {
            "filesystem": storage.filesystem,
            "device": storage.device,
            "device_source": storage.source,
            "rotational": None if storage.rotational is None else int(storage.rotational),
            "disk_busy_seconds": storage.busy_seconds,
            "disk_queue_seconds": storage.queue_seconds,
        }
    return {name: value for name, value in process.items() if value is not None}


def _folder(root: Path, pid: int, datadir: str | None) -> str | None:
    """The data folder: the process's working directory, whose path holds no links, unlike the setting's."""
    try:
        return str((root / "proc" / str(pid) / "cwd").readlink())
    except OSError:  # a process of another account
        return datadir


def _from_server(known: Snapshot) -> dict[str, Value]:
    """Cores as the server counted them."""
    # The counter is off by default, and 0 for some seconds after it was enabled (seen on 9.7.4).
    if counted := (known[INNODB_METRICS] or {}).get("cpu_n"):
        return {"cores": counted, "cores_source": _MYSQL_COUNT}
    return {}


_ROTATIONAL = {None: "", True: "true", False: "false"}
_STORAGE: Mapping[str | None, Storage | None] = {None: None, "ssd": "ssd", "hdd": "hdd"}


def parse(results: Sequence[Rows]) -> Machine:
    """The rows of ``read`` as a Machine."""
    values = {text(name): value for name, value in results[0].rows}
    memory, available, host_memory, host_cores, rotational = (
        None if (value := values.get(name)) is None else count(value)
        for name in ("memory_bytes", "memory_available_bytes", "host_memory_bytes", "host_cores", "rotational")
    )
    sources = {name: value for name, value in values.items() if isinstance(value, str)}
    machine = Machine(
        cores=number(values.get("cores")),
        cores_source=sources.get("cores_source"),
        host_cores=host_cores,
        cpu_seconds=number(values.get("cpu_seconds")),
        memory_bytes=memory,
        memory_source=sources.get("memory_source"),
        memory_available_bytes=available,
        host_memory_bytes=host_memory,
        filesystem=sources.get("filesystem"),
        device=sources.get("device"),
        device_source=sources.get("device_source"),
        rotational=None if rotational is None else bool(rotational),
        storage_configured=_STORAGE[sources.get("storage_configured")],
        disk_busy_seconds=number(values.get("disk_busy_seconds")),
        disk_queue_seconds=number(values.get("disk_queue_seconds")),
    )
    if machine == Machine():
        raise ValueError("nothing of a machine in it")
    return machine


def _cores(snapshot: Snapshot) -> Iterator[LabelledValue]:
    if (machine := snapshot[MACHINE]) is not None:
        yield from optional(machine.cores, machine.cores_source or "")


def _memory(snapshot: Snapshot) -> Iterator[LabelledValue]:
    if (machine := snapshot[MACHINE]) is not None:
        yield from optional(machine.memory_bytes, machine.memory_source or "")


def _storage(snapshot: Snapshot) -> Iterator[LabelledValue]:
    seen = snapshot[MACHINE]
    labels = () if seen is None else (seen.storage, seen.filesystem, seen.device, _ROTATIONAL[seen.rotational])
    if seen is not None and any(labels):
        yield (*(label or "" for label in labels), seen.storage_source or ""), 1.0


# As in the kernel's Documentation/admin-guide/devices.txt; a mapped device or an array may have any name.
_DISK = re.compile(
    r"(?:sd|hd|vd|xvd)[a-z]+|nvme\d+(?:c\d+)?n\d+|(?:md|dm-|loop|nbd|rbd|zd|drbd|mmcblk|pmem|bcache|ram)\d+"
)
_FILE_SYSTEM = re.compile(r"ext[234]|xfs|btrfs|zfs|overlay|tmpfs|nfs4?|f2fs|jfs|reiserfs|bcachefs|ceph|9p|virtiofs")


def _anonymous(name: str, value: Value) -> Value:
    match name, value:
        case "device", str():
            return ", ".join(disk if _DISK.fullmatch(disk) else "disk" for disk in value.split(", "))
        case "filesystem", str():
            return value if _FILE_SYSTEM.fullmatch(value) else "other"
        case "device_source", str() if value.startswith("the data folder is on "):
            return "the data folder's block device cannot be told"
        case _:
            return value


MACHINE = Collector(
    "machine",
    fixed(),
    parse,
    every=10.0,
    host_reader=read,
    anonymise=name_value_pairs(_anonymous),
    metrics=(
        gauge(
            "innodb_server_cores",
            "Cores that the server's container or machine can keep busy; source says how they were found.",
            "cores",
            ("source",),
            values=_cores,
        ),
        gauge(
            "innodb_server_memory_bytes",
            "Memory of the server's container or machine; source says how it was found.",
            "memory_bytes",
            ("source",),
            values=_memory,
        ),
        gauge(
            "innodb_server_memory_available_bytes",
            "Memory of the server's container or machine that is still available.",
            "memory_available_bytes",
        ),
        info(
            "innodb_server_storage_info",
            "What holds the data folder. storage is ssd or hdd, or empty where neither disks nor configuration tell; "
            "rotational is what the disks claim, which virtual ones often do wrongly.",
            labels=("storage", "filesystem", "device", "rotational", "source"),
            values=_storage,
        ),
        counter(
            "innodb_server_cpu_seconds_total",
            "CPU time that all processes spent on the cores of innodb_server_cores, the server's and others.",
            "cpu_seconds",
        ),
        counter(
            "innodb_server_disk_busy_seconds_total",
            "Time with a request under way on the disks under the data folder, mean of the disks.",
            "disk_busy_seconds",
        ),
        counter(
            "innodb_server_disk_queue_seconds_total",
            "Time of all requests on the disks under the data folder: its growth a second is the number under way.",
            "disk_queue_seconds",
        ),
    ),
)
