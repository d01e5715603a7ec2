"""Programs of others: started, waited for, and stopped by their pid."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

from lab.processes import child

START_SECONDS, STOP_SECONDS, TOLD_SECONDS = 30.0, 15.0, 30.0
_OUTPUT_CHARACTERS = 4000
LISTENING = re.compile(r'"?Listening on"?.* address=127\.0\.0\.1:(\d+)')
"""The log line of Prometheus' own programs that names the port."""
PLAIN: Mapping[str, Any] = MappingProxyType({"verify": False})
"""For httpx and plain HTTP: without it, each request creates a TLS context, which takes 35 ms of CPU."""
_VERSION = re.compile(r"version (\S+)")
_NONE: Mapping[str, str] = MappingProxyType({})


class ProgramFailed(Exception):
    """A program did not start, ended early, took too long, or answers with an error; the text ends with its output."""


class ChildProcess:
    """A program that runs while the context lasts. It, and all that it started, ends with the context and with us.

    Attributes:
        pid: Its process.
        port: Its port on the loopback address, where its log names one.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str] = _NONE,
        *,
        log: Path | None = None,
        listening: re.Pattern[str] | None = None,
        folder: Path | None = None,
    ) -> None:
        """Start nothing yet.

        Args:
            name: Its name in errors.
            command: Its absolute path and its arguments.
            environment: Variables besides those of this process.
            log: The file to which its output is appended; None for one that is removed at the end.
            listening: Matches the log line of a program that serves; its group is the port.
            folder: Its working folder; None for this process's.
        """
        self._name, self._command, self._environment = name, command, environment
        self._log, self._listening, self._folder = log, listening, folder
        self._stack = contextlib.ExitStack()
        self.pid, self.port = 0, 0

    def __enter__(self) -> Self:
        """Start it, and wait until it listens if its log says so.

        Raises:
            ProgramFailed: It did not start.
        """
        with self._stack as stack:
            if self._log is None:
                own = tempfile.TemporaryDirectory(prefix="innodb-advisor-program-")
                self._log = Path(stack.enter_context(own)) / "output"
            self._process = child.spawn(self._command, self._environment, self._log, self._folder)
            stack.callback(self._stop)
            self.pid = self._process.pid
            if self._listening is not None:
                self.port = self._wait_for_port(self._listening)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def output(self) -> str:
        """What it printed so far."""
        if self._log is None or not self._log.is_file():
            return ""
        return self._log.read_text(encoding="utf-8", errors="replace").strip()

    @property
    def status(self) -> int | None:
        """Its exit status; None while it runs."""
        return self._process.poll()

    def ended(self, seconds: float = 0.0) -> bool:
        """Whether it has ended, after this time at most."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self.status is not None

    def finish(self, seconds: float, tell: Callable[[str], None] = lambda _: None) -> str:
        """Wait for its end, and return what it printed.

        Args:
            seconds: The time that it may take.
            tell: Receives the output so far, every `TOLD_SECONDS`.

        Raises:
            ProgramFailed: Its status is not 0, or it took too long.
        """
        deadline = time.monotonic() + seconds
        while not self.ended(min(TOLD_SECONDS, max(0.0, deadline - time.monotonic()))):
            if time.monotonic() > deadline:
                raise ProgramFailed(f"{self._name} took longer than {seconds:.0f} s")
            tell(self.output)
        if self.status != 0:
            raise self.failure(f"ended with status {self.status}")
        return self.output

    def wait_until(self, ready: Callable[[], bool], seconds: float) -> None:
        """Wait until it does its work.

        Raises:
            ProgramFailed: It has ended, or took longer.
        """
        deadline = time.monotonic() + seconds
        while not ready():
            if self.ended(0.1) or time.monotonic() > deadline:
                raise self.failure("is not ready")

    def failure(self, what: str) -> ProgramFailed:
        """An error of this program, with its output."""
        return ProgramFailed(f"{self._name} {what}:\n{self.output[-_OUTPUT_CHARACTERS:]}")

    def _wait_for_port(self, listening: re.Pattern[str]) -> int:
        deadline = time.monotonic() + START_SECONDS
        while True:
            ended = self.ended() or time.monotonic() > deadline  # before reading the log: it may say why
            if match := listening.search(self.output):
                return int(match[1])
            if ended:
                raise self.failure("did not start")
            time.sleep(0.02)

    def _stop(self) -> None:
        if self.ended():
            return  # its pid may be another's by now
        self._process.terminate()
        self.ended(STOP_SECONDS)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)  # compilers outlive a killed go
        self._process.wait()


def finish(name: str, command: Sequence[str], seconds: float, environment: Mapping[str, str] = _NONE) -> str:
    """Run a program to its end, and return what it printed. Raises as `ChildProcess.finish`."""
    with ChildProcess(name, command, environment) as program:
        return program.finish(seconds)


@contextlib.contextmanager
def beside(name: str, command: Sequence[str], environment: Mapping[str, str] = _NONE) -> Iterator[None]:
    """Run a program while the context lasts. The command must bound its time.

    Raises:
        ProgramFailed: It ended before the context.
    """
    with ChildProcess(name, command, environment) as program:
        yield
        if program.ended():
            raise program.failure("ended early")


def version_of(command: Sequence[str]) -> str:
    """The version of one of Prometheus' own programs, such as `0.25.0`."""
    match = _VERSION.search(finish(f"{command[-1]} --version", [*command, "--version"], 60.0))
    return match[1].rstrip(",") if match else "unknown"
