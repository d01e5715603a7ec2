"""The machine of a server, from its sidecar's series, or from kube-state-metrics and cAdvisor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from advisor.fleet import queries
from advisor.fleet.identity import KUBERNETES, ServerKey
from advisor.fleet.readings import Reading
from exporter.collectors.machine import Machine

KUBE = (queries.KUBE_LIMITS, queries.KUBE_MEMORY)
CONFIGURATION = "configuration"
_LIMITS = "kube_pod_container_resource_limits"


def in_kubernetes(keys: Sequence[ServerKey]) -> bool:
    """Whether the labels of a shard's servers find the series of their pods."""
    return all({"namespace", "pod"} <= key.labels.keys() <= {*KUBERNETES} for key in keys)


def own(reading: Reading, point: float, end: float) -> Machine | None:
    """From innodb_server_*."""
    cores, memory = (_with_source(reading, f"innodb_server_{name}", end) for name in ("cores", "memory_bytes"))
    storage = [labels for labels, _ in reading.each("own-storage", end)]
    kind, filesystem, device, rotational, source = storage[0] if len(storage) == 1 else ("",) * 5
    return _known(
        cores=cores[0],
        cores_source=cores[1],
        cpu_seconds=reading.value("innodb_server_cpu_seconds_total", point),
        memory_bytes=_whole(memory[0]),
        memory_source=memory[1],
        memory_available_bytes=_whole(reading.value("innodb_server_memory_available_bytes", point)),
        filesystem=filesystem or None,
        device=device or None,
        device_source=source if source and source != CONFIGURATION else None,
        rotational={"true": True, "false": False}.get(rotational),
        storage_configured=kind if kind and source == CONFIGURATION else None,
        disk_busy_seconds=reading.value("innodb_server_disk_busy_seconds_total", point),
        disk_queue_seconds=reading.value("innodb_server_disk_queue_seconds_total", point),
    )


def kube(reading: Reading, end: float) -> Machine | None:
    """From the limits of the server's container, and the most memory that it used over the window."""
    cores, memory = (reading.value("kube-limits", end, resource) for resource in ("cpu", "memory"))
    used = reading.value("kube-memory", end)
    return _known(
        cores=cores,
        cores_source=None if cores is None else _LIMITS,
        memory_bytes=_whole(memory),
        memory_source=None if memory is None else _LIMITS,
        memory_available_bytes=None if memory is None or used is None else _whole(max(0.0, memory - used)),
    )


def _with_source(reading: Reading, metric: str, end: float) -> tuple[float | None, str | None]:
    """The value, and how the sidecar found it. Two sources, just after a change, are none."""
    told = list(reading.each(metric, end))
    if len(told) != 1:
        return None, None
    [((source,), value)] = told
    return value, source or None


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _known(**fields: Any) -> Machine | None:
    machine = Machine(**fields)
    return None if machine == Machine() else machine
