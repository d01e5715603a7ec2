"""The run of a package client or build tool: npm, go, pip."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from lab.packages.cache import Unavailable
from lab.processes import child

TOLD_SECONDS = 30.0


def run(
    what: str,
    tool: str,
    command: Sequence[str],
    folder: Path,
    *,
    seconds: float,
    environment: Mapping[str, str] | None = None,
    tell: Callable[[str], None] | None = None,
) -> None:
    """Run a client to its end. It and all that it starts end with this call, and with this process.

    Args:
        what: The wanted package, for errors.
        tool: The client's name in errors.
        command: Its absolute path and its arguments.
        folder: The working folder.
        seconds: The time limit.
        environment: Variables besides those of this process.
        tell: Receives the output so far, every `TOLD_SECONDS`.

    Raises:
        Unavailable: It failed or exceeded the limit; the text ends with its last line of output.
    """
    with tempfile.TemporaryDirectory(prefix="client-") as own:
        output = Path(own) / "output"
        deadline = time.monotonic() + seconds
        process = child.spawn(command, environment or {}, output, folder)
        try:
            while (left := deadline - time.monotonic()) > 0 and not _ended(process, min(left, TOLD_SECONDS)):
                if tell:
                    tell(_text(output))
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # compilers outlive a killed go
            status = process.wait()
        said = _text(output).splitlines()
    if left <= 0:
        raise Unavailable(f"{what}: {tool} took longer than {seconds} s")
    if status:
        raise Unavailable(f"{what}: {tool}: {said[-1] if said else status}")


def _ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    return process.returncode is not None


def _text(output: Path) -> str:
    return output.read_text(encoding="utf-8", errors="replace").strip()
