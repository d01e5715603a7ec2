"""What tells a file from a later one of the same name, without reading it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

Stamp = tuple[int, ...] | None


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
