"""The state file: one writer, whole after any end, set aside where it is damaged, and never waited for."""

import logging
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from exporter import state_file
from exporter.state_file import InUse, StateError, StateFile, path_of
from tests.advisor.building import REPOSITORY
from tests.waiting import DEADLINE

ADDRESS = "db1:3306"
HOLDER = """
import sys
from pathlib import Path
from exporter.state_file import StateFile
with StateFile(Path(sys.argv[1]), sys.argv[2]):
    print("held", flush=True)
    sys.stdin.read()
"""
ROW = "INSERT INTO entries (key, content) VALUES (?, ?)"


def keys(connection: sqlite3.Connection) -> list[str]:
    return [key for (key,) in connection.execute("SELECT key FROM entries ORDER BY id")]


def add(state: StateFile, *names: str, size: int = 1) -> None:
    state.run(lambda connection: connection.executemany(ROW, [(name, "x" * size) for name in names]))


def stored(folder: Path, address: str = ADDRESS) -> list[str]:
    return state_file.read(path_of(folder, address), keys)


def warnings(caplog: pytest.LogCaptureFixture) -> Sequence[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_what_was_written_is_read_by_the_next_sidecar_and_by_commands_meanwhile(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    with StateFile(folder, ADDRESS) as state:
        add(state, "a")
        assert stored(folder) == ["a"]
        add(state, "b")
        for suffix in ("", "-wal", "-shm"):
            assert stat.S_IMODE(Path(f"{state.path}{suffix}").stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    with StateFile(folder, ADDRESS) as state:
        assert state.run(keys) == ["a", "b"]
        assert state.damaged == 0
    assert state_file.paths(folder) == [path_of(folder, ADDRESS)]


def test_each_server_has_a_file_of_its_own(tmp_path: Path) -> None:
    with StateFile(tmp_path, ADDRESS) as first, StateFile(tmp_path, "db2:3306") as second:
        add(first, "a")
        assert second.run(keys) == []
    assert state_file.paths(tmp_path) == sorted((first.path, second.path))


def test_a_commit_returns_once_the_log_is_on_the_disk(tmp_path: Path) -> None:
    """SQLite syncs the log at each commit with synchronous FULL, which is 2; with NORMAL a power cut loses commits."""
    with StateFile(tmp_path, ADDRESS) as state:
        assert state.run(lambda connection: connection.execute("PRAGMA journal_mode").fetchone()) == ("wal",)
        assert state.run(lambda connection: connection.execute("PRAGMA synchronous").fetchone()) == (2,)


def test_a_power_cut_loses_nothing_that_was_committed(tmp_path: Path) -> None:
    """What follows the synced part of the log may be torn at any byte."""
    with StateFile(tmp_path / "state", ADDRESS) as state:
        add(state, "a", "b")
        log = Path(f"{state.path}-wal")
        synced = log.stat().st_size
        add(state, "c")
        database, written = state.path.read_bytes(), log.read_bytes()
    for length in (*range(synced, len(written), 997), len(written)):
        folder = tmp_path / str(length)
        folder.mkdir()
        path_of(folder, ADDRESS).write_bytes(database)
        Path(f"{path_of(folder, ADDRESS)}-wal").write_bytes(written[:length])
        with StateFile(folder, ADDRESS) as state:
            assert state.run(keys) == ["a", "b", *(["c"] if length == len(written) else [])]
            assert state.damaged == 0


# One sidecar


def test_a_second_sidecar_is_refused_by_name_until_the_first_is_gone_however_it_ends(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    with subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", HOLDER, str(folder), ADDRESS],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        refusal = (
            rf"{folder} is in use for {ADDRESS} by another sidecar \(process {holder.pid} on .*\): end that one, or"
        )
        with pytest.raises(InUse, match=refusal):
            StateFile(folder, ADDRESS)
        StateFile(folder, "db2:3306").close()
        holder.kill()
        holder.wait()
    with StateFile(folder, ADDRESS), pytest.raises(InUse):
        StateFile(folder, ADDRESS)
    StateFile(folder, ADDRESS).close()


def test_a_note_that_a_sidecar_did_not_write_is_not_shown(tmp_path: Path) -> None:
    with StateFile(tmp_path, ADDRESS) as state:
        state.path.with_suffix(".lock").write_bytes(b"process \x1b[31m1 on \x1b]0;x\n")
        with pytest.raises(InUse, match="by another sidecar: end that one") as refused:
            StateFile(tmp_path, ADDRESS)
    assert "\x1b" not in str(refused.value)


@pytest.mark.parametrize("place", ["a link", "a folder"])
def test_a_folder_that_cannot_be_locked_is_logged_and_used(
    place: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, victim = path_of(tmp_path, ADDRESS).with_suffix(".lock"), tmp_path / "victim"
    victim.write_text("mine")
    if place == "a link":
        path.symlink_to(victim)
    else:
        path.mkdir()
    with StateFile(tmp_path, ADDRESS) as state:
        add(state, "a")
    assert victim.read_text() == "mine"
    assert f"cannot lock {tmp_path}" in caplog.text


# Damage


def test_a_damaged_file_is_set_aside_and_the_rows_on_both_sides_of_the_damage_are_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    names = [f"{number:03}" for number in range(300)]
    with StateFile(tmp_path, ADDRESS) as state:
        add(state, *names, size=1000)
    content = bytearray(state.path.read_bytes())
    middle = len(content) // 8192 * 4096
    content[middle : middle + 4096] = bytes(4096)
    state.path.write_bytes(content)
    with pytest.raises(StateError):
        stored(tmp_path)
    with StateFile(tmp_path, ADDRESS) as state:
        kept = state.run(keys)
        assert state.damaged == 1
    assert {names[0], names[-1]} < set(kept)
    assert 280 <= len(kept) < 300
    [warning] = warnings(caplog)
    assert f"{state.path} is set aside as {state.path.name}.damaged" in warning
    assert Path(f"{state.path}.damaged").read_bytes() == content
    with StateFile(tmp_path, ADDRESS) as state:
        assert set(state.run(keys)) == set(kept)
        assert state.damaged == 0


@pytest.mark.parametrize(
    "place", ["a pipe", "a folder", "a link", "a text", "another database", "a view", "a huge file", "a linked log"]
)
def test_what_lies_in_its_place_is_set_aside_at_once(
    place: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, victim = path_of(tmp_path, ADDRESS), tmp_path / "victim"
    victim.write_text("mine")
    match place:
        case "a pipe":
            os.mkfifo(path)
        case "a folder":
            path.mkdir()
        case "a link":
            path.symlink_to(victim)
        case "a text":
            path.write_text("no database, but as long as the head of one" * 10)
        case "a huge file":
            with path.open("wb") as file:
                file.truncate(1 << 40)
        case "a linked log":
            Path(f"{path}-wal").symlink_to(victim)
        case _:
            sql = "CREATE VIEW entries AS SELECT 1" if place == "a view" else "CREATE TABLE other (a)"
            connection = sqlite3.connect(path)
            connection.execute(sql)
            connection.close()
    if place != "a linked log":
        with pytest.raises(StateError):
            stored(tmp_path)
    with StateFile(tmp_path, ADDRESS) as state:
        add(state, "a")
        assert state.damaged == 1
    assert stored(tmp_path) == ["a"]
    assert victim.read_text() == "mine"
    assert len(warnings(caplog)) == 1


def test_nothing_is_read_where_there_is_no_file(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(FileNotFoundError):
            stored(folder)
    assert list(tmp_path.iterdir()) == []


# A disk that fails


def test_a_folder_that_cannot_be_made_is_logged_once_and_used_once_it_can(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "state"
    with StateFile(folder, ADDRESS) as state:
        for _ in range(2):
            with pytest.raises(StateError):
                add(state, "a")
        assert caplog.text.count("cannot keep the state in") == 1
        (tmp_path / "file").unlink()
        add(state, "a")
    assert f"the state is kept in {folder} again" in caplog.text
    assert stored(folder) == ["a"]


@pytest.mark.parametrize("gone", ["the file", "the folder"])
def test_what_was_deleted_is_made_again(tmp_path: Path, gone: str) -> None:
    folder = tmp_path / "state"
    with StateFile(folder, ADDRESS) as state:
        add(state, "a")
        if gone == "the file":
            state.path.unlink()
        else:
            shutil.rmtree(folder)
        add(state, "b")
        assert stored(folder)[-1:] == ["b"]


def test_a_full_disk_loses_the_write_and_nothing_else(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def fill(connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA max_page_count = 20")
        connection.execute(ROW, ("b", "x" * (1 << 20)))

    with StateFile(tmp_path, ADDRESS) as state:
        add(state, "a")
        with pytest.raises(StateError, match="database or disk is full"):
            state.run(fill)
        assert "cannot keep the state in" in caplog.text
        add(state, "c")
        assert state.damaged == 0
    assert stored(tmp_path) == ["a", "c"]


def test_a_folder_that_does_not_answer_holds_nobody_up(tmp_path: Path) -> None:
    go_on = threading.Event()
    with StateFile(tmp_path, ADDRESS, patience=0.05) as state:
        hanging = state.submit(lambda _: go_on.wait(DEADLINE))
        late = state.submit(keys)
        for _ in range(2):
            with pytest.raises(StateError, match="the folder does not answer"):
                state.run(keys)
        go_on.set()
        assert hanging.result(DEADLINE)
        assert late.result(DEADLINE) == []


def test_an_error_in_the_work_is_its_callers(tmp_path: Path) -> None:
    with StateFile(tmp_path, ADDRESS) as state:
        with pytest.raises(ZeroDivisionError):
            state.run(lambda connection: (connection.execute(ROW, ("a", "")), 1 // 0))
        assert state.run(keys) == []
