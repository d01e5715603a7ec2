"""Recordings of others: bombs, and what is no file, against the command line; time and peak memory are measured."""

from __future__ import annotations

import contextlib
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from tempfile import TemporaryDirectory

from lab.attacks.attack import Attack, Line, Stage
from lab.processes import child
from lab.processes.usage import cpu_seconds, memory_mib

_HEAD = b'{"recording":1,"by":"an attacker"}\n{"server":{"version":"9.7.4"},"account":"a@b"}\n'
_MIB = 1 << 20
_UNUSABLE = 2
_MOST_MIB, _MOST_SECONDS = 700.0, 60.0
"""512 MiB of content, a line of 16 MiB with its copies, and the interpreter with its libraries."""


def _zeros(stage: Stage) -> Iterator[bytes]:
    yield from repeat(bytes(_MIB), 200 if stage.short else 10_000)


def _lists(_: Stage) -> Iterator[bytes]:
    yield _HEAD + b'{"answer":['
    yield from repeat(b"[]," * (_MIB // 3), 15)
    yield b"[]]}\n"


def _snapshots(_: Stage) -> Iterator[bytes]:
    yield _HEAD
    for number in range(1000, 1800):
        reason = b"%d" % number * 250_000
        yield b'{"answer":"status","at":1,"seconds":0,"failure":"failed","reason":"%s","cure":null}\n' % reason
        yield b'{"collection":%d}\n' % number


def _collections(_: Stage) -> Iterator[bytes]:
    yield _HEAD
    yield from repeat(b"".join(b'{"collection":%d}\n' % number for number in range(1, 1001)), 110)


@dataclass(frozen=True)
class _Bomb:
    """A recording, by its parts, and the commands that it is given to."""

    parts: Callable[[Stage], Iterator[bytes]]
    commands: tuple[str, ...]


_BOMBS = {
    "one line of 10 GB of zeros": _Bomb(_zeros, ("advise", "grade", "anonymise")),
    "a line that becomes 5 million lists": _Bomb(_lists, ("advise", "grade", "anonymise")),
    "800 snapshots of 1 MB each": _Bomb(_snapshots, ("advise", "grade")),
    "collections without an end": _Bomb(_collections, ("advise", "anonymise")),
}


def _arguments(command: str, file: Path) -> list[str]:
    match command:
        case "advise":
            return ["advise", "--recording", str(file)]
        case "anonymise":
            return ["anonymise", str(file), "-o", str(file.with_name("out.jsonl"))]
        case _:
            return [command, str(file)]


def _refused(what: str, command: str, file: Path) -> Line:
    """Run the command, which has to refuse the file by its name. One that takes too long is killed."""
    began, most, seconds = time.monotonic(), 0.0, 0.0
    said = file.with_name("said")
    said.unlink(missing_ok=True)
    process = child.spawn([sys.executable, "-m", "advisor.cli", *_arguments(command, file)], {}, said)
    try:
        while process.poll() is None and time.monotonic() - began < 5 * _MOST_SECONDS:
            most = max(most, memory_mib(process.pid, "VmHWM") or 0.0)
            with contextlib.suppress(OSError):  # it has ended
                seconds = cpu_seconds(process.pid)
            time.sleep(0.01)
        status = process.poll()
    finally:
        process.kill()
        process.wait()
    kept = status == _UNUSABLE and str(file) in said.read_text(errors="replace")
    return Line(
        f"{command}: {what}",
        f"refused by name, {_MOST_MIB:.0f} MiB, {_MOST_SECONDS:.0f} s of CPU",
        f"exit code {status}, {most:.0f} MiB, {seconds:.1f} s",
        kept and most <= _MOST_MIB and seconds <= _MOST_SECONDS,
    )


def _bombs(stage: Stage) -> Iterator[Line]:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "bomb.jsonl.gz"
        for name, bomb in _BOMBS.items():
            if stage.short and bomb.parts is _snapshots:  # a minute
                continue
            stage.say(name)
            packer = zlib.compressobj(1, wbits=31)
            with file.open("wb") as written:
                for part in bomb.parts(stage):
                    written.write(packer.compress(part))
                written.write(packer.flush())
            for command in bomb.commands[:1] if stage.short else bomb.commands:
                yield _refused(f"{name}, gzip of {file.stat().st_size >> 10} KiB", command, file)


def _places(stage: Stage) -> Iterator[Line]:
    with TemporaryDirectory() as place:
        folder = Path(place)
        os.mkfifo(folder / "pipe.jsonl")
        (folder / "device.jsonl").symlink_to("/dev/zero")
        (folder / "folder.jsonl").mkdir()
        with (folder / "sparse.jsonl").open("wb") as sparse:
            sparse.truncate(10 << 30)
        for file in sorted(folder.glob("*.jsonl")):
            for command in ("advise",) if stage.short else ("advise", "grade", "anonymise"):
                yield _refused(f"a {file.stem} in place of a recording", command, file)


ATTACKS: tuple[Attack, ...] = (
    Attack("recording-bombs", "recordings that would take all memory and time", _bombs, (400.0, 40.0)),
    Attack("recording-places", "pipes, devices and folders in place of a recording", _places, (40.0, 15.0)),
)
