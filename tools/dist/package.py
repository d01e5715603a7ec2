"""Wheel and source: built, built again elsewhere, checked, installed."""

from __future__ import annotations

import json
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import distributions
from pathlib import Path

from exporter import __version__
from lab.harness.watch import rules
from lab.packages.cache import REPOSITORY
from tools.command import BuildFailed, run
from tools.dist.commands import git, tool

RUNTIME = REPOSITORY / "requirements" / "runtime.txt"


def epoch() -> str:
    """The time of files in archives: the commit's; without git 1980, the oldest of a wheel."""
    return git("log", "-1", "--format=%ct") or "315532800"


def build(into: Path) -> list[Path]:
    """Wheel and sdist of this working tree, which are equal to those that are built from the sdist elsewhere."""
    [wheel], [sdist] = _built(REPOSITORY, into, "wheel", "*.whl"), _built(REPOSITORY, into, "sdist", "*.tar.gz")
    with tempfile.TemporaryDirectory(prefix="innodb-advisor-again-") as name:
        again = Path(name)
        with tarfile.open(sdist) as archive:
            archive.extractall(again / "source", filter="data")
        [source] = (again / "source").iterdir()
        _equal(wheel, *_built(source, again / "made", "wheel", "*.whl"))
        _equal(sdist, *_built(source, again / "made", "sdist", "*.tar.gz"))
    tool("twine", "check", "--strict", wheel, sdist, what="the metadata")
    return [wheel, sdist]


def _built(source: Path, into: Path, target: str, pattern: str) -> list[Path]:
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", into]
    run(*command, what=f"the {target}", folder=source, environment={"SOURCE_DATE_EPOCH": epoch()})
    return list(into.glob(pattern))


def _equal(first: Path, second: Path) -> None:
    if first.read_bytes() != second.read_bytes():
        raise BuildFailed(f"{first.name} is another one when it is built from the sdist")


@contextmanager
def installed(wheel: Path) -> Iterator[Path]:
    """A new environment with the pinned dependencies and the wheel; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="innodb-advisor-installed-") as name:
        environment = Path(name) / "venv"
        run(sys.executable, "-m", "venv", "--without-pip", environment, what="a new environment")
        pip = (sys.executable, "-m", "pip", "--python", environment / "bin" / "python", "--disable-pip-version-check")
        run(*pip, "install", "-q", "--require-hashes", "-r", RUNTIME, what="the pinned dependencies")
        run(*pip, "install", "-q", "--no-deps", "--no-index", wheel, what="the wheel's installation")
        run(*pip, "check", what="the dependencies of the wheel")
        yield environment


def check(environment: Path) -> None:
    """Check that the installed package works outside of this repository."""
    with tempfile.TemporaryDirectory(prefix="innodb-advisor-outside-") as name:

        def output(*arguments: str) -> str:
            command = (environment / "bin" / "innodb-advisor", *arguments)
            return run(*command, what=f"innodb-advisor {' '.join(arguments)}", folder=Path(name))

        works(output)
    manual = "share/man/man1/innodb-advisor.1"
    if not (environment / manual).exists():
        raise BuildFailed(f"the wheel does not bring {manual}")


def works(output: Callable[..., str]) -> None:
    """Raise BuildFailed unless a program is this version's, with its commands and its rules.

    Args:
        output: The program's output for its arguments.
    """
    if (version := output("--version").split()[-1]) != __version__:
        raise BuildFailed(f"innodb-advisor --version says {version}, not {__version__}")
    if "--fail-on" not in output("advise", "--help"):
        raise BuildFailed("innodb-advisor advise --help does not have --fail-on")
    listed = {rule["id"] for rule in json.loads(output("rules", "list", "--json"))}
    if different := sorted({rule.id for rule in rules()} ^ listed):
        raise BuildFailed(f"its rules are not those of rules/: {', '.join(different)}")


def packages(environment: Path) -> set[tuple[str, str]]:
    """Name and version of the Python packages in an environment, also in one of another machine."""
    [folder] = environment.glob("lib/python3*/site-packages")
    return {(package.name, package.version) for package in distributions(path=[str(folder)])}
