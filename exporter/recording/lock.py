"""The lock of a server's files in --state-dir: one sidecar at a time keeps them."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path

from exporter.recording import folder as folders

log = logging.getLogger(__name__)

_LONGEST_NOTE = 200
_SUFFIX = ".lock"


class InUse(Exception):
    """Another sidecar keeps this server's files; the text says which one, and what to do."""


@contextlib.contextmanager
def locked(folder: Path, address: str) -> Iterator[None]:
    """Hold the lock of a server's files. The kernel releases it when the process ends, however it ends.

    A folder that cannot be written, or has no locks, is logged: nothing can be kept there, or nobody else is kept out.

    Args:
        folder: Created for this account only if it does not exist.
        address: The server's address.

    Raises:
        InUse: Another process holds it.
    """
    path = folder / f"{folders.key(address)}{_SUFFIX}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        file = os.fdopen(os.open(path, flags, 0o600), "r+b", buffering=0)
    except OSError as error:
        log.warning("cannot lock %s, so another sidecar may use it too: %s", folder, error.strerror)
        yield
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InUse(
                f"{folder} is in use for {address} by another sidecar{_holder(file.read(_LONGEST_NOTE))}: "
                "end that one, or name another --state-dir"
            ) from None
        except OSError as error:
            log.warning("cannot lock %s, so another sidecar may use it too: %s", folder, error.strerror)
        with contextlib.suppress(OSError):  # a full disk: the lock holds without the note
            file.truncate()
            file.write(f"process {os.getpid()} on {socket.gethostname()}\n".encode())
        yield


def _holder(note: bytes) -> str:
    """Who holds it, as the holder wrote it; nothing else is shown."""
    found = re.match(rb"process \d{1,10} on [A-Za-z0-9.-]{1,64}$", note, re.MULTILINE)
    return f" ({found[0].decode()})" if found else ""
