"""The mysql client of Debian's sid, unpacked into the cache, for programs that look for it on PATH."""

from __future__ import annotations

import shlex
from pathlib import Path

from lab.packages import debian

SUITE, PACKAGE = "sid", "mysql-client-core"
PROGRAMS = ("mysql", "mysqladmin")


def command(program: str = "mysql") -> list[str]:
    """The command line of one of `PROGRAMS`, to be followed by its arguments. Raises UnavailableHere."""
    return debian.program(SUITE, PACKAGE, f"usr/bin/{program}")


def write_scripts(folder: Path) -> None:
    """Put a script for each of `PROGRAMS` into a folder, to be put on PATH. Raises UnavailableHere."""
    for program in PROGRAMS:
        script = folder / program
        script.write_text(f'#!/bin/sh\nexec {shlex.join(command(program))} "$@"\n', encoding="utf-8")
        script.chmod(0o755)
