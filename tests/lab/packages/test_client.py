"""A client and all that it starts end with the call; progress is told meanwhile."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from lab.packages import client
from lab.packages.cache import Unavailable

PARENT = "sleep 600 & echo $! > child; pwd; wait"


def gone(pid: int) -> bool:
    """Whether a process ended; its parent may not have asked for its status yet."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return True
    return stat.rpartition(")")[2].split()[0] in "ZX"


def soon_gone(pid: int) -> bool:
    for _ in range(500):
        if gone(pid):
            return True
        time.sleep(0.01)
    return False


def test_a_client_that_takes_too_long_ends_with_what_it_started(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"^it: sh took longer than 1 s$"):
        client.run("it", "sh", ["/bin/sh", "-c", PARENT], tmp_path, seconds=1)
    assert soon_gone(int((tmp_path / "child").read_text(encoding="utf-8")))


def test_ctrl_c_ends_a_client_with_what_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "TOLD_SECONDS", 0.5)
    told: list[str] = []

    def interrupt(said: str) -> None:
        told.append(said)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        client.run("it", "sh", ["/bin/sh", "-c", PARENT], tmp_path, seconds=60, tell=interrupt)
    assert told == [str(tmp_path)]
    assert soon_gone(int((tmp_path / "child").read_text(encoding="utf-8")))


def test_a_client_ends_with_the_process_that_runs_it(tmp_path: Path) -> None:
    code = """
import pathlib, sys
from lab.packages import client
client.run("it", "sh", ["/bin/sh", "-c", "echo $$ > own; exec sleep 600"], pathlib.Path(sys.argv[1]), seconds=600)
"""
    runs = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)])  # noqa: S603 - our own program
    own = tmp_path / "own"
    while not (own.is_file() and own.read_text(encoding="utf-8").strip()):
        time.sleep(0.01)
    runs.kill()
    runs.wait()
    assert soon_gone(int(own.read_text(encoding="utf-8")))


def test_the_error_is_the_last_line_and_the_environment_is_passed(tmp_path: Path) -> None:
    command = ["/bin/sh", "-c", "echo first; echo $WORD >&2; exit 3"]
    with pytest.raises(Unavailable, match=r"^it: sh: last$"):
        client.run("it", "sh", command, tmp_path, seconds=60, environment={"WORD": "last"})
    with pytest.raises(Unavailable, match=r"^it: sh: 3$"):
        client.run("it", "sh", ["/bin/sh", "-c", "exit 3"], tmp_path, seconds=60)
