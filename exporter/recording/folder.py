"""The folder of --state-dir: names of a server's files, and files that a crash leaves whole."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


def key(address: str) -> str:
    """What the names of a server's files begin with."""
    return hashlib.sha256(address.encode()).hexdigest()[:12]


def part_of(path: Path) -> Path:
    """An empty temporary file of this account only, in which the content of ``path`` is written. Raises OSError."""
    part = path.with_name(f".part-{path.name}")
    os.close(os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600))
    return part


def put(part: Path, path: Path) -> None:
    """Rename a written file so that a crash of the machine leaves the old or the new one. Raises OSError."""
    _sync(part)
    part.replace(path)
    _sync(path.parent)


def append(path: Path, content: bytes) -> None:
    """Append to a file that exists, so that a crash of the machine afterwards loses nothing of it. Raises OSError."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync(path: Path) -> None:
    """Make a file's content, or a folder's names, survive a crash of the machine."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
