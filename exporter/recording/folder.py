"""The folder of --state-dir: names of a server's files, and files that a crash leaves whole."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def key(address: str) -> str:
    """What the names of a server's files begin with."""
    return hashlib.sha256(address.encode()).hexdigest()[:12]


def part_of(path: Path, mode: int = 0o600) -> Path:
    """An empty temporary file, by default of this account only, in which the content of ``path`` is written.

    It is new: what lies there, such as a link to another file, is removed and never written to. Raises OSError.
    """
    part = path.with_name(f".part-{path.name}")
    with suppress(FileNotFoundError):
        part.unlink()
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, mode))
    return part


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file beside ``path`` to write to, which replaces it at the end and is gone if anything fails.

    Where ``path`` is a device or a pipe, it is written to itself. Raises OSError.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    part = part_of(path, 0o666)  # less the umask: it is the user's file
    try:
        yield part
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def put(part: Path, path: Path) -> None:
    """Rename a written file so that a crash of the machine leaves the old or the new one. Raises OSError."""
    _sync(part)
    part.replace(path)
    _sync(path.parent)


def append(path: Path, content: bytes) -> None:
    """Append to a file that exists, so that a crash of the machine afterwards loses nothing of it. Raises OSError."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # another file may be there by now
    with os.fdopen(os.open(path, flags), "wb") as file:
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
