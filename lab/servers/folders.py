"""Temporary folders that go even when the process that made them was killed: at the latest, with the next one."""

import contextlib
import fcntl
import shutil
import tempfile
from pathlib import Path
from typing import IO

PREFIX = "innodb-advisor-"


def claim(parent: Path | None = None) -> tuple[Path, IO[str]]:
    """Make a temporary folder, and remove those of processes that are no more.

    Args:
        parent: Where; by default the system's folder for temporary files.

    Returns:
        The folder, and an open file whose lock says that it is in use: close it after removing the folder.
    """
    parent = parent or Path(tempfile.gettempdir())
    for lock in parent.glob(f"{PREFIX}*/lock"):
        # The lock of a living process can't be had; one that was killed took its servers with it.
        with contextlib.suppress(OSError), lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    unlocked = folder / "unlocked"
    held = unlocked.open("w")
    fcntl.flock(held, fcntl.LOCK_EX)
    unlocked.rename(folder / "lock")  # now that it's locked, others may see it
    return folder, held
