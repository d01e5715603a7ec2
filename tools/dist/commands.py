"""The run of a program that builds or checks, and the tools of requirements/release.txt."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from lab.packages import cache, client
from lab.packages.cache import REPOSITORY

_REQUIREMENTS = REPOSITORY / "requirements" / "release.txt"
_SAID_AT_MOST = 2000  # characters
_SECONDS = 600
# Not by PYTHONPATH: programs that a tool starts would inherit it, and an SBOM would list the tools.
_WITH_TOOLS = "import runpy, sys\nsys.path.insert(0, sys.argv.pop(1))\n"
_MODULE = "del sys.argv[0]\nrunpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)\n"


class DistFailed(Exception):
    """A part of the release cannot be built, or is not as it must be; the text says what and why."""


def run(*command: object, what: str, environment: Mapping[str, str] | None = None, folder: Path | None = None) -> str:
    """The output of a program.

    Args:
        command: The command line.
        what: What it does, for errors.
        environment: Variables besides those of this process, without its PYTHONPATH.
        folder: The working folder. Default: this process's.

    Raises:
        DistFailed: It failed, or took longer than ten minutes.
    """
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    try:
        done = subprocess.run(
            [str(part) for part in command],
            check=False,
            cwd=folder,
            env={**inherited, **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise DistFailed(f"{what}: no end in {_SECONDS} s") from None
    if done.returncode:
        raise DistFailed(f"{what}: {f'{done.stdout}{done.stderr}'[-_SAID_AT_MOST:].strip()}")
    return done.stdout


def tool(*arguments: object, what: str, environment: Mapping[str, str] | None = None) -> str:
    """The output of a Python module of requirements/release.txt, such as ``twine``; the first call installs them.

    Raises:
        DistFailed: It failed.
        UnavailableHere: The tools cannot be had.
    """
    return run(sys.executable, "-P", "-c", _WITH_TOOLS + _MODULE, tools(), *arguments, what=what, environment=environment)


def checked_by(code: str, path: Path, what: str) -> None:
    """Run a few lines of code with those tools; `sys.argv[1]` is the file to check, and a text at the exit a problem.

    Raises:
        DistFailed: It found a problem.
        UnavailableHere: The tools cannot be had.
    """
    run(sys.executable, "-P", "-c", _WITH_TOOLS + code, tools(), path, what=what)


def tools() -> Path:
    """The folder of the packages of requirements/release.txt; the first call installs them.

    Raises:
        UnavailableHere: They cannot be had.
    """
    pinned = hashlib.sha256(_REQUIREMENTS.read_bytes()).hexdigest()[:12]
    python = f"{sys.version_info.major}.{sys.version_info.minor}"

    def install(folder: Path) -> None:
        command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--require-hashes"]
        command += ["--only-binary", ":all:", "--target", str(folder), "-r", str(_REQUIREMENTS)]
        client.run("the tools of a release", command, REPOSITORY, seconds=_SECONDS)

    return cache.kept(f"release-tools/{python}-{pinned}", install)
