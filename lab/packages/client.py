"""The run of a package client or build tool: npm, go."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from lab.packages.cache import Unavailable


def run(
    what: str,
    tool: str,
    command: Sequence[str],
    folder: Path,
    *,
    seconds: float,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run a client to its end.

    Args:
        what: The wanted package, for errors.
        tool: The client's name in errors.
        command: The command line.
        folder: The working folder.
        seconds: The time limit.
        environment: Variables besides those of this process.

    Raises:
        Unavailable: It failed or exceeded the limit; the text ends with its last line of output.
    """
    try:
        subprocess.run(
            command,
            env={**os.environ, **(environment or {})},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{what}: {tool} took longer than {seconds} s") from None
    except subprocess.CalledProcessError as error:
        said = (error.stderr.strip() or error.stdout.strip()).splitlines()
        raise Unavailable(f"{what}: {tool}: {said[-1] if said else error.returncode}") from None
