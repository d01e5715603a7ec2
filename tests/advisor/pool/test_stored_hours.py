"""The memory of days over restarts."""

from __future__ import annotations

import logging
import sqlite3
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from advisor.files.stored import stored_items
from advisor.observe.window import Window
from advisor.pool.hours import MEMORY, STORED_HOUR, Hour, ReadsAtSize, StoredHours
from exporter.state_file import StateFile
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


def load(folder: Path, address: str = ADDRESS) -> tuple[Hour, ...]:
    with StateFile(folder, address) as state:
        return StoredHours(state).hours


def keep(folder: Path, hours: int = 3) -> Path:
    """A file with so many hours."""
    with StateFile(folder, ADDRESS) as state:
        stored = StoredHours(state)
        for number in range(hours):
            stored.remember(watched(number + 1), None)
            assert stored_items(state.path, "hours", STORED_HOUR) == (list(stored.hours), None)  # at once
    return state.path


def test_the_next_sidecar_remembers_the_hours(tmp_path: Path) -> None:
    path = keep(tmp_path)
    memory = load(tmp_path)
    assert [hour.seconds for hour in memory] == [3600.0] * 3
    assert stored_items(path, "hours", STORED_HOUR) == (list(memory), None)
    assert load(tmp_path, "other:3306") == ()


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
def test_an_hour_that_cannot_be_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, key: str, value: object
) -> None:
    path = keep(tmp_path)
    first, odd, last = load(tmp_path)
    content = TypeAdapter(object).dump_json({**asdict(odd), key: value}).decode()
    connection = sqlite3.connect(path)
    with connection:
        assert connection.execute("UPDATE hours SET content = ? WHERE id = 2", (content,)).rowcount == 1
    connection.close()
    assert load(tmp_path) == (first, last)
    [warning] = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert f"{path}: not all hours can be read: " in warning


def test_the_largest_memory_takes_the_documented_room(tmp_path: Path) -> None:
    sizes = tuple(ReadsAtSize(1e11 / 3 + times, 1234.5678901234567, 1234.5678901234567) for times in range(4))
    hour = Hour(1_795_399_511.791233, 3599.123456789, 1_795_399_490.791233, 1e11, "0" * 16, True, 1 / 3, sizes)
    hours = tuple(replace(hour, at=hour.at + 3600 * number) for number in range(MEMORY.most_hours))
    with StateFile(tmp_path, ADDRESS) as state:
        stored = StoredHours(state)
        stored.hours = hours
        stored.remember(watched(1), None)  # before all others: it is the only one
        assert len(stored.hours) == 1
        stored._items.keep({str(remembered.at): remembered for remembered in hours})  # noqa: SLF001 - at once
    assert 500_000 < state.path.stat().st_size < 2_000_000
    assert load(tmp_path) == hours


def test_without_a_folder_the_memory_goes_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with StateFile(tmp_path / "file" / "state", ADDRESS) as state:
        stored = StoredHours(state)
        for number in range(2):
            stored.remember(watched(number + 1), None)
        assert len(stored.hours) == 2
