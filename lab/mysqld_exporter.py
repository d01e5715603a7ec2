"""The peer: Debian's mysqld_exporter, unpacked privately and started beside the sidecar.

Its two collectors that read what the sidecar reads are off by default, and on here.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lab import child, debian
from lab.servers import Server

SUITE, PACKAGE, PROGRAM = "sid", "prometheus-mysqld-exporter", "usr/bin/prometheus-mysqld-exporter"
FLAGS = ("--collect.engine_innodb_status", "--collect.info_schema.innodb_metrics")
GRANTS = ("PROCESS ON *.*", "REPLICATION CLIENT ON *.*", "SELECT ON *.*")
"""What its README tells users to give its account."""
START_SECONDS = 15.0
STOP_SECONDS = 10.0
_LISTENING = re.compile(r'"?Listening on"? address=127\.0\.0\.1:(\d+)')
_VERSION = re.compile(r"version (\S+)")


class ExporterError(Exception):
    """It can be had and did not start; the text ends with what it said."""


@dataclass(frozen=True)
class Running:
    """One that answers.

    Attributes:
        pid: Its process.
        port: Where it serves /metrics, on the loopback address.
    """

    pid: int
    port: int


def version() -> str:
    """What it says of itself, such as `0.19.0`.

    Raises:
        Unavailable: It can't be had here.
    """
    said = subprocess.run([*_command(), "--version"], capture_output=True, text=True, check=True, timeout=60)
    found = _VERSION.search(said.stdout + said.stderr)
    return found[1].rstrip(",") if found else "unknown"


@contextlib.contextmanager
def running(server: Server, folder: Path, user: str, *more: str) -> Iterator[Running]:
    """Start it on a free port of the loopback address, and stop it at the end.

    Args:
        server: What it watches, over TCP.
        folder: For its option file and its log.
        user: Its account, without a password.
        more: Further flags.

    Raises:
        Unavailable: It can't be had here; the text says why.
        ExporterError: It did not start.
    """
    options, log = folder / "mysqld_exporter.cnf", folder / "mysqld_exporter.log"
    options.write_text(f"[client]\nuser={user}\nhost={server.host}\nport={server.port}\n", encoding="utf-8")
    where = (f"--config.my-cnf={options}", "--web.listen-address=127.0.0.1:0")
    process = child.spawn([*_command(), *where, *FLAGS, *more], {}, log)
    try:
        yield Running(process.pid, _port(process, log))
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
        process.kill()
        process.wait()


def _command() -> list[str]:
    return debian.command(debian.unpacked(SUITE, PACKAGE), PROGRAM)


def _port(process: subprocess.Popen[bytes], log: Path) -> int:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        said = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
        if found := _LISTENING.search(said):
            return int(found[1])
        if process.poll() is not None:
            break
        time.sleep(0.02)
    raise ExporterError(f"mysqld_exporter did not start:\n{said[-4000:]}")
