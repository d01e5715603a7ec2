"""Perl scripts of Debian's trixie, MySQLTuner and pt-variable-advisor, unpacked into the cache with their Perl."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from lab.packages import debian
from lab.processes.program import ProgramFailed, finish
from lab.programs import mysql_client
from lab.servers import PrivateServer

SUITE = "trixie"
_SECONDS = 120.0
_END = "-------- Recommendations --"
_NOTED = re.compile(r"^# (WARN|NOTE|CRIT) (\S+): (.*)$", re.MULTILINE)


def adjusted_by_mysqltuner(server: PrivateServer, memory_mib: int) -> tuple[str, ...]:
    """MySQLTuner's list of variables to adjust, a line each, on a machine with so much memory.

    Raises:
        UnavailableHere: The packages cannot be had.
        ProgramFailed: It ends with an error.
    """
    with tempfile.TemporaryDirectory(prefix="mysqltuner-") as name:
        folder = Path(name)
        mysql_client.write_scripts(folder, server.name.partition("-")[0])
        # diagnostics.pm words warnings from a manual at a fixed path, where nothing is installed.
        (folder / "diagnostics.pm").write_text("package diagnostics;\n1;\n")
        login = folder / "my.cnf"
        # It sends \w, which MySQL 9.7's client knows with this option only.
        login.write_text(f"[client]\nuser=root\nhost={server.host}\nport={server.port}\n[mysql]\nloose-commands=ON\n")
        options = (f"--defaults-file={login}", f"--forcemem={memory_mib}", "--forceswap=1", "--nocolor", "--noask")
        output = _output("mysqltuner", "mysqltuner", *options, first=folder)
    if _END not in output:
        raise ProgramFailed(f"mysqltuner came to no recommendations:\n{output[-2000:]}")
    lines = (line.strip() for line in output.partition("Variables to adjust:")[2].splitlines())
    return tuple(line for line in lines if line and not line.startswith("***"))


def noted_by_variable_advisor(variables: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """pt-variable-advisor's rules that apply to the output of SHOW GLOBAL VARIABLES, each with its text.

    Raises:
        UnavailableHere: The packages cannot be had.
        ProgramFailed: It ends with an error.
    """
    with tempfile.TemporaryDirectory(prefix="variable-advisor-") as name:
        file = Path(name) / "variables"
        rows = {"Variable_name": "Value", **variables}
        file.write_text("".join(f"{variable}\t{value}\n" for variable, value in rows.items()))
        options = ("--no-version-check", "--source-of-variables", str(file))
        output = _output("percona-toolkit", "pt-variable-advisor", *options)
    return tuple((rule, text) for _, rule, text in _NOTED.findall(output))


def _output(package: str, script: str, *arguments: str, first: Path | None = None) -> str:
    """What a script prints; ``first`` is a folder to be searched for programs and modules before all others."""
    root = debian.unpacked(SUITE, package)
    libraries = (
        *root.glob("usr/lib/*-linux-gnu/perl/5.*"),
        *root.glob("usr/share/perl/5.*"),
        *root.glob("usr/lib/*-linux-gnu/perl5/5.*"),
        root / "usr/share/perl5",
        *root.glob("usr/lib/*-linux-gnu/perl-base"),
    )
    own = [str(first)] if first else []
    variables = {"PERL5LIB": ":".join([*own, *map(str, libraries)]), "PATH": ":".join([*own, os.environ["PATH"]])}
    command = [*debian.command(root, "usr/bin/perl"), str(root / "usr/bin" / script), *arguments]
    return finish(script, command, _SECONDS, variables)
