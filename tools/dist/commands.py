"""The tools of requirements/release.txt, and git."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from lab.packages import cache, client
from lab.packages.cache import REPOSITORY
from tools.command import SECONDS, BuildFailed, run

_REQUIREMENTS = REPOSITORY / "requirements" / "release.txt"
# Not by PYTHONPATH: programs that a tool starts would inherit it, and an SBOM would list the tools.
_WITH_TOOLS = "import runpy, sys\nsys.path.insert(0, sys.argv.pop(1))\n"
_MODULE = "del sys.argv[0]\nrunpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)\n"


def git(*arguments: str) -> str:
    """The output of git in this working tree; empty without git."""
    try:
        return run("git", "-C", REPOSITORY, *arguments, what="git").strip()
    except (OSError, BuildFailed):
        return ""


def tool(*arguments: object, what: str, environment: Mapping[str, str] = MappingProxyType({})) -> str:
    """The output of a Python module of requirements/release.txt, such as ``twine``; the first call installs them."""
    return run(sys.executable, "-P", "-c", _WITH_TOOLS + _MODULE, tools(), *arguments, what=what, environment=environment)


def checked_by(code: str, path: Path, what: str) -> None:
    """Run a few lines of code with those tools; `sys.argv[1]` is the file to check, and a text at the exit a problem.
    """
    run(sys.executable, "-P", "-c", _WITH_TOOLS + code, tools(), path, what=what)


def tools() -> Path:
    """The folder of the packages of requirements/release.txt; the first call installs them."""
    pinned = hashlib.sha256(_REQUIREMENTS.read_bytes()).hexdigest()[:12]
    python = f"{sys.version_info.major}.{sys.version_info.minor}"

    def install(folder: Path) -> None:
        command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--require-hashes"]
        command += ["--only-binary", ":all:", "--target", str(folder), "-r", str(_REQUIREMENTS)]
        client.run("the tools of a release", command, folder=REPOSITORY, seconds=SECONDS)

    return cache.entry(f"release-tools/{python}-{pinned}", install)
