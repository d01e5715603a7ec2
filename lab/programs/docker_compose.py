"""docker compose from Debian's package, unpacked into the cache. It reads and checks files; no daemon is needed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from lab.packages import debian

SUITE, PACKAGE, PROGRAM = "trixie", "docker-compose", "usr/libexec/docker/cli-plugins/docker-compose"
_SECONDS = 60


class ComposeError(Exception):
    """It refuses a file; the text is its own."""


def command() -> list[str]:
    """The command line, to be followed by its arguments. Raises UnavailableHere."""
    return debian.program(SUITE, PACKAGE, PROGRAM)


def resolved(path: Path) -> dict[str, Any]:
    """What it makes of a file: checked against the Compose Specification's schema, with absolute paths.

    Raises:
        ComposeError: The file is not valid.
    """
    arguments = ("--file", str(path), "config", "--format", "json")
    completed = subprocess.run([*command(), *arguments], check=False, capture_output=True, text=True, timeout=_SECONDS)
    if completed.returncode:
        raise ComposeError(completed.stderr)
    return dict(json.loads(completed.stdout))
