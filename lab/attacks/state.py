"""The state folder: damaged in many ways, full, deleted and shared. The sidecar answers /metrics all the while."""

from __future__ import annotations

import gzip
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from lab.attacks.attack import Attack, Line, Sidecar, Stage
from lab.processes.service import PLAIN

_SECONDS, _SHORT_SECONDS = 130.0, 5.0
"""The history is written once a minute."""
_UNUSABLE = 2


def _link(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


_DAMAGES: dict[str, Callable[[Path], object]] = {
    "pipes": _pipe,
    "gzip bombs": lambda path: path.write_bytes(gzip.compress(bytes(100 << 20), 1)),
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "empty": lambda path: path.write_bytes(b""),
    "noise": lambda path: path.write_bytes(os.urandom(1 << 20)),
    "sparse files of 10 GB": lambda path: os.truncate(path, 10 << 30),
    "a former format": lambda path: path.write_bytes(b'{"recording": 0, "ledger": 0, "format": 0}\n'),
    "links to a device": _link,
    "folders": _folder,
}


def served(what: str, sidecar: Sidecar, seconds: float) -> Line:
    """Scrapes ten times a second for so long."""
    answered = total = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        total += 1
        try:
            answered += httpx.get(f"{sidecar.url}/metrics", timeout=5, **PLAIN).status_code == httpx.codes.OK
        except httpx.HTTPError as error:
            last = type(error).__name__
            what = what if what.endswith(last) else f"{what}: {last}"
        time.sleep(0.1)
    return Line(what, "every scrape is answered", f"{answered} of {total}", answered == total > 0)


def _ended(pid: int) -> bool:
    """Whether a process is gone, or a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def _damaged(stage: Stage) -> Iterator[Line]:
    """A sidecar ends and leaves its files, each of which is damaged; the next one starts on them."""
    for name, damage in list(_DAMAGES.items())[: 2 if stage.short else None]:
        stage.say(name)
        with TemporaryDirectory() as place:
            folder = Path(place) / "state"
            options = ("--state-dir", str(folder), "--interval", "1s")
            with stage.sidecar(*options) as sidecar:
                time.sleep(2.0)
                os.kill(sidecar.pid, signal.SIGTERM)  # at its end it writes the history
                while not _ended(sidecar.pid):
                    time.sleep(0.05)
            files = [each for each in folder.iterdir() if each.suffix in (".gz", ".json", ".jsonl")]
            for path in files:
                damage(path)
            with stage.sidecar(*options) as sidecar:
                yield served(f"{len(files)} files of the state are {name}", sidecar, 2.0)
            aside = len(list(folder.glob("*.damaged")))
            yield Line(f"{name}: set aside", f"{len(files)} files", f"{aside} files", aside == len(files) > 0)


def _full(stage: Stage) -> Iterator[Line]:
    """No file of the sidecar may grow any more, and then its folder is deleted."""
    with TemporaryDirectory() as place:
        folder = Path(place) / "state"
        with stage.sidecar("--state-dir", str(folder), "--interval", "1s") as sidecar:
            seconds = _SHORT_SECONDS if stage.short else _SECONDS
            before = resource.prlimit(sidecar.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(sidecar.pid, resource.RLIMIT_FSIZE, (0, before[1]))
            yield served("no room for a byte", sidecar, seconds)
            resource.prlimit(sidecar.pid, resource.RLIMIT_FSIZE, before)
            shutil.rmtree(folder)
            yield served("the folder is deleted", sidecar, seconds)
            os.kill(sidecar.pid, signal.SIGTERM)
            while not _ended(sidecar.pid):
                time.sleep(0.05)
        found = len(list(folder.glob("*.jsonl.gz")))
        yield Line("the history once there is room again", "is written", f"{found} files", found > 0)


def _shared(stage: Stage) -> Iterator[Line]:
    """A second sidecar starts on the folder of the first."""
    with TemporaryDirectory() as folder, stage.sidecar("--state-dir", folder) as sidecar:
        command = ("serve", "--listen", "127.0.0.1:0", "--dsn", stage.server.dsn, "--state-dir", folder)
        done = subprocess.run(
            [sys.executable, "-m", "advisor.cli", *command],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=60,
        )
        named = f"process {sidecar.pid} on" in done.stderr
        measured = f"exit code {done.returncode}, {'' if named else 'not '}named"
        bound = f"exit code {_UNUSABLE}, the first is named"
        yield Line("a second sidecar on the folder", bound, measured, done.returncode == _UNUSABLE and named)
        yield served("the first meanwhile", sidecar, 1.0)


ATTACKS: tuple[Attack, ...] = (
    Attack("state-damaged", "all files of the state folder are damaged between two lives", _damaged, (90.0, 20.0)),
    Attack("state-full", "the state folder is full, and then deleted", _full, (280.0, 20.0)),
    Attack("state-shared", "two sidecars on one state folder", _shared, (10.0, 10.0)),
)
