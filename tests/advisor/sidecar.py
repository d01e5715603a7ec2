"""The sidecar as its users have it: a process, and HTTP."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx

from tests.advisor.building import REPOSITORY

OWN = ("INNODB_ADVISOR_DSN", "INNODB_ADVISOR_PASSWORD", "DSN", "DEFAULTS_FILE")


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment without what names a server."""
    kept = {name: value for name, value in os.environ.items() if name not in OWN}
    return {**kept, "COLUMNS": "120", **(extra or {})}


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "advisor.cli", *map(str, arguments)]


def wait_for(what: Callable[[], Any], seconds: float = 15.0) -> Any:
    """What ``what`` returns once that is true."""
    deadline = time.monotonic() + seconds
    while True:
        found = what()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {seconds:g} s"
        time.sleep(0.05)


class Sidecar:
    """``innodb-advisor serve`` on a port of its own; what it logs goes to a file."""

    def __init__(self, folder: Path, *arguments: object, env: Mapping[str, str] | None = None) -> None:
        self._log = folder / "sidecar.log"
        with self._log.open("w") as log:
            self.process = subprocess.Popen(  # noqa: S603
                command("serve", "--listen", "127.0.0.1:0", *arguments),
                cwd=REPOSITORY,
                env=environment(env),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        found = wait_for(self._serving)
        assert isinstance(found, re.Match), self.log()
        self.url = found[1]

    def _serving(self) -> object:
        ended = self.process.poll() is not None
        return re.search(r"serving on (http://127\.0\.0\.1:\d+)/", self.log()) or ended

    def log(self) -> str:
        return self._log.read_text()

    def get(self, path: str, **options: Any) -> httpx.Response:
        return httpx.get(self.url + path, timeout=30, **options)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(15)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
