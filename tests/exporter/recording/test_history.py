import errno
import gzip
import os
import shutil
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exporter.collectors.innodb_status import INNODB_STATUS
from exporter.collectors.parallel_readers import PARALLEL_READERS
from exporter.collectors.status import STATUS
from exporter.collectors.variables import VARIABLES
from exporter.connection.target import from_dsn
from exporter.recording import folder as folders
from exporter.recording.file import Recorder, RecordingError, Replayer, replay
from exporter.recording.history import KEPT_DAMAGED, State
from exporter.rows import Rows
from exporter.sampling.assembly import Answer
from exporter.sampling.sampler import Sampler
from exporter.server import identify
from exporter.snapshot import Snapshot
from lab.servers import Server
from tests.waiting import DEADLINE

SERVER = identify({"version": "9.7.4", "version_comment": "x", "performance_schema": "ON"})
ADDRESS = "db1:3306"
NOW = 1_000_000.0


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def open_state(tmp_path: Path, clock: Clock) -> Callable[..., State]:
    """The state in a folder, which is written at each collection."""

    def open_it(address: str = ADDRESS, **options: Any) -> State:
        return State(tmp_path / "state", address, **{"clock": clock, "period": 0.0, **options})

    return open_it


def uptime(seconds: float) -> Answer:
    return answer("status", ["Variable_name", "Value"], ("Uptime", str(seconds)))


def threads(alive: int, at: float) -> Answer:
    return Answer("parallel_readers", at, 0.0, (Rows.of(["threads"], [[alive]]),))


def answer(collector: str, columns: list[str], *rows: tuple[Any, ...]) -> Answer:
    return Answer(collector, NOW, 0.0, (Rows.of(columns, rows),))


def keep(state: State, *collections: float, session: bool = True) -> None:
    """Give a state collections at these times, each with another uptime."""
    if session:
        state.session(SERVER, "a@b")
    for at in collections:
        state.answer(uptime(at))
        state.collection(at)
        wait(state)


def wait(state: State) -> None:
    for thread in threading.enumerate():
        if thread.name == "state":
            thread.join()
    assert state is not None


def times(state: State) -> list[float]:
    return [snapshot.at for snapshot in state.take_past()]


def files(folder: Path, pattern: str = "*.jsonl.gz") -> list[Path]:
    return sorted((folder / "state").glob(pattern))


# What is read back


def test_the_stored_history_is_read_back(open_state: Callable[..., State], clock: Clock) -> None:
    with open_state() as state:
        assert state.take_past() == ()
        keep(state, NOW, NOW + 10, NOW + 20)
    clock.now = NOW + 25
    state = open_state()
    assert times(state) == [NOW, NOW + 10, NOW + 20]
    assert [(snapshot[STATUS] or {})["uptime"] for snapshot in state.take_past()] == times(state)
    assert (state.report.failures, state.report.damaged) == (0, 0)


def test_the_rest_is_written_at_the_end(open_state: Callable[..., State], tmp_path: Path) -> None:
    with open_state(period=60.0) as state:
        keep(state, NOW - 20, NOW - 10)
        assert files(tmp_path) == []
    assert len(files(tmp_path)) == 1
    assert times(open_state()) == [NOW - 20, NOW - 10]


def test_the_end_of_a_sidecar_that_saw_nothing_writes_nothing(open_state: Callable[..., State], tmp_path: Path) -> None:
    with open_state():
        pass
    assert files(tmp_path) == []


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-11.8"], indirect=True)
async def test_the_history_of_a_real_server_is_the_same_after_a_restart(server: Server, tmp_path: Path) -> None:
    target = from_dsn(server.dsn)
    with State(tmp_path / "state", target.address, period=0.0) as state:
        sampler = Sampler(target, interval=0.001, statement_seconds=DEADLINE, keep=state)
        for _ in range(4):
            await sampler.collect()
            wait(state)
        await sampler.close()
    assert len(files(tmp_path)) >= 4
    found = State(tmp_path / "state", target.address).take_past()
    assert len(found) == 4
    # The sidecar's own count restarts at each start.
    assert [snapshot.with_section(PARALLEL_READERS, None) for snapshot in found] == [
        snapshot.with_section(PARALLEL_READERS, None) for snapshot in sampler.history
    ]


