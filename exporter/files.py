"""Files that others name or write: in place of one there may be a pipe, a device, or more than memory holds."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

MOST_BYTES = 4 << 20
"""Of a certificate, a login or settings: all authorities of a system together have less than 1 MiB."""
_KINDS = {stat.S_IFIFO: "a named pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket"}


def open_regular(path: Path, *, follow: bool = True) -> BinaryIO:
    """Open a file for reading, and never wait for it, as for a named pipe that nobody writes to.

    Args:
        path: The file.
        follow: Whether it may be a symbolic link, as the files of a mounted ConfigMap are.

    Raises:
        OSError: It cannot be read, or is no regular file.
    """
    _refuse_others(path, path.stat(follow_symlinks=follow))  # before opening it: to open a device may do something
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW))
    file = os.fdopen(descriptor, "rb")
    try:
        _refuse_others(path, os.fstat(descriptor))
    except OSError:
        file.close()
        raise
    return file


def content(path: Path, most: int = MOST_BYTES) -> bytes:
    """All bytes of a file.

    Args:
        path: The file.
        most: Bytes that are read.

    Raises:
        OSError: It cannot be read, is no regular file, or is larger.
    """
    with open_regular(path) as file:
        read = file.read(most + 1)
    _refuse_larger(path, len(read), most)
    return read


def text(path: Path) -> str:
    """The text of a file, with the line ends of Unix.

    Raises:
        OSError: As for ``content``, or it is not UTF-8.
    """
    try:
        plain = content(path).decode("utf-8")
    except UnicodeDecodeError:
        raise OSError(errno.EILSEQ, "it is not UTF-8 text", str(path)) from None
    return plain.replace("\r\n", "\n").replace("\r", "\n")


def check(path: Path) -> None:
    """Refuse a file before a library opens it by itself, and may wait for it.

    Raises:
        OSError: As for ``content``.
    """
    with open_regular(path) as file:
        _refuse_larger(path, os.fstat(file.fileno()).st_size, MOST_BYTES)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """An empty file beside ``path`` to write to, which replaces it at the end and is gone if anything fails.

    It is new: a link to another file in its place is removed and never written to. Where ``path`` is a device or a
    pipe, it is written to itself. Raises OSError.
    """
    if path.exists() and not path.is_file():
        yield path
        return
    part = path.with_name(f".part-{path.name}")
    with suppress(FileNotFoundError):
        part.unlink()
    os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666))  # less the umask
    try:
        yield part
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _refuse_others(path: Path, status: os.stat_result) -> None:
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFREG:
        return
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if kind == stat.S_IFLNK:
        reason = "Is a symbolic link, which nobody follows here; put the file itself there"
        raise OSError(errno.ELOOP, reason, str(path))
    reason = f"Is {_KINDS.get(kind, 'no regular file')}; write what it gives to a file first"
    raise OSError(errno.EINVAL, reason, str(path))


def _refuse_larger(path: Path, size: int, most: int) -> None:
    if size > most:
        raise OSError(errno.EFBIG, f"Is larger than {most >> 10} KiB, the most that is read", str(path))
