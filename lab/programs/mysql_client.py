"""The command-line clients of MySQL and MariaDB, unpacked into the cache, for programs that look for them on PATH."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from lab.packages import debian

CLIENTS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "mysql": ("sid", "mysql-client-core", ("mysql", "mysqladmin")),
    "mariadb": ("trixie", "mariadb-client", ("mariadb", "mariadb-admin")),
}
"""By flavour: suite, package and programs. MySQL 9's client knows no mysql_native_password, as which
MariaDB's root logs in."""


def command(program: str = "mysql", flavour: str = "mysql") -> list[str]:
    """The command line of a program, to be followed by its arguments. Raises UnavailableHere."""
    suite, package, _ = CLIENTS[flavour]
    return debian.program(suite, package, f"usr/bin/{program}")


def write_scripts(folder: Path, flavour: str = "mysql") -> None:
    """Put a script for each program of a flavour into a folder, to be put on PATH. Raises UnavailableHere."""
    for program in CLIENTS[flavour][2]:
        script = folder / program
        script.write_text(f'#!/bin/sh\nexec {shlex.join(command(program, flavour))} "$@"\n', encoding="utf-8")
        script.chmod(0o755)
