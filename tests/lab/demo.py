"""`make run` as a child process, with the sidecar on its own port: other lanes may use the default one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from lab.processes.ports import HOST, free_port
from tests.waiting import DEADLINE

REPOSITORY = Path(__file__).resolve().parents[2]
OWN = ("DSN", "DEFAULTS_FILE", "INNODB_ADVISOR_DSN", "INNODB_ADVISOR_PASSWORD")


class Demo:
    """`python -m lab.demo`."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.address = f"{HOST}:{free_port()}"
        self._output = folder / "output"
        kept = {name: value for name, value in os.environ.items() if name not in OWN}
        with self._output.open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "lab.demo"],
                cwd=REPOSITORY,
                env={**kept, "LISTEN": self.address, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    def said(self) -> str:
        return self._output.read_text()

    def advice(self, seconds: float = DEADLINE) -> dict[str, Any]:
        """The first advice of /advise."""
        deadline = time.monotonic() + seconds
        while True:
            with suppress(httpx.HTTPError):
                return dict(httpx.get(f"http://{self.address}/advise", timeout=5).raise_for_status().json())
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < deadline, self.said()
            time.sleep(0.1)

    def children(self) -> list[int]:
        pid = self.process.pid
        tasks = Path(f"/proc/{pid}/task").glob("*/children")
        return [int(child) for task in tasks for child in task.read_text().split()]

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        return self.process.wait(DEADLINE)

    def close(self) -> None:
        """Stop it, whatever the result of the test."""
        try:
            if self.process.poll() is None:
                self.end(signal.SIGINT)
        finally:
            self.process.kill()  # its children die with it
            self.process.wait()