def test_each_file_can_be_read_alone(open_state: Callable[..., State], tmp_path: Path) -> None:
    with open_state() as state:
        state.session(SERVER, "a@b")
        state.answer(answer("variables", ["Variable_name", "Value"], ("innodb_old_blocks_pct", "37")))
        keep(state, NOW - 30, NOW - 20, session=False)
        state.answer(Answer("variables", NOW, 0.0, (), "deadline", "too slow"))
        keep(state, NOW - 10, NOW, session=False)
    snapshots = [list(replay(file)) for file in files(tmp_path)]
    assert [len(each) for each in snapshots] == [1, 1, 1, 1]
    assert [each[0].setting("innodb_old_blocks_pct") for each in snapshots] == ["37", "37", None, None]
    assert [each[0].outcomes["variables"].failure for each in snapshots] == [None, None, "deadline", "deadline"]


def test_a_new_session_forgets_the_one_before(open_state: Callable[..., State]) -> None:
    with open_state() as state:
        state.session(SERVER, "a@b")
        state.answer(answer("variables", ["Variable_name", "Value"], ("innodb_old_blocks_pct", "37")))
        keep(state, NOW - 20, session=False)
        keep(state, NOW - 10)
    assert [snapshot[VARIABLES] is None for snapshot in open_state().take_past()] == [False, True]


def test_parallel_reads_are_counted_on_from_file_to_file_and_from_sidecar_to_sidecar(
    open_state: Callable[..., State],
) -> None:
    for life in (0, 1):
        with open_state() as state:
            state.session(SERVER, "a@b")
            for tick in range(4):
                at = NOW - 100 + 40 * life + tick
                state.answer(threads(4, at))
                keep(state, at, session=False)
    readers = [snapshot[PARALLEL_READERS] for snapshot in open_state().take_past()]
    assert [each and each.thread_seconds for each in readers] == [-24.0, -20.0, -16.0, -12.0, -12.0, -8.0, -4.0, 0.0]
    assert [each and each.reads_observed for each in readers] == [0, 0, 0, 0, 0, 0, 0, 0]


def test_statements_of_clients_are_not_written(open_state: Callable[..., State], tmp_path: Path) -> None:
    with open_state() as state:
        state.session(SERVER, "a@b")
        text = "INNODB MONITOR OUTPUT\nUPDATE secret SET a = 1\n--------\nFILE I/O\n--------\nsecret\n"
        state.answer(answer("innodb_status", ["Type", "Name", "Status"], ("InnoDB", "", text)))
        keep(state, NOW, session=False)
    [file] = files(tmp_path)
    [snapshot] = replay(file)
    assert snapshot[INNODB_STATUS] is not None
    assert b"secret" not in gzip.decompress(file.read_bytes())


# What is left out


def test_another_server_has_another_history(open_state: Callable[..., State]) -> None:
    for address, at in ((ADDRESS, NOW - 20), ("db2:3306", NOW - 10)):
        with open_state(address) as state:
            assert state.take_past() == ()
            keep(state, at)
    assert (times(open_state()), times(open_state("db2:3306"))) == ([NOW - 20], [NOW - 10])


def test_old_files_are_deleted(open_state: Callable[..., State], clock: Clock, tmp_path: Path) -> None:
    with open_state(seconds=100.0) as state:
        keep(state, NOW - 150, NOW - 90, NOW)
    assert len(files(tmp_path)) == 2
    clock.now = NOW + 50
    assert times(open_state(seconds=100.0)) == [NOW]
    assert len(files(tmp_path)) == 1
    clock.now = NOW + 5000
    assert times(open_state(seconds=100.0)) == []
    assert files(tmp_path) == []


