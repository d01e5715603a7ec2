"""The file of the memory of days: one for each server's address, beside the stored history in --state-dir.

It is written after each hour as a new file, which is synced and then renamed: a crash leaves a whole file and loses the
current hour at most. A file that cannot be used is set aside.
"""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from advisor.observe.window import Window
from advisor.pool.curve import Curve
from advisor.pool.memory import MOST_HOURS, Hour, Memory, hour
from exporter.files import open_regular
from exporter.recording import folder as folders
from exporter.recording.bounds import Budget, TooMuch

log = logging.getLogger(__name__)

_LARGEST_BYTES = 8 << 20
"""MOST_HOURS take 2 MB: a larger file is not one of ours."""
_PATIENCE = 10.0
"""Seconds that the sidecar waits for the folder at its end."""
_SUFFIX, _ASIDE = "-hours.json", ".damaged"


class UnusableMemory(Exception):
    """The file is there, but is no memory of this version; the text says why."""


class Stored(BaseModel):
    """The file's content. A change that this version could not read needs another number."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1
    hours: tuple[Hour, ...]


def path_of(folder: Path, address: str) -> Path:
    """The file of a server."""
    return folder / f"{folders.key(address)}{_SUFFIX}"


def read(path: Path) -> Memory:
    """The memory in a file; empty where there is none.

    Raises:
        UnusableMemory: The file cannot be read, or is something else.
    """
    try:
        with open_regular(path, follow=False) as file:
            content = Budget(text=_LARGEST_BYTES).taken(file.read(_LARGEST_BYTES + 1))
    except (FileNotFoundError, NotADirectoryError):
        return Memory()
    except OSError as error:
        raise UnusableMemory(error.strerror or str(error)) from error
    except TooMuch as error:
        raise UnusableMemory(str(error)) from error
    try:
        hours = Stored.model_validate_json(content).hours
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise UnusableMemory(f"{where}: {first['msg']}" if where else first["msg"]) from None
    return Memory(tuple(sorted(hours, key=lambda each: each.at))[-MOST_HOURS:])


class MemoryFile:
    """The memory of a server, kept in a folder. Errors of the folder are logged, never raised.

    Attributes:
        memory: As it is now, whether it could be written or not.
    """

    def __init__(self, folder: Path, address: str) -> None:
        """Read the file.

        Args:
            folder: Created for this account only if it does not exist.
            address: The server's address; each address has its own memory.
        """
        self._path = path_of(folder, address)
        self._writing: threading.Thread | None = None
        self._failing = False
        self.memory = Memory()
        try:
            self.memory = read(self._path)
        except UnusableMemory as unusable:
            self._set_aside(unusable)
        if self.memory.hours:
            log.info("found a memory of %d hours in %s", len(self.memory.hours), self._path)

    def remember(self, window: Window, curve: Curve | None) -> None:
        """Remember an hour, and write the file in the background.

        Args:
            window: What was watched, about an hour after the last one.
            curve: The miss curve of this window; None where it cannot be computed.
        """
        found = hour(window, curve)
        if found is None:
            return
        memory = self.memory.with_hour(found)
        if memory == self.memory:
            return
        self.memory = memory
        if self._writing is not None and self._writing.is_alive():
            self._failed(TimeoutError("the folder does not answer"))
            return
        # A daemon: a folder that does not answer must not delay the sidecar's end.
        self._writing = threading.Thread(target=self._write, args=(memory,), name="memory", daemon=True)
        try:
            self._writing.start()
        except RuntimeError as error:  # no thread available
            self._failed(error)

    def close(self) -> None:
        """Wait for the folder, for a limited time."""
        if self._writing is not None and self._writing.is_alive():
            self._writing.join(_PATIENCE)

    def _write(self, memory: Memory) -> None:
        part: Path | None = None
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            part = folders.part_of(self._path)
            part.write_text(Stored(hours=memory.hours).model_dump_json(), "utf-8")
            folders.put(part, self._path)
        except OSError as error:
            if part is not None:
                with suppress(OSError):
                    part.unlink(missing_ok=True)
            self._failed(error)
            return
        self._failing = False

    def _set_aside(self, reason: UnusableMemory) -> None:
        aside = self._path.with_name(self._path.name + _ASIDE)
        log.warning("the memory of days begins anew: %s is set aside: %s", self._path, reason)
        try:
            self._path.replace(aside)
        except OSError as error:
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        if not self._failing:
            said = getattr(error, "strerror", None) or error
            log.warning("cannot keep the memory of days in %s: %s", self._path.parent, said)
        self._failing = True
