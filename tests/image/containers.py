"""Containers of the image under test, run by a real podman and runc, confined as in a cluster."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import httpx

from tests.waiting import DEADLINE, wait_for
from tools.image.builders import Builder

LIMIT = 128 * 2**20
CONFINED = (
    "--read-only",
    "--read-only-tmpfs=false",
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges",
    f"--memory={LIMIT}",
    f"--memory-swap={LIMIT}",
)
_AT_MOST = 600  # seconds; then the runtime kills it, even if this process has died


def cgroup(pid: int, v1: str, v2: str) -> str:
    """A file of a process's control group: `controller/file` in version 1, `file` in version 2."""
    controller, _, name = v1.partition("/")
    groups = [line.split(":", 2) for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines()]
    for _, controllers, path in groups:
        if controller in controllers.split(","):
            return Path(f"/sys/fs/cgroup/{controller}{path}/{name}").read_text()
    return Path(f"/sys/fs/cgroup{groups[-1][2]}/{v2}").read_text()


class Container:
    """A running or ended container.

    Attributes:
        pid: Its first process, in the host's numbering.
    """

    def __init__(self, podman: Builder, folder: Path, image: str, options: list[str], arguments: list[str]) -> None:
        self._podman = podman
        self._log = folder / "log"
        self._pid_file = folder / "pid"
        logged = ("--log-driver=k8s-file", f"--log-opt=path={self._log}", f"--pidfile={self._pid_file}")
        once = ("--detach", f"--timeout={_AT_MOST}", "--pull=never", *logged)
        self._id = podman.run("run", *once, *CONFINED, *options, image, *arguments).strip()
        self.pid = int(self._pid_file.read_text())

    def output(self, *streams: str) -> str:
        """Its whole lines so far, from `stdout`, `stderr` or both: the runtime may be writing another one."""
        *written, _ = self._log.read_text().split("\n")
        lines = (line.split(" ", 3) for line in written)
        return "\n".join(line[3] for line in lines if not streams or line[1] in streams)

    def url(self) -> str:
        """Its URL, once it serves."""
        match = wait_for(lambda: re.search(r"serving on (http://127\.0\.0\.1:\d+)/", self.output()) or self.ended())
        assert isinstance(match, re.Match), self.output()
        return str(match[1])

    def get(self, path: str, **options: Any) -> httpx.Response:
        return httpx.get(self.url() + path, timeout=DEADLINE, **options)

    def ended(self) -> bool:
        return not Path(f"/proc/{self.pid}").exists()

    def from_its_network(self, *command: str) -> str:
        """The output of a program of this machine, run in its network.

        A program run in the container would take part of its memory: Python with urllib 10 MiB.
        """
        entered = ("nsenter", f"--target={self.pid}", "--net", *command)
        return subprocess.run(entered, check=True, capture_output=True, text=True, timeout=DEADLINE).stdout  # noqa: S603

    def execute(self, *command: str) -> str:
        """The output of a program of the image, run in it. Raises BuildFailed unless its status is 0."""
        return self._podman.run("exec", self._id, *command)

    def send(self, number: signal.Signals) -> None:
        self._podman.run("kill", f"--signal={number}", self._id)

    def status(self) -> int:
        """Its exit status after its end; 137 if the kernel killed it for its memory."""
        wait_for(self.ended)
        return int(wait_for(self._end)["ExitCode"])

    def _end(self) -> dict[str, Any] | None:
        state: dict[str, Any] = json.loads(self._podman.run("inspect", self._id, "--format={{json .State}}"))
        return state if state["Status"] in ("exited", "stopped") else None

    def remove(self) -> None:
        self._podman.run("rm", "--force", "--time=0", self._id)
