"""Files that are made from the code: which of them are not as they must be, and bringing them up to date."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def stale(made: Mapping[Path, str], folder: Path) -> list[Path]:
    """Files that are not as they must be, or that nothing makes any more.

    Args:
        made: Every file, and what it must hold.
        folder: Holds nothing but such files; others may lie elsewhere.
    """
    old = [path for path, wanted in made.items() if not path.is_file() or path.read_text(encoding="utf-8") != wanted]
    return old + [path for path in sorted(folder.glob("*")) if path not in made]


def write(made: Mapping[Path, str], folder: Path) -> None:
    """Bring them up to date, and remove what nothing makes any more. Arguments as for ``stale``."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in stale(made, folder):
        if path in made:
            path.write_text(made[path], encoding="utf-8")
        else:
            path.unlink()
