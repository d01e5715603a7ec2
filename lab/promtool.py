"""promtool's check of metrics, from Debian's package of Prometheus, which is not installed."""

import subprocess

from lab import debian

SUITE, PACKAGE, PROGRAM = "bookworm", "prometheus", "usr/bin/promtool"
CHECK_SECONDS = 60


def command() -> list[str]:
    """The command line that promtool's arguments are added to.

    Raises:
        Unavailable: It can't be had here; the text says why.
    """
    return debian.command(debian.unpacked(SUITE, PACKAGE), PROGRAM)


def check_metrics(text: str) -> str:
    """What ``promtool check metrics`` finds in a text of the classic format; empty when all is well.

    Raises:
        Unavailable: promtool can't be had here.
    """
    done = subprocess.run(
        [*command(), "check", "metrics"],
        input=text,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=CHECK_SECONDS,
        check=False,
    )
    return done.stdout or (f"promtool ended with status {done.returncode}" if done.returncode else "")
