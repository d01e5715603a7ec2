"""What tells a file from a later one of the same name, without reading it, and files that are read again by it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

Stamp = tuple[int, ...] | None
Loaded = TypeVar("Loaded")


class Followed:
    """A file, and those that it names."""

    def __init__(self, path: Path) -> None:
        """Nothing is read yet."""
        self._path = path
        self._named: tuple[Path, ...] = ()
        self._stamps: Mapping[Path, Stamp] = {}

    @property
    def changed(self) -> bool:
        """Whether any of them is another than when they were last read, be it in vain."""
        return stamps(self._stamps) != self._stamps

    def read(self, load: Callable[[Path], Loaded], named: Callable[[Loaded], tuple[Path, ...]]) -> Loaded:
        """What ``load`` makes of the file, where ``named`` says which others it names. Raises as ``load`` does."""
        # Each stamp is older than what is read: a change meanwhile is seen the next time.
        self._stamps = stamps((self._path, *self._named))
        loaded = load(self._path)
        self._named = named(loaded)
        self._stamps = {self._path: self._stamps[self._path], **stamps(self._named)}
        return loaded


def stamps(paths: Iterable[Path]) -> dict[Path, Stamp]:
    """A stamp for each, of what lies behind a link: two of a path differ where the file was changed or replaced.

    None where there is no file, or none that can be looked at.
    """
    return {path: _stamp(path) for path in paths}


def _stamp(path: Path) -> Stamp:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
