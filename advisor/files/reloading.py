"""Content of files that is loaded again when they change. While they are broken, the last good content stays."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Generic, TypeVar

from advisor.files.yaml_file import FileError

log = logging.getLogger(__name__)

FileState = tuple[int, ...] | None
"""Inode, size and times of what lies behind a path; None where there is no file, or it cannot be looked at."""
Content = TypeVar("Content")
Paths = Callable[[], Iterable[Path]]
Watch = Callable[[Paths], None]
"""Watches the files that its argument lists, which is called again at every look.

It is called before the files are read: a change while they are read is then seen at the next look.
"""


class Reloader(Generic[Content]):
    """Content of files: loaded whole, or not at all.

    Attributes:
        content: The content in force.
        problem: Why the last attempt to load failed; None after a successful one.
    """

    def __init__(
        self, load: Callable[[Watch], Content], *, refused: str, loaded: str | Callable[[Content], str]
    ) -> None:
        """Load the files.

        Args:
            load: Reads the files, and has each of them watched first. Raises FileError.
            refused: Begins the log line about files that cannot be loaded again; the problem follows.
            loaded: The log line about new content.

        Raises:
            FileError: As ``load`` raises it.
        """
        self._load, self._refused, self._loaded = load, refused, loaded
        self._lock = threading.Lock()
        self._watched: list[tuple[Paths, dict[Path, FileState]]] = []
        self.problem: FileError | None = None
        self.content = load(self._watch)

    def changed(self) -> bool:
        """Whether any file changed since the last attempt to load, successful or not."""
        return any(_states(paths()) != before for paths, before in self._watched)

    def reload(self) -> None:
        """Load the files again, and log the result. May run in another thread than the readers of ``content``.

        Raises:
            FileError: Anything in the files is wrong; the old content stays in force.
        """
        with self._lock:
            self._watched = []
            try:
                self.content = self._load(self._watch)
            except FileError as error:
                self.problem = error
                log.warning("%s: %s", self._refused, error)
                raise
            self.problem = None
        log.info("%s", self._loaded if isinstance(self._loaded, str) else self._loaded(self.content))

    def refresh(self) -> None:
        """Load the files again if any of them changed; the log has what is wrong with them."""
        if self.changed():
            with contextlib.suppress(FileError):
                self.reload()

    def _watch(self, paths: Paths) -> None:
        self._watched.append((paths, _states(paths())))


def _states(paths: Iterable[Path]) -> dict[Path, FileState]:
    return {path: _state(path) for path in paths}


def _state(path: Path) -> FileState:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
