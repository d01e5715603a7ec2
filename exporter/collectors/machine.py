"""The server's machine or container: cores, memory and storage, from files where the sidecar sees its process.

Nothing is taken from the sidecar's own limits: the files are those of the process that holds the other end of the
connection (exporter/linux). Where that is not to be seen, the configuration is asked, and then the server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from exporter.collectors.base import Collector, Here, Unavailable
from exporter.linux import disks, files, limits, process
from exporter.rows import Rows, Value, count, number, text
from exporter.server import Server
from exporter.snapshot import Machine, Storage

# AUTO: it was not set, and is the number of processors that the server found (seen with 10.5, 10.11 and 11.8).
SQL = (
    "SELECT GLOBAL_VALUE AS processors FROM information_schema.SYSTEM_VARIABLES"
    " WHERE VARIABLE_NAME = 'THREAD_POOL_SIZE' AND GLOBAL_VALUE_ORIGIN = 'AUTO'"
)
ABSENT = Unavailable(
    "absent",
    "the server's process cannot be seen from here, so that its cores, memory and disks are not known",
    "name them in the configuration: server: {cores: …, memory: …, storage: …}",
)


def queries(server: Server) -> tuple[str, ...]:
    """What MariaDB tells of its processors; on MySQL, the counter cpu_n is in INNODB_METRICS."""
    return (SQL,) if server.at_least(mariadb=(10, 5, 0)) else ()


def read(results: Sequence[Rows], here: Here) -> Rows | Unavailable:
    """All that can be known, by the names of Machine's fields; what cannot be known has no row."""
    pid = process.find(here.root, here.peer, files.whole(here.known.setting("port")))
    found = {} if pid is None else _of_process(here, pid)
    configured = here.configured
    if "cores" not in found:
        found |= _told(results, here) if configured.cores is None else _configured("cores", configured.cores)
    if "memory_bytes" not in found and configured.memory_bytes is not None:
        found |= _configured("memory", configured.memory_bytes, "memory_bytes")
    if configured.storage is not None:
        found["storage_configured"] = configured.storage
    return Rows(("name", "value"), tuple(found.items())) if found else ABSENT


def _configured(what: str, value: float, name: str | None = None) -> dict[str, Value]:
    return {name or what: value, f"{what}_source": "configuration"}


def _of_process(here: Here, pid: int) -> dict[str, Value]:
    """What the files say of the process."""
    found: dict[str, Value | None] = {}
    if (cpu := limits.cpu(here.root, pid)) is not None:
        found |= {"cores": cpu.cores, "cores_source": cpu.source, "cpu_seconds": cpu.seconds}
    if (memory := limits.memory(here.root, pid)) is not None:
        found |= {
            "memory_bytes": memory.bytes,
            "memory_source": memory.source,
            "memory_available_bytes": memory.available_bytes,
        }
    folder = _folder(here, pid)
    if folder is not None and (storage := disks.under(here.root, pid, folder)) is not None:
        found |= {
            "filesystem": storage.filesystem,
            "device": storage.device,
            "device_source": storage.source,
            "rotational": None if storage.rotational is None else int(storage.rotational),
            "disk_busy_seconds": storage.busy_seconds,
            "disk_queue_seconds": storage.queue_seconds,
        }
    return {name: value for name, value in found.items() if value is not None}


def _folder(here: Here, pid: int) -> str | None:
    """The data folder: the process works in it, and that name has no links on the way, unlike the setting's."""
    try:
        return str((here.root / "proc" / str(pid) / "cwd").readlink())
    except OSError:  # those of another account
        return here.known.setting("datadir")


def _told(results: Sequence[Rows], here: Here) -> dict[str, Value]:
    """Cores as the server counted them."""
    # The counter is off by default, and 0 for some seconds after it was enabled (seen on 9.7.4).
    if counted := (here.known.innodb_metrics or {}).get("cpu_n"):
        return {"cores": counted, "cores_source": "INNODB_METRICS cpu_n"}
    for row in results[0] if results else ():
        if processors := number(row["processors"]):
            return {"cores": processors, "cores_source": "thread_pool_size"}
    return {}


_STORAGE: Mapping[str | None, Storage | None] = {None: None, "ssd": "ssd", "hdd": "hdd"}


def parse(results: Sequence[Rows]) -> Machine:
    """The rows that ``read`` made, as a Machine."""
    found = {text(name): value for name, value in results[0].rows}
    memory, available, rotational = (
        None if (value := found.get(name)) is None else count(value)
        for name in ("memory_bytes", "memory_available_bytes", "rotational")
    )
    sources = {name: value for name, value in found.items() if isinstance(value, str)}
    machine = Machine(
        cores=number(found.get("cores")),
        cores_source=sources.get("cores_source"),
        cpu_seconds=number(found.get("cpu_seconds")),
        memory_bytes=memory,
        memory_source=sources.get("memory_source"),
        memory_available_bytes=available,
        filesystem=sources.get("filesystem"),
        device=sources.get("device"),
        device_source=sources.get("device_source"),
        rotational=None if rotational is None else bool(rotational),
        storage_configured=_STORAGE[sources.get("storage_configured")],
        disk_busy_seconds=number(found.get("disk_busy_seconds")),
        disk_queue_seconds=number(found.get("disk_queue_seconds")),
    )
    if machine == Machine():
        raise ValueError("nothing of a machine in it")
    return machine


COLLECTOR = Collector("machine", queries, parse, every=10.0, local=read)
