"""Small files of /proc and /sys, read without raising."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_ESCAPE = re.compile(r"\\([0-7]{3})")


def text(path: Path) -> str | None:
    """The file's text; None if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def integer(path: Path) -> int | None:
    """The file's one number; None if it holds anything else or cannot be read."""
    held = text(path)
    return None if held is None else whole(held)


def whole(word: str | None) -> int | None:
    """A text as a whole number; None if it is not one."""
    try:
        return None if word is None else int(word)
    except ValueError:
        return None


def names(folder: Path) -> list[str]:
    """The folder's names, sorted; empty if it cannot be read."""
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except OSError:
        return []


def fields(path: Path) -> dict[str, str]:
    """A file of lines such as ``MemTotal:  16 kB`` or ``inactive_file 4096``: values by name."""
    lines = (line.partition(" " if ":" not in line else ":") for line in (text(path) or "").splitlines())
    return {name.strip(): rest.strip() for name, _, rest in lines}


@dataclass(frozen=True, slots=True)
class Mount:
    """A line of mountinfo (proc_pid_mountinfo(5)): a mount, as the process sees it."""

    device: str
    root: PurePosixPath
    point: PurePosixPath
    filesystem: str
    source: str
    options: tuple[str, ...]


def mounts(path: Path) -> Iterator[Mount]:
    """The mounts of a mountinfo file, in its order."""
    for line in (text(path) or "").splitlines():
        before, _, after = line.partition(" - ")
        left, right = before.split(" "), after.split(" ")
        if len(left) < 6 or len(right) < 3:
            continue
        root, point = (PurePosixPath(_ESCAPE.sub(lambda code: chr(int(code[1], 8)), name)) for name in left[3:5])
        yield Mount(left[2], root, point, right[0], right[1], tuple(right[2].split(",")))


def below(root: Path, path: PurePosixPath) -> Path:
    """A process's absolute path as a path below ``root``."""
    return root / path.relative_to("/")
