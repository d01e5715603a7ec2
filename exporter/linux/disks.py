"""The disks under a process's folder, through partitions, mapped devices and arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from exporter.linux import files

_MILLISECONDS = 1e3
_IO_TICKS, _TIME_IN_QUEUE = 9, 10  # of a device's stat file (Documentation/block/stat.rst)


@dataclass(frozen=True, slots=True)
class FolderStorage:
    """The disks; the fields are those of exporter.collectors.machine.Machine."""

    filesystem: str
    device: str | None
    source: str
    rotational: bool | None
    busy_seconds: float | None
    queue_seconds: float | None


def under(root: Path, pid: int, folder: str) -> FolderStorage | None:
    """The storage of a folder, by its path in the process's view; None if the process's mounts cannot be read."""
    path = PurePosixPath(folder)
    held = [mount for mount in files.mounts(root / "proc" / str(pid) / "mountinfo") if path.is_relative_to(mount.point)]
    if not held:
        return None
    # Of two mounts on one point, the later covers the earlier.
    mount = max(reversed(held), key=lambda held_mount: len(held_mount.point.parts))
    device = _device(root, mount)
    if device is None:
        lack = f"the data folder is on {mount.filesystem}, whose block device cannot be told"
        return FolderStorage(mount.filesystem, None, lack, None, None, None)
    disks = list(_disks(device, set()))
    rotating = [files.integer(disk / "queue/rotational") for disk in disks]
    known = [flag for flag in rotating if flag is not None]
    stats = [(files.text(disk / "stat") or "").split() for disk in disks]
    return FolderStorage(
        filesystem=mount.filesystem,
        device=", ".join(disk.name for disk in disks),
        source="block device of the data folder",
        rotational=any(known) if known and (any(known) or len(known) == len(disks)) else None,
        busy_seconds=None if (busy := _sum(stats, _IO_TICKS)) is None else busy / len(disks),
        queue_seconds=_sum(stats, _TIME_IN_QUEUE),
    )


def _device(root: Path, mount: files.Mount) -> Path | None:
    """The folder in /sys of the mounted device; None for file systems without one, such as overlay or nfs.

    btrfs has an invented device number, but names a device.
    """
    numbered = root / "sys/dev/block" / mount.device
    if not mount.device.startswith("0:"):
        return _resolved(numbered)
    if not mount.source.startswith("/dev/"):
        return None
    name, known = PurePosixPath(mount.source).name, root / "sys/class/block"
    mapped = (entry for entry in files.names(known) if (files.text(known / entry / "dm/name") or "").strip() == name)
    return _resolved(known / name) or _resolved(known / next(mapped, name))


def _disks(device: Path, seen: set[Path]) -> Iterator[Path]:
    """The whole disks of a device, each once."""
    if (device / "partition").exists():
        device = device.parent
    if device in seen:
        return
    seen.add(device)
    parts = [_resolved(device / "slaves" / name) for name in files.names(device / "slaves")]
    known = [part for part in parts if part is not None]
    if not known:
        yield device
    for part in known:
        yield from _disks(part, seen)


def _resolved(link: Path) -> Path | None:
    """The target of a link in /sys; None if there is none."""
    try:
        return link.resolve(strict=True)
    except (OSError, RuntimeError):  # RuntimeError: a loop of links
        return None


def _sum(stats: list[list[str]], field: int) -> float | None:
    """The sum of a field in milliseconds over all disks, in seconds; None unless every disk has it."""
    values = [files.whole(words[field]) if len(words) > field else None for words in stats]
    known = [value for value in values if value is not None]
    return sum(known) / _MILLISECONDS if known and len(known) == len(values) else None
