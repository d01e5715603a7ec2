"""Cores and memory that a process can use: the machine's, limited by CPU affinity and cgroups."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from exporter.linux import files

_KIB = 1024
_IDLE_FIELDS = (3, 4)  # idle, iowait
_BUSY_FIELDS = 8  # the guests' time that follows is in user and nice already (proc_stat(5))


@dataclass(frozen=True, slots=True)
class Cpu:
    """The CPU of a process."""

    cores: float
    """Cores that it can use."""
    source: str
    """The limit that gives ``cores``."""
    seconds: float | None
    """CPU time that all processes spent on these cores, from an arbitrary start."""


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of a process and of all processes that share its limits."""

    bytes: int
    source: str
    """The limit that gives ``bytes``."""
    available_bytes: int | None
    """The unused part."""


def cpu(root: Path, pid: int) -> Cpu | None:
    """Cores of a process: the minimum of its affinity and of the CPU quotas of its cgroup and the cgroups above.

    None if the process is in a cgroup that cannot be read.
    """
    groups = _groups(root, pid, "cpu")
    allowed = _allowed(root, pid)
    if groups is None or not allowed:
        return None
    quotas = [(quota, level) for level, group in enumerate(groups) if (quota := _quota(group)) is not None]
    quota, level = min(quotas, default=(float("inf"), 0))
    if quota < len(allowed):
        version_2 = (groups[level] / "cpu.max").exists()
        source = "cgroup cpu.max" if version_2 else "cgroup cpu.cfs_quota_us"
        return Cpu(quota, source, _used(root, pid, groups, level))
    return Cpu(float(len(allowed)), "cpu affinity", _busy(root, allowed))


def memory(root: Path, pid: int) -> Memory | None:
    """Memory of a process: the minimum of the machine's and of the limits of its cgroup and the cgroups above.

    None if the process is in a cgroup that cannot be read.
    """
    groups = _groups(root, pid, "memory")
    machine = files.fields(root / "proc/meminfo")
    total = _kib(machine.get("MemTotal"))
    if groups is None or total is None:
        return None
    least = (total, "MemTotal")
    rooms = [_kib(machine.get("MemAvailable"))]
    for group in groups:
        for name in ("memory.max", "memory.high", "memory.limit_in_bytes"):
            limit = files.integer(group / name)
            if limit is None or limit >= total:
                continue  # absent, "max", or version 1's largest number
            least = min(least, (limit, f"cgroup {name}"))
            rooms.append(_room(group, limit))
    known = [room for room in rooms if room is not None]
    return Memory(*least, max(0, min(known)) if len(known) == len(rooms) else None)


def host_cores(root: Path, pid: int) -> int:
    """Online CPUs that a process may run on, whatever its quota is; 0 if they cannot be read."""
    return len(_allowed(root, pid))


def host_memory(root: Path) -> int | None:
    """The memory of the machine, whatever the limits are."""
    return _kib(files.fields(root / "proc/meminfo").get("MemTotal"))


def _allowed(root: Path, pid: int) -> set[int]:
    """The online CPUs that the process may run on: its mask may name CPUs that could be plugged in."""
    allowed = _list(files.fields(root / "proc" / str(pid) / "status").get("Cpus_allowed_list", ""))
    online = _list(files.text(root / "sys/devices/system/cpu/online") or "")
    return allowed & online if online else allowed


def _list(ranges: str) -> set[int]:
    """The numbers in a list such as ``0-3,8``."""
    numbers: set[int] = set()
    for part in ranges.strip().split(","):
        first, _, last = part.partition("-")
        low, high = files.whole(first), files.whole(last or first)
        if low is not None and high is not None:
            numbers.update(range(low, high + 1))
    return numbers


def _busy(root: Path, cpus: set[int]) -> float | None:
    """Seconds that these CPUs were busy since the machine started."""
    ticks = 0
    for line in (files.text(root / "proc/stat") or "").splitlines():
        name, *spent = line.split()
        if name.startswith("cpu") and files.whole(name[3:]) in cpus:
            ticks += sum(int(time) for field, time in enumerate(spent[:_BUSY_FIELDS]) if field not in _IDLE_FIELDS)
    return ticks / os.sysconf("SC_CLK_TCK") if ticks else None


