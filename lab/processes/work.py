"""Programs that work for a while: until they are done, or beside something else."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from lab.processes import child

_STOP_SECONDS = 5.0
_SAID_AT_MOST = 4000  # characters
_NONE: Mapping[str, str] = MappingProxyType({})


class WorkFailed(Exception):
    """The program failed; the text ends with what it printed."""


def finish(name: str, command: Sequence[str], limit: float, environment: Mapping[str, str] = _NONE) -> str:
    """Run a program to its end and return what it printed; it ends with us.

    Args:
        name: Its name in errors.
        command: Its absolute path and its arguments.
        limit: Seconds that it may take.
        environment: Variables besides those of this process.

    Raises:
        WorkFailed: Its status is not 0, or it took too long.
    """
    with _started(command, environment) as (process, output):
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            raise WorkFailed(f"{name} took longer than {limit:.0f} s") from None
        said = output.read_text(errors="replace")
    if status != 0:
        raise WorkFailed(f"{name} ended with status {status}:\n{said[-_SAID_AT_MOST:].strip()}")
    return said


@contextlib.contextmanager
def running(name: str, command: Sequence[str], environment: Mapping[str, str] = _NONE) -> Iterator[None]:
    """Run a program while the context lasts. The command must bound its time.

    Raises:
        WorkFailed: It ended before the context.
    """
    with _started(command, environment) as (process, output):
        yield
        if process.poll() is not None:
            said = output.read_text(errors="replace")[-_SAID_AT_MOST:].strip()
            raise WorkFailed(f"{name} ended early, with status {process.returncode}:\n{said}")


@contextlib.contextmanager
def _started(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A process and its output; it is stopped at the end if it still runs."""
    with tempfile.TemporaryDirectory(prefix="innodb-advisor-work-") as folder:
        output = Path(folder) / "output"
        process = child.spawn(command, environment, output)
        try:
            yield process, output
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_STOP_SECONDS)
            process.kill()
            process.wait()
