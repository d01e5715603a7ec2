"""Memory that the server's container needs with a change. Pure.

The limit is counted from what the container has in use: all of it that the kernel cannot take back, most of the window,
as if each page of the pool and the buffers of one index build were in it. The lab holds it to real servers in real
memory cgroups: `make lab EXPERIMENT=plans`, docs/plan.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from advisor.contract.plan import MemoryPlan
from advisor.contract.recommendation import Change, tidy
from advisor.contract.templates import binary
from advisor.facts.base import over_pools
from advisor.models.ddl import BUILD_PEAK
from advisor.observe.window import Window
from advisor.plan.targets.target import PlanRefused
from advisor.pool.settings import POOL_SIZE
from exporter.collectors.ddl import DDL
from exporter.collectors.machine import MACHINE, Machine
from exporter.rows import number
from exporter.server import Server
from exporter.snapshot import Snapshot

DDL_BUFFER = "innodb_ddl_buffer_size"
_MIB = 2**20


@dataclass(frozen=True, slots=True)
class _Needs:
    """What a container needs beside the bytes of the settings."""

    beside_pool: float = 0.03
    """Of a byte of the pool, bytes that are allocated beside it: hash tables, the kernel's tables of pages, and control
    blocks where they are not a part of the pool."""
    beside_pool_with_latches: float = 0.09
    """The same where each control block has latches."""
    room: float = 0.1
    """Share of the limit that stays free of what is expected: other tools take a change back at 90 % of the memory."""


_NEEDS = _Needs()


def memory(window: Window, changes: tuple[Change, ...]) -> MemoryPlan | None:
    """What the server's container needs with the changes; None where they move no memory.

    Raises:
        PlanRefused: The machine does not have that much.
    """
    moved = math.fsum(_change_bytes(window.latest.server, changes))
    if not moved:
        return None
    machine = window.latest[MACHINE] or Machine()
    limit = machine.memory_bytes if _limited(machine) else None
    full = [needed for snapshot in window.snapshots if (needed := _full_bytes(snapshot)) is not None]
    used = _used_bytes(window.latest)
    if limit is None or used is None or not full:
        _refuse_beyond_machine(window.latest, machine, moved)
        return MemoryPlan(
            used_bytes=used, limit_bytes=limit, change_bytes=tidy(moved), reason=_not_known(machine, moved, changes)
        )
    needed = max(full) + moved
    enough = _in_mib(needed / (1.0 - _NEEDS.room))
    # A limit that is large enough stays; one that is too small already is not made smaller.
    then = max(limit, enough) if moved > 0 else min(limit, enough)
    if machine.host_memory_bytes is not None and then > machine.host_memory_bytes:
        raise PlanRefused(
            f"the container would need a limit of {binary(then)}, and its machine has"
            f" {binary(machine.host_memory_bytes)}"
        )
    return MemoryPlan(
        used_bytes=used,
        limit_bytes=limit,
        change_bytes=tidy(moved),
        request_then=then,
        limit_then=then,
        reason=_reason(used, max(full), moved, limit, then),
    )


def limits(plan: MemoryPlan | None) -> tuple[int, int] | None:
    """The container's limit before and after, in bytes; None where it stays, or is not known."""
    if plan is None or plan.limit_bytes is None or plan.limit_then is None or plan.limit_then == plan.limit_bytes:
        return None
    return int(plan.limit_bytes), int(plan.limit_then)


def _change_bytes(server: Server, changes: tuple[Change, ...]) -> Iterator[float]:
    """Bytes that the server takes more, or less, by change."""
    for change in changes:
        before, after = number(change.from_), number(change.to)
        if before is None or after is None:
            continue
        if change.setting == POOL_SIZE:
            yield (1.0 + _beside_pool(server)) * (after - before)
        elif change.setting == DDL_BUFFER:
            yield BUILD_PEAK * (after - before)


def _beside_pool(server: Server) -> float:
    return _NEEDS.beside_pool_with_latches if server.has("page_latches_in_control_blocks") else _NEEDS.beside_pool


def _limited(machine: Machine) -> bool:
    """Whether its memory is a limit, and not all of a machine's."""
    return machine.memory_source not in {None, "MemTotal"}


def _used_bytes(snapshot: Snapshot) -> int | None:
    """Memory under the container's limit that the kernel cannot take back; None where that is not seen."""
    machine = snapshot[MACHINE] or Machine()
    if not _limited(machine) or machine.memory_bytes is None or machine.memory_available_bytes is None:
        return None
    return machine.memory_bytes - machine.memory_available_bytes


def _full_bytes(snapshot: Snapshot) -> float | None:
    """The same with a pool without free pages, and one index build."""
    used, free = _used_bytes(snapshot), over_pools("free_pages")(snapshot)
    page = number(snapshot.setting("innodb_page_size"))
    if used is None or free is None or page is None:
        return None
    builds = snapshot[DDL]
    building = (builds and builds.memory_bytes) or 0
    return used + free * page + max(0.0, BUILD_PEAK * (number(snapshot.setting(DDL_BUFFER)) or 0.0) - building)


def _in_mib(size: float) -> int:
    return math.ceil(size / _MIB) * _MIB


def _refuse_beyond_machine(latest: Snapshot, machine: Machine, moved: float) -> None:
    """Refuse what a machine without a limit has no memory for."""
    page, free = number(latest.setting("innodb_page_size")), over_pools("free_pages")(latest)
    available = machine.memory_available_bytes
    if available is None or page is None or free is None or moved <= 0:
        return
    if moved + free * page > available:
        raise PlanRefused(
            f"the server would take {binary(moved)} more, and {binary(free * page)} for pages of its pool that are free"
            f" today; the machine has {binary(available)} left"
        )


def _reason(used: float, full: float, moved: float, limit: int, then: int) -> str:
    """How the figures follow."""
    room = 100.0 * (1.0 - (full + moved) / then)
    change = f"takes {binary(moved)} more" if moved > 0 else f"gives {binary(-moved)} back"
    counted = (
        f"{binary(used)} are in use under the limit of {binary(limit)} today, and {binary(full)} with a full pool and"
        f" an index build. The change {change}"
    )
    order = (
        "The limit rises first, then the settings change"
        if moved > 0
        else "The settings change first; the limit goes down once the memory is given back"
    )
    if then == limit:
        return f"{counted}: the limit stays, with {room:.0f} % of it left."
    return f"{counted}: {binary(full + moved)} of {binary(then)}, which leaves {room:.0f} % of the limit. {order}."


def _not_known(machine: Machine, moved: float, changes: tuple[Change, ...]) -> str:
    """Why there is no figure for the limit."""
    names = " and ".join(change.setting for change in changes if change.setting in {POOL_SIZE, DDL_BUFFER})
    seen = (
        "no limit is seen: the server's process is in no memory cgroup with a limit below the machine's memory"
        if machine.memory_source == "MemTotal"
        else "the server's process is not seen: share the pod's process namespace (shareProcessNamespace: true)"
    )
    more = "more" if moved > 0 else "less"
    return f"With {names} the server takes {binary(abs(moved))} {more}. What it needs in total is not known: {seen}."
