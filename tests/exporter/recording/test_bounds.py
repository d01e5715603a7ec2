"""Bombs, and what is no file: each is refused by name, in a process that may have little memory."""

from __future__ import annotations

import gzip
import json
import os
import socket
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from itertools import islice, repeat
from pathlib import Path
from typing import Any

import pytest

from exporter.linux import limits
from exporter.recording import bounds
from exporter.recording.bounds import ReadBudget, TooMuch
from exporter.recording.file import RecordingError, TooLarge, TruncatedRecording, replay
from tests.advisor.building import REPOSITORY

HEAD = b'{"recording":1,"by":"test"}\n{"server":{"version":"9.7.4"},"account":"a@b"}\n'
MIB = 1 << 20
ADDRESS_SPACE = 700 * MIB
"""Of a child: the interpreter with its libraries, and 300 MiB."""
CHILD = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), -1))
from exporter.recording.bounds import ReadBudget
from exporter.recording.file import RecordingError, Replayer
for path in sys.argv[2:]:
    try:
        snapshots = list(Replayer(ReadBudget(64 << 20, cure="do this")).read(Path(path)))
    except RecordingError as error:
        print(error)
"""


def compressed(path: Path, chunks: Iterator[bytes]) -> Path:
    """A gzip file of these chunks."""
    packer = zlib.compressobj(1, wbits=31)
    with path.open("wb") as file:
        for chunk in chunks:
            file.write(packer.compress(chunk))
        file.write(packer.flush())
    return path


def kept(number: int) -> bytes:
    """What every later snapshot holds: a reason that no other has, of 100 kB."""
    line = {
        "answer": "status",
        "at": 1,
        "seconds": 0,
        "failure": "failed",
        "reason": f"{number}" * 30_000,
        "cure": None,
    }
    return json.dumps(line).encode() + b'\n{"collection":%d}\n' % number


BOMBS: dict[str, tuple[Callable[[], Iterator[bytes]], str]] = {
    "collections without an end": (
        lambda: stream(HEAD, repeat(b'{"collection":1}\n', 1_000_000)),
        "takes more than 64 MiB",
    ),
    "snapshots without an end": (lambda: stream(HEAD, map(kept, range(1000, 2500))), "takes more than 64 MiB"),
    "a line of zeros": (lambda: repeat(bytes(MIB), 100), ":1: a line of more than 16 MiB"),
    "a line in a recording": (lambda: islice(stream(HEAD, b'{"a":"', repeat(b"x" * MIB)), 100), ":3: a line of more"),
    "a line of empty lists": (
        lambda: stream(HEAD, b'{"answer":[', repeat(b"[]," * (MIB // 3), 15), b"[]]}\n"),
        ":3: its content takes more than 64 MiB of memory; do this",
    ),
    "a line of deep lists": (lambda: stream(HEAD, b"[" * MIB, b"\n"), ":3: "),
    "names without an end": (
        lambda: stream(HEAD, (b'{"answer":"s%d","at":1,"seconds":0,"results":[]}\n' % n for n in range(1000))),
        ":103: damaged recording: more than 100 sources that this version does not know",
    ),
}


def stream(*parts: Any) -> Iterator[bytes]:
    for part in parts:
        if isinstance(part, bytes):
            yield part
        else:
            yield from part


def test_bombs_are_refused_by_file_and_line_within_little_memory(tmp_path: Path) -> None:
    paths = [compressed(tmp_path / f"{n}.jsonl.gz", chunks()) for n, (chunks, _) in enumerate(BOMBS.values())]
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", CHILD, str(ADDRESS_SPACE), *map(str, paths)],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=True,
    )
    for path, error, (_, reason) in zip(paths, done.stdout.splitlines(), BOMBS.values(), strict=True):
        assert error.startswith(str(path))
        assert reason in error


def test_ten_gigabytes_of_zeros_are_refused_after_the_first_line(tmp_path: Path) -> None:
    path = tmp_path / "sparse.jsonl"
    with path.open("wb") as file:
        file.truncate(10 << 30)
    with pytest.raises(RecordingError, match=r"sparse.jsonl:1: a line of more than 16 MiB"):
        next(replay(path))


def test_many_short_lines_count_as_longer_ones() -> None:
    budget = ReadBudget(text=10 * bounds.LEAST_TEXT)
    with pytest.raises(TooMuch, match="of text"):  # noqa: PT012
        for _ in range(11):
            budget.taken(b"{}\n")


def test_the_memory_is_looked_at_once_the_most_that_lines_may_take_is_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    grown = 0.0
    looked = 0

    def resident() -> float:
        nonlocal looked
        looked += 1
        return grown

    monkeypatch.setattr(bounds, "resident_bytes", resident)
    budget = ReadBudget(3 * bounds.LEAST_MEMORY, cure="do this")
    for _ in range(100):  # nothing of it is kept
        budget.taken(b"{}\n")
    assert 30 < looked < 40
    grown = 2.5 * bounds.LEAST_MEMORY
    with pytest.raises(TooMuch, match="of memory; do this"):  # noqa: PT012
        for _ in range(4):
            budget.taken(b"{}\n")


def test_a_process_in_a_small_container_may_take_a_quarter(monkeypatch: pytest.MonkeyPatch) -> None:
    assert bounds.affordable_bytes() <= bounds.MEMORY_BYTES
    limit = limits.Memory(64 * MIB, "cgroup memory.max", None)
    monkeypatch.setattr(limits, "memory", lambda *_: limit)
    assert bounds.affordable_bytes() == 16 * MIB


# What is no file


@pytest.fixture(params=["pipe", "socket", "device", "folder", "link to a pipe"])
def other(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    """Something in place of a file, and what is said of it."""
    path = tmp_path / "x.jsonl"
    match request.param:
        case "pipe":
            os.mkfifo(path)
            return path, "Is a named pipe; write what it gives to a file first"
        case "socket":
            with socket.socket(socket.AF_UNIX) as made:
                made.bind(os.path.relpath(path))  # a path may have 108 bytes only
            return path, "Is a socket"
        case "device":
            return Path("/dev/zero"), "Is a device"
        case "folder":
            path.mkdir()
            return path, "Is a directory"
        case _:
            os.mkfifo(tmp_path / "pipe")
            path.symlink_to("pipe")
            return path, "Is a named pipe"


def test_what_is_no_file_is_refused_at_once(other: tuple[Path, str]) -> None:
    path, said = other
    with pytest.raises(RecordingError) as refused:
        next(replay(path))
    assert str(refused.value).startswith(f"cannot read the recording {path}: {said}")


# Times and numbers


@pytest.mark.parametrize("at", ["NaN", "Infinity", "-Infinity", "1e999", "-62135596800", "253370764800", "-1", '"x"'])
@pytest.mark.parametrize("line", ['{"collection":%s}', '{"answer":"status","at":%s,"seconds":0,"results":[]}'])
def test_a_time_that_no_calendar_has_is_refused_by_its_line(line: str, at: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_bytes(HEAD + (line % at).encode() + b'\n{"end":3}\n')
    with pytest.raises(RecordingError, match=r"odd.jsonl:3: damaged recording: "):
        list(replay(path))


@pytest.mark.parametrize("seconds", ["NaN", "Infinity", "-1", "1e300"])
def test_a_duration_that_cannot_be_is_refused(seconds: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_bytes(HEAD + b'{"answer":"status","at":1,"seconds":%s,"results":[]}\n{"end":3}\n' % seconds.encode())
    with pytest.raises(RecordingError, match=r"odd.jsonl:3: damaged recording: a collector did not take"):
        list(replay(path))


@pytest.mark.parametrize("failure", ['"broken"', "{}", "[]", "7", "null"])
def test_a_failure_of_no_known_kind_is_refused(failure: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    line = '{"answer":"status","at":1,"seconds":0,"failure":%s,"reason":"","cure":null}'
    path.write_bytes(HEAD + (line % failure).encode() + b'\n{"end":3}\n')
    with pytest.raises(RecordingError, match=r"odd.jsonl:3: damaged recording: "):
        list(replay(path))


# Ends


def test_a_truncated_recording_is_told_from_a_damaged_one(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    whole = HEAD + b'{"collection":1}\n{"collection":2}\n'
    for cut in (whole, whole + b'{"coll', whole + b'{"end":'):
        path.write_bytes(cut)
        times = []
        with pytest.raises(TruncatedRecording, match="it ends after line 4 without its end mark"):  # noqa: PT012
            for snapshot in replay(path):
                times.append(snapshot.at)  # noqa: PERF401
        assert times == [1.0, 2.0]
    path.write_bytes(HEAD + b'{"collection":1}\n{"coll\n{"collection":2}\n{"end":5}\n')
    with pytest.raises(RecordingError, match=r"cut.jsonl:4: damaged") as refused:
        list(replay(path))
    assert not isinstance(refused.value, TruncatedRecording | TooLarge)


def test_what_follows_the_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "two.jsonl"
    path.write_bytes((HEAD + b'{"collection":1}\n{"end":3}\n') * 2)
    with pytest.raises(RecordingError, match=r"two.jsonl:4: more follows the end of the recording"):
        list(replay(path))


def test_a_wrong_checksum_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "wrong.jsonl.gz"
    packed = bytearray(gzip.compress(HEAD + b'{"collection":1}\n{"end":3}\n'))
    packed[-8] ^= 1
    path.write_bytes(packed)
    with pytest.raises(RecordingError, match=r"is damaged: .*incorrect data check"):
        list(replay(path))
