"""Generated files: a check for outdated ones, and their update."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def stale(contents: Mapping[Path, str], folder: Path) -> list[Path]:
    """Files that are out of date or no longer generated.

    Args:
        contents: The expected content by file.
        folder: A folder of generated files only. Further generated files may be elsewhere.
    """
    old = [path for path, text in contents.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    return old + [path for path in sorted(folder.glob("*")) if path not in contents]


def write(contents: Mapping[Path, str], folder: Path) -> None:
    """Bring the files up to date, and remove those no longer generated. Arguments as for ``stale``."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in stale(contents, folder):
        if path in contents:
            path.write_text(contents[path], encoding="utf-8")
        else:
            path.unlink()