def test_the_folder_does_not_grow_beyond_its_bound(open_state: Callable[..., State], tmp_path: Path) -> None:
    with open_state() as state:
        keep(state, *(NOW + n for n in range(20)))
        one = state.report.bytes / 20
    with open_state(largest=round(one * 7.5)) as state:
        keep(state, NOW + 21, NOW + 22)
    held = sum(file.stat().st_size for file in files(tmp_path))
    assert held == state.report.bytes
    assert one * 5 < held <= one * 7.5


def test_snapshots_before_the_clock_was_set_back_are_left_out(open_state: Callable[..., State]) -> None:
    with open_state() as state:
        keep(state, NOW - 20, NOW - 10, NOW - 100, NOW - 90)
    assert times(open_state()) == [NOW - 100, NOW - 90]


def test_snapshots_of_the_future_are_left_out(open_state: Callable[..., State]) -> None:
    with open_state() as state:
        keep(state, NOW - 10, NOW + 1000)
    assert times(open_state()) == [NOW - 10]


# Damage


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole[:-30],
        lambda _: b"",
        lambda _: b"no recording",
        lambda whole: whole[:40] + bytes([whole[40] ^ 1]) + whole[41:],
    ],
    ids=["truncated", "empty", "something else", "a bit that fell over"],
)
def test_a_damaged_file_is_set_aside_and_the_others_are_read(
    open_state: Callable[..., State],
    tmp_path: Path,
    damage: Callable[[bytes], bytes],
    caplog: pytest.LogCaptureFixture,
) -> None:
    with open_state() as state:
        keep(state, NOW - 30, NOW - 20, NOW - 10)
    broken = files(tmp_path)[1]
    broken.write_bytes(damage(broken.read_bytes()))
    state = open_state()
    assert times(state) == [NOW - 30, NOW - 10]
    assert state.report.damaged == 1
    assert broken.name in caplog.text
    assert [file.name for file in files(tmp_path, "*.damaged")] == [f"{broken.name}.damaged"]
    assert open_state().report.damaged == 0


