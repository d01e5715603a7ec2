"""A program that serves on a port which its log names."""

from __future__ import annotations

import contextlib
import re
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.processes import child

START_SECONDS, STOP_SECONDS = 30.0, 15.0
_SAID_AT_MOST = 4000  # characters
LISTENING = re.compile(r'"?Listening on"?.* address=127\.0\.0\.1:(\d+)')
"""The log line of Prometheus' own programs that names the port."""
PLAIN: Mapping[str, Any] = {"verify": False}
"""For httpx and plain HTTP: without it, each request creates a TLS context, which takes 35 ms of CPU."""
_VERSION = re.compile(r"version (\S+)")


class NotServing(Exception):
    """The program did not start, ended, or answers with an error; the text ends with its output."""


@dataclass(frozen=True)
class Service:
    """A program that serves.

    Attributes:
        pid: Its process.
        port: Its port on the loopback address.
    """

    pid: int
    port: int


@contextlib.contextmanager
def run_service(
    name: str, command: Sequence[str], environment: Mapping[str, str], log: Path, listening: re.Pattern[str]
) -> Iterator[Service]:
    """Start a program, wait until it serves, and stop it at the end.

    Args:
        name: Its name in errors.
        command: Its absolute path and its arguments.
        environment: Variables besides those of this process.
        log: The file to which its output is appended.
        listening: Matches the log line of a program that serves; its group is the port.

    Raises:
        NotServing: It did not start.
    """
    process = child.spawn(command, environment, log)
    try:
        yield Service(process.pid, _port(name, process, log, listening))
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
        process.kill()
        process.wait()


def version_of(command: Sequence[str]) -> str:
    """The version of one of Prometheus' own programs, such as `0.25.0`."""
    said = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True, timeout=60)
    found = _VERSION.search(said.stdout + said.stderr)
    return found[1].rstrip(",") if found else "unknown"


def _port(name: str, process: subprocess.Popen[bytes], log: Path, listening: re.Pattern[str]) -> int:
    deadline = time.monotonic() + START_SECONDS
    while True:
        ended = process.poll() is not None or time.monotonic() > deadline  # before reading the log: it may say why
        said = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
        if found := listening.search(said):
            return int(found[1])
        if ended:
            raise NotServing(f"{name} did not start:\n{said[-_SAID_AT_MOST:]}")
        time.sleep(0.02)
