"""Programs that run as children of this process: started, waited for, and stopped by their pid.

The kernel kills them when this process ends.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

START_SECONDS, STOP_SECONDS, PROGRESS_SECONDS = 30.0, 15.0, 30.0
_OUTPUT_CHARACTERS = 4000
LISTENING = re.compile(r'"?Listening on"?.* address=127\.0\.0\.1:(\d+)')
"""The log line of Prometheus' own programs that names the port."""
PLAIN: Mapping[str, Any] = MappingProxyType({"verify": False})
"""For httpx and plain HTTP: without it, each request creates a TLS context, which takes 35 ms of CPU."""
_VERSION = re.compile(r"version (\S+)")
_NO_VARIABLES: Mapping[str, str] = MappingProxyType({})
# PR_SET_PDEATHSIG survives exec, so the program needs no change. The check covers a parent that died earlier.
_TIE = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, int(signal.SIGKILL), 0, 0, 0)
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""
# For the kernel the parent dies when the *thread* that forked ends: one thread of the process's life does it all.
_starter = ThreadPoolExecutor(1, thread_name_prefix="lab.processes.program")


class ProgramFailed(Exception):
    """A program did not start, ended early, took too long, or answers with an error; the text ends with its output."""


def spawn(
    command: Sequence[str],
    environment: Mapping[str, str] = _NO_VARIABLES,
    output: Path | None = None,
    folder: Path | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own.

    Args:
        command: Its absolute path and its arguments.
        environment: Variables besides those of this process.
        output: The file to which its standard output and error are appended; None to inherit this process's.
        folder: Its working folder; None for this process's.

    Raises:
        OSError: The file cannot be written, or there is no such folder.
    """

    def start() -> subprocess.Popen[bytes]:
        with output.open("ab") if output else contextlib.nullcontext() as file:
            return subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _TIE, str(os.getpid()), *command],
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                cwd=folder,
                start_new_session=True,
            )

    return _starter.submit(start).result()


class ChildProcess:
    """A program; a context manager that starts it, waits until it listens if its log says so, and stops it.

    Attributes:
        pid: Its process.
        port: Its port on the loopback address, where its log names one.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str] = _NO_VARIABLES,
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
        self._listening, self._folder = listening, folder
        self._own_folder = None if log else tempfile.TemporaryDirectory(prefix="innodb-advisor-program-")
        self._log = log or Path(self._own_folder.name if self._own_folder else "") / "output"
        self.pid, self.port = 0, 0

    def __enter__(self) -> Self:
        """Start it.

        Raises:
            ProgramFailed: It does not listen.
        """
        try:
            self.start()
            if self._listening is not None:
                self.port = self._wait_for_port(self._listening)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, and wait for nothing."""
        self._process = spawn(self._command, self._environment, self._log, self._folder)
        self.pid = self._process.pid

    @property
    def output(self) -> str:
        """What it printed so far."""
        return self._log.read_text(encoding="utf-8", errors="replace").strip() if self._log.is_file() else ""

    @property
    def status(self) -> int | None:
        """Its exit status; None while it runs."""
        return self._process.poll()

    def ended(self, seconds: float | None = 0.0) -> bool:
        """Whether it has ended, after this time at most; None to wait for it."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self.status is not None

    def finish(self, seconds: float, progress: Callable[[str], None] = lambda _: None) -> str:
        """Wait for its end, and return what it printed.

        Args:
            seconds: The time that it may take.
            progress: Receives the output so far, every `PROGRESS_SECONDS`.

        Raises:
            ProgramFailed: Its status is not 0, or it took too long.
        """
        deadline = time.monotonic() + seconds
        while not self.ended(min(PROGRESS_SECONDS, max(0.0, deadline - time.monotonic()))):
            if time.monotonic() > deadline:
                raise ProgramFailed(f"{self._name} took longer than {seconds:.0f} s")
            progress(self.output)
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
            if self.ended(0.03) or time.monotonic() > deadline:
                raise self.failure("is not ready")

    def failure(self, what: str) -> ProgramFailed:
        """An error of this program, with its output."""
        return ProgramFailed(f"{self._name} {what}:\n{self.output[-_OUTPUT_CHARACTERS:]}")

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Ask it to end (SIGTERM), and kill it, with all that it started, after this time."""
        if self.pid and not self.ended():
            self._process.terminate()
            self.ended(seconds)
            self._kill_group()  # compilers outlive a killed go
        if self._own_folder is not None:
            self._own_folder.cleanup()

    def kill(self) -> None:
        """Kill it (SIGKILL), with all that it started."""
        if not self.ended():  # else its pid may be another's by now
            self._kill_group()

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def _wait_for_port(self, listening: re.Pattern[str]) -> int:
        deadline = time.monotonic() + START_SECONDS
        while True:
            ended = self.ended() or time.monotonic() > deadline  # before reading the log: it may say why
            if match := listening.search(self.output):
                return int(match[1])
            if ended:
                raise self.failure("did not start")
            time.sleep(0.02)


def finish(name: str, command: Sequence[str], seconds: float, environment: Mapping[str, str] = _NO_VARIABLES) -> str:
    """Run a program to its end, and return what it printed. Raises as `ChildProcess.finish`."""
    with ChildProcess(name, command, environment) as process:
        return process.finish(seconds)


@contextlib.contextmanager
def beside(name: str, command: Sequence[str], environment: Mapping[str, str] = _NO_VARIABLES) -> Iterator[None]:
    """Run a program while the context lasts. The command must bound its time.

    Raises:
        ProgramFailed: It ended before the context.
    """
    with ChildProcess(name, command, environment) as process:
        yield
        if process.ended():
            raise process.failure("ended early")


def version_of(command: Sequence[str]) -> str:
    """The version of one of Prometheus' own programs, such as `0.25.0`."""
    match = _VERSION.search(finish(f"{command[-1]} --version", [*command, "--version"], 60.0))
    return match[1].rstrip(",") if match else "unknown"