def _quota(group: Path) -> float | None:
    """The CPU quota of a cgroup in cores; None without a quota."""
    quota, _, period = (files.text(group / "cpu.max") or "").partition(" ")
    if not period:
        quota = files.text(group / "cpu.cfs_quota_us") or ""
        period = files.text(group / "cpu.cfs_period_us") or ""
    allowed, every = files.whole(quota), files.whole(period)
    return allowed / every if allowed is not None and every and allowed > 0 else None


def _used(root: Path, pid: int, groups: Sequence[Path], level: int) -> float | None:
    """CPU time of the cgroup at this level of ``groups``, in seconds."""
    microseconds = files.whole(files.fields(groups[level] / "cpu.stat").get("usage_usec"))
    if microseconds is not None:
        return microseconds / 1e6
    accounts = _groups(root, pid, "cpuacct") or []
    nanoseconds = files.integer(accounts[level] / "cpuacct.usage") if len(accounts) == len(groups) else None
    return None if nanoseconds is None else nanoseconds / 1e9


def _room(group: Path, limit: int) -> int | None:
    """Bytes that a cgroup can still use: those it does not use, and its pages of files that no process maps.

    The kernel reclaims such pages, active or not, before it refuses memory. MemAvailable counts both kinds too
    (meminfo in Documentation/filesystems/proc.rst). Pages that a server reads again and again through the page cache
    are active.
    """
    used, names = files.integer(group / "memory.current"), ("active_file", "inactive_file", "file_mapped")
    if used is None:
        used = files.integer(group / "memory.usage_in_bytes")
        names = ("total_active_file", "total_inactive_file", "total_mapped_file")
    stat = files.fields(group / "memory.stat")
    active, inactive, mapped = (files.whole(stat.get(name)) or 0 for name in names)
    return None if used is None else limit - used + max(0, active + inactive - mapped)


def _kib(value: str | None) -> int | None:
    """A value of /proc/meminfo in bytes."""
    number = files.whole((value or "").removesuffix("kB").strip())
    return None if number is None else number * _KIB


def _groups(root: Path, pid: int, controller: str) -> list[Path] | None:
    """The folders of the process's cgroup and of the cgroups above it that can be seen.

    Empty if the process is in no cgroup of this controller; None if its cgroup cannot be read. A sidecar in its own
    container sees only its own cgroup; the server's cgroup is visible in the server's file system.
    """
    process = root / "proc" / str(pid)
    path, version_1 = _membership(process / "cgroup", controller)
    if path is None:
        return []
    for base, mountinfo in ((root, root / "proc/self/mountinfo"), (process / "root", process / "mountinfo")):
        for mount in files.mounts(mountinfo):
            of_kind = mount.filesystem == "cgroup" and controller in mount.options
            if of_kind if version_1 else mount.filesystem == "cgroup2":
                folders = list(_upward(files.below(base, mount.point), mount.root, path))
                if folders:
                    return folders
    return None


def _membership(cgroup: Path, controller: str) -> tuple[PurePosixPath | None, bool]:
    """The path of the process's cgroup for this controller, and whether it is of version 1 (cgroups(7))."""
    unified = None
    for line in (files.text(cgroup) or "").splitlines():
        number, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controller in controllers.split(","):
            return PurePosixPath(path), True
        if number == "0" and not controllers:
            unified = PurePosixPath(path)
    return unified, False


def _upward(point: Path, mounted: PurePosixPath, path: PurePosixPath) -> Iterator[Path]:
    """The folders from the cgroup ``path`` up to the cgroup ``mounted``; none if ``path`` is not below it.

    Both are paths in this process's cgroup namespace: a cgroup outside of it begins with ``/..``.
    """
    if not path.is_relative_to(mounted):
        return
    parts = path.relative_to(mounted).parts
    if ".." in parts or not point.joinpath(*parts).is_dir():
        return
    for depth in range(len(parts), -1, -1):
        yield point.joinpath(*parts[:depth])
