"""promtool's checks, from Debian's packages of Prometheus, which are not installed."""

import subprocess
from pathlib import Path

from lab.packages import debian

PACKAGE, PROGRAM = "prometheus", "usr/bin/promtool"
OLDEST, NEWEST = "bookworm", "sid"
"""The suites whose Prometheus is the oldest (2.42) and the newest (3.5) that the rules are tried on."""
CHECK_SECONDS = 60


def command(suite: str = OLDEST) -> list[str]:
    """The command line that promtool's arguments are added to.

    Raises:
        Unavailable: It can't be had here; the text says why.
    """
    return debian.command(debian.unpacked(suite, PACKAGE), PROGRAM)


def check_metrics(text: str) -> str:
    """What ``promtool check metrics`` finds in a text of the classic format; empty when all is well.

    Raises:
        Unavailable: promtool can't be had here.
    """
    done = _run(command(), "check", "metrics", said=text)
    return done.stdout or (f"promtool ended with status {done.returncode}" if done.returncode else "")


def check_rules(path: Path, suite: str = OLDEST) -> str:
    """What ``promtool check rules`` finds wrong with a rule file; empty when all is well.

    Raises:
        Unavailable: promtool can't be had here.
    """
    done = _run(command(suite), "check", "rules", "--lint=all", "--lint-fatal", str(path))
    return done.stdout if done.returncode else ""


def run_tests(path: Path, suite: str = OLDEST) -> str:
    """What fails of a file for ``promtool test rules``; empty when all of it holds.

    Raises:
        Unavailable: promtool can't be had here.
    """
    done = _run(command(suite), "test", "rules", str(path))
    return done.stdout if done.returncode else ""


def _run(command: list[str], *arguments: str, said: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, *arguments],
        input=said,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=CHECK_SECONDS,
        check=False,
    )
