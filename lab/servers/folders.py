"""Temporary folders, which a later process removes if theirs was killed."""

import contextlib
import fcntl
import shutil
import tempfile
from pathlib import Path
from typing import IO

PREFIX = "innodb-advisor-"


def claim(parent: Path | None = None) -> tuple[Path, IO[str]]:
    """Create a temporary folder, and remove the folders of ended processes.

    Args:
        parent: Its parent; by default the system's folder for temporary files.

    Returns:
        The folder, and an open file whose lock marks it as in use: close the file after removing the folder.
    """
    parent = parent or Path(tempfile.gettempdir())
    for lock in parent.glob(f"{PREFIX}*/lock"):
        # A living process holds its lock. A killed process took its servers with it.
        with contextlib.suppress(OSError), lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    unlocked = folder / "unlocked"
    held = unlocked.open("w")
    fcntl.flock(held, fcntl.LOCK_EX)
    unlocked.rename(folder / "lock")  # visible to others only when locked
    return folder, held
