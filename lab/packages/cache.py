"""The folder where what was fetched or prepared once is kept: whole or not at all, one writer at a time."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


class Unavailable(Exception):
    """Something can't be had on this machine; the text is one line that says what and why."""


def folder() -> Path:
    """The cache: `INNODB_ADVISOR_CACHE`, or `.cache` in the repository. Removing it is always safe."""
    return Path(os.environ.get("INNODB_ADVISOR_CACHE") or REPOSITORY / ".cache").resolve()


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold `path` as a lock file, waiting for as long as another process or thread holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def kept(name: str, make: Callable[[Path], None]) -> Path:
    """The folder `name` of the cache, made by `make` when it isn't there yet.

    Args:
        name: A relative path; it must name everything that the content depends on.
        make: Fills the empty folder it is given. It runs in one process at a time, and nobody sees the
            folder before it returned.

    Returns:
        The folder, which nobody should write to.
    """
    target = folder() / name
    if target.is_dir():
        return target
    with lock(target.with_name(f".{target.name}.lock")):
        if not target.is_dir():
            for left in target.parent.glob(f".{target.name}.*/"):
                shutil.rmtree(left)  # by a process that was killed: we hold the lock
            # Beside the target, as a rename is atomic only within a file system.
            unfinished = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
            try:
                make(unfinished)
                unfinished.chmod(0o755)
                unfinished.rename(target)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
    return target