@pytest.mark.parametrize("place", ["a pipe", "a folder", "a link", "a bomb", "a former format"])
def test_what_lies_in_place_of_a_file_is_set_aside_and_the_others_are_read(
    open_state: Callable[..., State], tmp_path: Path, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    with open_state() as state:
        keep(state, NOW - 30, NOW - 20, NOW - 10)
    broken = files(tmp_path)[1]
    content = broken.read_bytes()
    broken.unlink()
    match place:
        case "a pipe":
            os.mkfifo(broken)
        case "a folder":
            broken.mkdir()
        case "a link":
            (tmp_path / "other").write_bytes(content)
            broken.symlink_to(tmp_path / "other")
        case "a bomb":
            broken.write_bytes(gzip.compress(bytes(20 << 20), 1))
        case _:
            broken.write_bytes(gzip.compress(gzip.decompress(content).replace(b'{"recording":1', b'{"recording":0', 1)))
    state = open_state()
    expected = [] if place == "a bomb" else [NOW - 30, NOW - 10]  # after a bomb nobody knows what else there is
    assert times(state) == expected
    assert state.report.damaged == 1
    assert str(broken) in caplog.text
    assert [file.name for file in files(tmp_path, "*.damaged")] == [f"{broken.name}.damaged"]
    keep(state, NOW)
    state.close()
    assert open_state().report.damaged == 0
    assert NOW in times(open_state())


def test_a_history_that_takes_too_much_memory_begins_anew(
    open_state: Callable[..., State], caplog: pytest.LogCaptureFixture
) -> None:
    with open_state() as state:
        keep(state, NOW - 30, NOW - 20)
    assert times(open_state(memory=10)) == []
    assert "takes more than 0 MiB of memory" in caplog.text
    assert "the history begins anew" in caplog.text
    assert times(open_state()) == [NOW - 20]


def test_a_folder_that_was_deleted_is_made_again(open_state: Callable[..., State], tmp_path: Path) -> None:
    state = open_state()
    keep(state, NOW - 20)
    shutil.rmtree(tmp_path / "state")
    keep(state, NOW - 10, session=False)
    assert state.report.failures == 0
    assert times(open_state()) == [NOW - 10]


def test_a_link_in_place_of_the_part_is_never_written_through(open_state: Callable[..., State], tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    state = open_state()
    (tmp_path / "state" / f".part-{folders.key(ADDRESS)}-00000000.jsonl.gz").symlink_to(victim)
    keep(state, NOW)
    assert victim.read_text() == "mine"
    assert times(open_state()) == [NOW]


def test_few_damaged_files_are_kept(open_state: Callable[..., State], tmp_path: Path) -> None:
    with open_state() as state:
        keep(state, *(NOW - 10 + n for n in range(KEPT_DAMAGED + 3)))
    for file in files(tmp_path):
        file.write_bytes(b"")
    assert open_state().take_past() == ()
    assert len(files(tmp_path, "*.damaged")) == KEPT_DAMAGED
    assert files(tmp_path) == []


def test_files_half_written_at_a_crash_are_deleted(open_state: Callable[..., State], tmp_path: Path) -> None:
    with open_state() as state:
        keep(state, NOW)
    [file] = files(tmp_path)
    part = file.with_name(f".part-{file.name}")
    part.write_bytes(file.read_bytes()[:50])
    other = file.with_name("note.txt")
    other.write_text("mine")
    assert times(open_state()) == [NOW]
    assert (part.exists(), other.exists()) == (False, True)


def test_a_folder_that_cannot_be_made_is_reported_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    with State(tmp_path / "file" / "state", ADDRESS, period=0.0) as state:
        assert state.take_past() == ()
        keep(state, NOW, NOW + 10)
    assert state.report.failures >= 3
    assert state.report.written_at is None
    assert caplog.text.count("cannot keep the history") == 1


def test_a_full_disk_is_reported_until_there_is_room_again(
    open_state: Callable[..., State], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    with open_state() as state:
        keep(state, NOW - 30)

        def full(_: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            keep(state, NOW - 20, session=False)
        assert state.report.failures == 1
        assert "No space left on device" in caplog.text
        assert files(tmp_path, ".part-*") == []
        keep(state, NOW - 10, session=False)
        assert "again" in caplog.text
    assert times(open_state()) == [NOW - 30, NOW - 10]


def test_collections_go_on_while_the_folder_does_not_answer(
    open_state: Callable[..., State], monkeypatch: pytest.MonkeyPatch
) -> None:
    state = open_state()
    answers = threading.Event()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: answers.wait(DEADLINE))
        state.session(SERVER, "a@b")
        for n in range(50):
            state.answer(uptime(n))
            state.collection(NOW - 50 + n)
        assert state.report.written_at is None
        answers.set()
        wait(state)
    state.close()
    assert state.report.written_at is not None


def test_only_its_owner_may_read_it(open_state: Callable[..., State], tmp_path: Path) -> None:
    with open_state() as state:
        keep(state, NOW)
    [file] = files(tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


# Recordings that continue


def test_a_recording_that_continues_another_session_starts_empty(tmp_path: Path) -> None:
    def written(name: str, write: Callable[[Recorder], None]) -> Path:
        path = tmp_path / name
        with Recorder(path) as recorder:
            write(recorder)
            recorder.collection(NOW)
        return path

    def first(recorder: Recorder) -> None:
        recorder.session(SERVER, "a@b")
        recorder.answer(uptime(7))

    begun = written("a.jsonl", first)
    same = written("b.jsonl", lambda recorder: recorder.resume(SERVER, "a@b", ()))
    other = written("c.jsonl", lambda recorder: recorder.resume(SERVER, "c@d", ()))
    none = written("d.jsonl", lambda _: None)
    replayer = Replayer()

    def read(path: Path) -> Snapshot:
        [snapshot] = replayer.read(path)
        return snapshot

    assert [read(path)[STATUS] for path in (begun, same, other)] == [{"uptime": 7.0}, {"uptime": 7.0}, None]
    with pytest.raises(RecordingError, match="an answer before any session"):
        read(none)
