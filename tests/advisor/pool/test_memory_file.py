"""The file of the memory of days: whole after any end, and set aside where it is not ours."""

from __future__ import annotations

import json
import logging
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from advisor.observe.window import Window
from advisor.pool import memory_file
from advisor.pool.memory import MOST_HOURS, Hour, Memory, Reads
from advisor.pool.memory_file import MemoryFile, UnusableMemory
from exporter.recording.history import State
from tests.advisor.building import pool, snapshot, variables

ADDRESS = "db:3306"
SETTINGS = variables(innodb_buffer_pool_size="1073741824")


def watched(hours: float) -> Window:
    """An hour up to so many hours after the server's start, in which half of the pool is free."""
    half = pool(size_pages=65_536, free_pages=32_768, database_pages=32_768)
    return Window(
        tuple(
            snapshot(hours * 3600 + seconds, variables=SETTINGS, pools=(replace(half, pages_read=round(seconds)),))
            for seconds in (-3600.0, 0.0)
        )
    )


def kept(folder: Path, *, hours: int = 3, address: str = ADDRESS) -> Path:
    """The file of a memory of so many hours."""
    made = MemoryFile(folder, address)
    for number in range(hours):
        made.remember(watched(number + 1), None)
        made.close()
    return memory_file.path_of(folder, address)


def test_the_next_sidecar_remembers_the_hours(tmp_path: Path) -> None:
    path = kept(tmp_path / "state")
    found = MemoryFile(tmp_path / "state", ADDRESS).memory
    assert [each.seconds for each in found.hours] == [3600.0] * 3
    assert found == memory_file.read(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not list(path.parent.glob(".part-*"))


def test_each_hour_is_on_the_disk_at_once(tmp_path: Path) -> None:
    made = MemoryFile(tmp_path, ADDRESS)
    for number in range(3):
        made.remember(watched(number + 1), None)
        made.close()
        assert memory_file.read(memory_file.path_of(tmp_path, ADDRESS)) == made.memory
    assert len(made.memory.hours) == 3


def test_each_server_has_its_own(tmp_path: Path) -> None:
    kept(tmp_path)
    assert MemoryFile(tmp_path, "other:3306").memory == Memory()


def test_a_part_that_a_crash_left_is_no_memory_and_the_history_clears_it(tmp_path: Path) -> None:
    path = kept(tmp_path)
    (tmp_path / f".part-{path.name}").write_text('{"format": 1, "ho')
    assert len(MemoryFile(tmp_path, ADDRESS).memory.hours) == 3
    with State(tmp_path, ADDRESS):
        assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "Invalid JSON"),
        ('{"format": 1, "hours": [{"at": 1', "Invalid JSON"),
        ("[]", "an object"),
        ('{"format": 2, "hours": []}', "format"),
        ('{"hours": [], "servers": []}', "servers"),
        ('{"hours": [{"at": 1.0}]}', "hours.0"),
        ('{"hours": null}', "hours"),
        ("\udcff\udcfe", "Invalid JSON"),
    ],
)
def test_a_file_that_is_not_ours_is_set_aside_with_the_reason(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: str, reason: str
) -> None:
    path = memory_file.path_of(tmp_path, ADDRESS)
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(UnusableMemory, match=reason):
        memory_file.read(path)
    made = MemoryFile(tmp_path, ADDRESS)
    assert made.memory == Memory()
    [warning] = [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING]
    assert str(path) in warning
    assert reason in warning
    assert [each.name for each in tmp_path.iterdir()] == [f"{path.name}.damaged"]
    made.remember(watched(1), None)
    made.close()
    assert len(memory_file.read(path).hours) == 1


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("reads", -1.0),
        ("reads", "NaN"),
        ("at", 253370764800.0),
        ("at", -1.0),
        ("started", 1e300),
        ("seconds", 1e300),
        ("pool_bytes", "many"),
        ("sizes", [{"bytes": 1, "expected": 1}]),
        ("at", None),
    ],
)
def test_a_number_that_cannot_be_is_refused(tmp_path: Path, key: str, value: object) -> None:
    path = kept(tmp_path)
    content = json.loads(path.read_text())
    content["hours"][1][key] = value
    path.write_text(json.dumps(content))
    with pytest.raises(UnusableMemory, match="hours"):
        memory_file.read(path)


@pytest.mark.parametrize("place", ["a pipe", "a link", "a bomb"])
def test_what_lies_in_its_place_is_set_aside_at_once(tmp_path: Path, place: str) -> None:
    path = memory_file.path_of(tmp_path, ADDRESS)
    match place:
        case "a pipe":
            os.mkfifo(path)
        case "a link":
            kept(tmp_path).rename(tmp_path / "other")
            path.symlink_to("other")
        case _:
            path.write_text('{"hours": [' + "[]," * 2_500_000)
    assert MemoryFile(tmp_path, ADDRESS).memory == Memory()
    assert not path.is_symlink()
    assert not path.exists()


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    path = memory_file.path_of(tmp_path, ADDRESS)
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UnusableMemory, match="MiB"):
        memory_file.read(path)


def test_the_largest_memory_takes_the_documented_room(tmp_path: Path) -> None:
    sizes = tuple(Reads(1e11 / 3 + times, 1234.5678901234567, 1234.5678901234567) for times in range(4))
    hour = Hour(1_795_399_511.791233, 3599.123456789, 1_795_399_490.791233, 1e11, "0" * 16, True, 1 / 3, sizes)
    hours = tuple(replace(hour, at=hour.at + 3600 * number) for number in range(MOST_HOURS))
    path = memory_file.path_of(tmp_path, ADDRESS)
    made = MemoryFile(tmp_path, ADDRESS)
    made._write(Memory(hours))  # noqa: SLF001 - 2,000 hours one by one would take long
    assert 500_000 < path.stat().st_size < 2_000_000
    assert len(memory_file.read(path).hours) == MOST_HOURS


def test_a_folder_that_cannot_be_written_is_said_once_and_the_memory_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    made = MemoryFile(tmp_path / "file" / "state", ADDRESS)
    for number in range(2):
        made.remember(watched(number + 1), None)
        made.close()
    assert len(made.memory.hours) == 2
    said = [each.getMessage() for each in caplog.records if "cannot keep the memory of days" in each.getMessage()]
    assert len(said) == 1
