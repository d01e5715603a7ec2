"""A memory cgroup, as a container has one: its limit, what is in use under it, and the kernel's kills."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from lab.packages.cache import UnavailableHere

_PARENT = Path("/sys/fs/cgroup/memory")
_EMPTY_SECONDS, _PERIOD = 10.0, 0.02


class MemoryGroup:
    """A memory cgroup of version 1; a context manager that removes it.

    In version 2 the kernel takes a limit below what is in use, and kills; in version 1 it refuses it.

    Attributes:
        folder: Its files.
    """

    def __init__(self, name: str) -> None:
        self.folder = _PARENT / f"innodb-advisor-{name}-{os.getpid()}"

    def __enter__(self) -> Self:
        """Make it.

        Raises:
            UnavailableHere: This machine lets nobody make one.
        """
        try:
            self.folder.mkdir()
        except OSError as error:
            raise UnavailableHere(f"no memory cgroup of version 1 can be made here: {error}") from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        deadline = time.monotonic() + _EMPTY_SECONDS
        while self.folder.exists() and time.monotonic() < deadline:
            with contextlib.suppress(OSError):  # a process in it is ending
                self.folder.rmdir()
            time.sleep(_PERIOD)

    def limit(self, size: float) -> bool:
        """Whether the kernel takes the limit: it refuses one below what is in use."""
        try:
            (self.folder / "memory.limit_in_bytes").write_text(f"{size:.0f}")
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            return False
        return True

    @property
    def in_use(self) -> int:
        """Bytes that the kernel cannot take back: without pages of files that no process maps."""
        text = (self.folder / "memory.stat").read_text(encoding="ascii")
        stat = {name: int(value) for name, value in re.findall(r"^total_(\w+) (\d+)$", text, re.MULTILINE)}
        files = max(0, stat["active_file"] + stat["inactive_file"] - stat["mapped_file"])
        return int((self.folder / "memory.usage_in_bytes").read_text(encoding="ascii")) - files

    @property
    def kills(self) -> int:
        """Processes that the kernel has killed in it, because memory was short."""
        text = (self.folder / "memory.oom_control").read_text(encoding="ascii")
        match = re.search(r"^oom_kill (\d+)$", text, re.MULTILINE)
        return int(match[1]) if match else 0

    @contextlib.contextmanager
    def peak(self) -> Iterator[list[int]]:
        """The most in use so far, in a list of one number that goes on growing while the context lasts."""
        most, ended = [self.in_use], threading.Event()

        def watch() -> None:
            while not ended.wait(_PERIOD):
                most[0] = max(most[0], self.in_use)

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield most
        finally:
            ended.set()
            thread.join()
