"""Child processes that the kernel kills when this process ends."""

import contextlib
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path

# PR_SET_PDEATHSIG survives exec, so the program needs no change. The check covers a parent that died earlier.
_TIE = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, int(signal.SIGKILL), 0, 0, 0)
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
"""

_Request = tuple[Sequence[str], Mapping[str, str], Path | None, Path | None, "Future[subprocess.Popen[bytes]]"]
_requests: queue.SimpleQueue[_Request] = queue.SimpleQueue()
_starting = threading.Lock()
_starter: threading.Thread | None = None


def spawn(
    command: Sequence[str], environment: Mapping[str, str], output: Path | None, folder: Path | None = None
) -> "subprocess.Popen[bytes]":
    """Start a program in a session of its own; the kernel kills it when this process ends.

    Args:
        command: The program's absolute path and its arguments.
        environment: Variables besides those of this process.
        output: The file to which its standard output and error are appended; None to inherit this process's.
        folder: Its working folder; None for this process's.

    Raises:
        OSError: The file cannot be written, or there is no such folder.
    """
    global _starter  # noqa: PLW0603 - one thread a process
    with _starting:
        # For the kernel the parent dies when the *thread* that forked ends. So one thread, which lives as long as the
        # process, does all the forking.
        if _starter is None:
            _starter = threading.Thread(target=_serve, name="lab.processes.child", daemon=True)
            _starter.start()
    started: Future[subprocess.Popen[bytes]] = Future()
    _requests.put((command, environment, output, folder, started))
    return started.result()


def _serve() -> None:
    while True:
        command, environment, output, folder, started = _requests.get()
        try:
            with output.open("ab") if output else contextlib.nullcontext() as file:
                process = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-c", _TIE, str(os.getpid()), *command],
                    env={**os.environ, **environment},
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=file,
                    cwd=folder,
                    start_new_session=True,
                )
        except Exception as error:  # noqa: BLE001 - handed to the thread that asked
            started.set_exception(error)
        else:
            started.set_result(process)
