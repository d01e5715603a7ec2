"""Programs that fetch or build something for the lab."""

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
    """Run one to its end.

    Args:
        what: What it fetches, for errors.
        tool: What it is called there.
        command: Its command line.
        folder: Where it runs.
        seconds: How long it may take.
        environment: Variables besides those of this process.

    Raises:
        Unavailable: It failed, or took longer; the text ends with the last line of what it said.
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
