"""The cache folder of downloads and builds: entries are whole or absent, with one writer at a time."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


class UnavailableHere(Exception):
    """Something is unavailable on this machine; the text is one line that says what and why."""


def folder() -> Path:
    """The cache: `INNODB_ADVISOR_CACHE`, or `.cache` in the repository. It may be removed at any time."""
    return Path(os.environ.get("INNODB_ADVISOR_CACHE") or REPOSITORY / ".cache").resolve()


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold `path` as a lock file; wait while another process or thread holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def entry(name: str, make: Callable[[Path], None]) -> Path:
    """The cache's folder `name`, created by `make` when absent.

    Args:
        name: A relative path. It must name everything that the content depends on.
        make: Fills the empty folder that it receives. It runs in one process at a time. The folder becomes visible
            after it returns.

    Returns:
        The folder; treat it as read-only.
    """
    target = folder() / name
    if target.is_dir():
        return target
    with lock(target.with_name(f".{target.name}.lock")):
        if not target.is_dir():
            for left in target.parent.glob(f".{target.name}.*/"):
                shutil.rmtree(left)  # left by a killed process: we hold the lock
            # Beside the target: a rename is atomic only within a file system.
            unfinished = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
            try:
                make(unfinished)
                unfinished.chmod(0o755)
                unfinished.rename(target)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
    return target
