"""promtool's checks, from Debian's packages of Prometheus, unpacked into the cache."""

import subprocess
from pathlib import Path

from lab.packages import debian

PACKAGE, PROGRAM = "prometheus", "usr/bin/promtool"
SUITES = OLDEST, NEWEST = "bookworm", "sid"
"""The suites with the oldest (2.42) and the newest (3.5) Prometheus that the rules are tested on."""
CHECK_SECONDS = 300
LONGEST_BLOCK = "960h"
"""Of a block that is written: one for some weeks is read sooner than one for each two hours."""


def command(suite: str = OLDEST) -> list[str]:
    """The command line, to be followed by promtool's arguments."""
    return debian.program(suite, PACKAGE, PROGRAM)


def check_metrics(text: str) -> str:
    """The findings of ``promtool check metrics`` in a text of the classic format; empty for none."""
    completed = _run(command(), "check", "metrics", text=text)
    return completed.stdout or (f"promtool ended with status {completed.returncode}" if completed.returncode else "")


def check_rules(suite: str, *paths: Path) -> str:
    """The errors that ``promtool check rules`` finds in rule files; empty for none."""
    completed = _run(command(suite), "check", "rules", "--lint=all", "--lint-fatal", *map(str, paths))
    return completed.stdout if completed.returncode else ""


def run_tests(path: Path, suite: str = OLDEST, *more: Path) -> str:
    """The failures of ``promtool test rules`` on a file, and on further ones; empty for none."""
    completed = _run(command(suite), "test", "rules", *map(str, (path, *more)))
    return completed.stdout if completed.returncode else ""


def create_blocks(path: Path, data: Path, suite: str = OLDEST) -> None:
    """Write the samples of a text in OpenMetrics, which have times, into a Prometheus' data folder.

    Raises:
        ValueError: It refuses the text; its complaint.
    """
    kind = ("tsdb", "create-blocks-from", f"--max-block-duration={LONGEST_BLOCK}", "openmetrics")
    completed = _run(command(suite), *kind, str(path), str(data))
    if completed.returncode:
        raise ValueError(completed.stdout)


def _run(command: list[str], *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, *arguments],
        input=text,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=CHECK_SECONDS,
        check=False,
    )
