"""The systemd unit: valid, confined, and what it runs works under its bounds as far as that goes without systemd."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from lab.packages.cache import REPOSITORY
from tests.unavailable import give_up
from tests.waiting import DEADLINE, wait_for

UNIT = REPOSITORY / "systemd" / "innodb-advisor.service"
MOST_EXPOSED = 2.0
"""Of 10, as systemd-analyze counts. A service without bounds has 9.6."""
_WITHOUT_CAPABILITIES = (
    ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs") if os.geteuid() == 0 else ()
)
PR_SET_MDWE, REFUSE_EXEC_GAIN = 65, 1
CAPTURE = REPOSITORY / "tests/captures/mysql-9.7/repeated-scan/recording.jsonl.gz"


def settings() -> Mapping[str, str]:
    """The unit's settings; lines of the same name follow each other."""
    by_name: dict[str, str] = {}
    for name, value in re.findall(r"^(\w+)=(.*)$", UNIT.read_text(encoding="utf-8"), re.MULTILINE):
        by_name[name] = f"{by_name[name]} {value}" if name in by_name else value
    return by_name


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("systemd-analyze")
    if program is None:
        give_up("systemd-analyze is not installed: apt-get install systemd")
    environment = {**os.environ, "SYSTEMD_COLORS": "0", "SYSTEMD_PAGER": "cat"}
    return subprocess.run(  # noqa: S603
        [program, *arguments], check=False, capture_output=True, text=True, timeout=DEADLINE, env=environment
    )


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    # The program is installed elsewhere here; verify asks whether it can be executed.
    text = UNIT.read_text(encoding="utf-8").replace("/opt/innodb-advisor/bin/innodb-advisor", sys.executable)
    copy = tmp_path / UNIT.name
    copy.write_text(re.sub(r"^Documentation=.*\n", "", text, flags=re.MULTILINE), encoding="utf-8")
    completed = analyze("verify", "--man=no", "--generators=no", "--recursive-errors=no", str(copy))
    assert (completed.returncode, completed.stdout + completed.stderr) == (0, "")


def test_a_misspelt_setting_would_be_found(tmp_path: Path) -> None:
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text(encoding="utf-8").replace("ProtectHome=", "ProtectHouse="), encoding="utf-8")
    completed = analyze("verify", "--man=no", "--generators=no", "--recursive-errors=no", str(copy))
    assert "ProtectHouse" in completed.stdout + completed.stderr


def test_it_is_little_exposed() -> None:
    limit = f"--threshold={round(MOST_EXPOSED * 10)}"
    completed = analyze("security", "--offline=true", "--no-pager", limit, str(UNIT))
    assert completed.returncode == 0, completed.stdout[-3000:]
    assert "Overall exposure level" in completed.stdout


@contextmanager
def started(tmp_path: Path, *wrapper: str, recording: Path | None = None) -> Iterator[str]:
    """Its ExecStart with a credentials folder and without capabilities; the sidecar's URL.

    No server answers the credentials. With a recording it reads that instead, and keeps no state.
    """
    folders = {"CREDENTIALS_DIRECTORY": tmp_path / "credentials", "STATE_DIRECTORY": tmp_path / "state"}
    for folder in folders.values():
        folder.mkdir()
    (folders["CREDENTIALS_DIRECTORY"] / "my.cnf").write_text("[client]\nuser=advisor\npassword=x\nport=1\n")
    written = settings()["ExecStart"]
    for name, folder in folders.items():
        written = written.replace(f"${{{name}}}", str(folder))
    program, *arguments = written.split()
    assert program == "/opt/innodb-advisor/bin/innodb-advisor"
    at = arguments.index("--defaults-file")
    assert arguments[at + 1] == str(folders["CREDENTIALS_DIRECTORY"] / "my.cnf")
    if recording:
        arguments = ["serve", "--recording", str(recording)]

    def confine() -> None:
        if ctypes.CDLL(None).prctl(PR_SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0):
            os.write(2, b"this kernel has no PR_SET_MDWE\n")

    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603
            [
                *_WITHOUT_CAPABILITIES,
                *wrapper,
                sys.executable,
                "-m",
                "advisor.cli",
                *arguments,
                "--listen",
                "127.0.0.1:0",
            ],
            cwd="/",
            env={
                "PATH": "/usr/bin:/bin",
                "PYTHONPATH": str(REPOSITORY),
                "STATE_DIRECTORY": str(folders["STATE_DIRECTORY"]),
            },
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=confine,  # noqa: PLW1509 - what systemd does there, too
        )
        try:
            match = wait_for(
                lambda: re.search(r"serving on (http://127\.0\.0\.1:\d+)/", log.read_text()) or process.poll()
            )
            assert isinstance(match, re.Match), log.read_text()
            yield str(match[1])
        finally:
            process.terminate()
            process.wait(DEADLINE)
    assert "MDWE" not in log.read_text()


def test_what_it_starts_serves_with_credentials_and_without_capabilities_and_writable_code(tmp_path: Path) -> None:
    with started(tmp_path) as url, httpx.Client(base_url=url, timeout=DEADLINE) as client:
        assert client.get("/healthz").status_code == 200
        for path in ("/readyz", "/advise"):
            assert client.get(path).status_code == 503  # no server listens on port 1
        assert "innodb_up 0" in client.get("/metrics").text


def allowed() -> set[str]:
    """The system calls that SystemCallFilter lets through."""
    calls: set[str] = set()
    for line in re.findall(r"^SystemCallFilter=(.*)$", UNIT.read_text(encoding="utf-8"), re.MULTILINE):
        named = line.lstrip("~").split()
        group = set[str]().union(*(_calls(name) if name.startswith("@") else {name} for name in named))
        calls = calls - group if line.startswith("~") else calls | group
    return calls


def _calls(group: str) -> set[str]:
    listing = analyze("syscall-filter", "--no-pager", group)
    assert listing.returncode == 0, listing.stderr
    calls: set[str] = set()
    for name in re.findall(r"^    ([@\w-]+)$", listing.stdout, re.MULTILINE):
        calls |= _calls(name) if name.startswith("@") else {name}
    return calls


def test_the_filter_lets_a_server_of_http_through_and_no_administration() -> None:
    calls = allowed()
    assert {"openat", "accept4", "epoll_wait", "futex"} <= calls
    assert not {"mount", "ptrace", "setuid", "init_module", "sched_setaffinity"} & calls


@pytest.mark.long
@pytest.mark.parametrize("recording", [None, CAPTURE], ids=["its-own-start", "with-a-model-in-use"])
def test_each_system_call_is_let_through(recording: Path | None, tmp_path: Path) -> None:
    strace = shutil.which("strace")
    if strace is None:
        give_up("strace is not installed: apt-get install strace")
    traces = tmp_path / "traces"
    traces.mkdir(mode=0o777)
    traces.chmod(0o777)
    traced = (strace, "-D", "-ff", "-qq", "-o", str(traces / "of"))
    with started(tmp_path, *traced, recording=recording) as url, httpx.Client(base_url=url, timeout=DEADLINE) as client:
        for path in ("/advise", "/metrics"):
            assert client.get(path).status_code in (200, 503)
        if recording:
            asked = client.post("/whatif/sweep", json={"setting": "innodb_old_blocks_pct"})
            assert asked.status_code == 200  # a process of its own has worked
    calls = {
        call
        for path in traces.iterdir()
        for call in re.findall(r"^(\w+)\(", path.read_text(errors="replace"), re.MULTILINE)
    }
    if not calls:
        give_up("strace may not trace here")
    assert "openat" in calls
    assert calls - allowed() == set()
