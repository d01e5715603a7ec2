import gzip
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from exporter import state_file
from exporter.collectors.innodb_status import INNODB_STATUS
from exporter.collectors.parallel_readers import PARALLEL_READERS
from exporter.collectors.status import STATUS
from exporter.collectors.variables import VARIABLES
from exporter.connection.target import from_dsn
from exporter.recording.file import Recorder, RecordingError, Replayer, replay
from exporter.recording.history import StoredHistory
from exporter.rows import Rows
from exporter.sampling.assembly import Answer
from exporter.sampling.sampler import Sampler
from exporter.server import identify
from exporter.snapshot import Snapshot
from exporter.state_file import StateFile
from lab.servers import PrivateServer
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


class Watched(StoredHistory):
    """A history that is given collections by hand, and whose writes can be waited for."""

    def keep(self, *collections: float, session: bool = True) -> None:
        """Take collections at these times, each with another uptime."""
        if session:
            self.session(SERVER, "a@b")
        for at in collections:
            self.answer(uptime(at))
            self.collection(at)
            self.wait()

    def wait(self) -> None:
        self._state.submit(lambda _: None).exception(DEADLINE)

    def times(self) -> list[float]:
        return [snapshot.at for snapshot in self.take_past()]


Open = Callable[..., AbstractContextManager[Watched]]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def opened(tmp_path: Path, clock: Clock) -> Open:
    """The history of a server in a folder, which is written at each collection."""

    @contextmanager
    def open_it(address: str = ADDRESS, **options: Any) -> Iterator[Watched]:
        with StateFile(tmp_path / "state", address) as state:
            history = Watched(state, **{"clock": clock, "period": 0.0, **options})
            yield history
            history.close()

    return open_it


def uptime(seconds: float) -> Answer:
    return answer("status", ["Variable_name", "Value"], ("Uptime", str(seconds)))


def threads(alive: int, at: float) -> Answer:
    return Answer("parallel_readers", at, 0.0, (Rows.of(["threads"], [[alive]]),))


def answer(collector: str, columns: list[str], *rows: tuple[Any, ...]) -> Answer:
    return Answer(collector, NOW, 0.0, (Rows.of(columns, rows),))


def recordings(folder: Path) -> list[bytes]:
    """The stored recordings, oldest first."""

    def read(connection: sqlite3.Connection) -> list[bytes]:
        return [recording for (recording,) in connection.execute("SELECT recording FROM snapshots ORDER BY id")]

    return state_file.read(state_file.path_of(folder / "state", ADDRESS), read)


def replace_recording(folder: Path, number: int, recording: object) -> None:
    with sqlite3.connect(state_file.path_of(folder / "state", ADDRESS)) as connection:
        connection.execute("UPDATE snapshots SET recording = ? WHERE id = ?", (recording, number))
    connection.close()


# What is read back


def test_the_stored_history_is_read_back(opened: Open, clock: Clock) -> None:
    with opened() as history:
        assert history.take_past() == ()
        history.keep(NOW, NOW + 10, NOW + 20)
        assert (history.failures, history.damaged, history.written_at) == (0, 0, NOW)
        assert history.bytes > 0
    clock.now = NOW + 25
    with opened() as history:
        past = history.take_past()
        assert [snapshot.at for snapshot in past] == [NOW, NOW + 10, NOW + 20]
        assert [(snapshot[STATUS] or {})["uptime"] for snapshot in past] == [NOW, NOW + 10, NOW + 20]
        assert history.bytes > 0


def test_the_rest_is_written_at_the_end(opened: Open, tmp_path: Path) -> None:
    with opened(period=60.0) as history:
        history.keep(NOW - 20, NOW - 10)
        assert recordings(tmp_path) == []
    assert len(recordings(tmp_path)) == 1
    with opened() as history:
        assert history.times() == [NOW - 20, NOW - 10]


def test_the_end_of_a_sidecar_that_saw_nothing_writes_nothing(opened: Open, tmp_path: Path) -> None:
    with opened():
        pass
    assert recordings(tmp_path) == []


@pytest.mark.parametrize("server", ["mysql-9.7", "mariadb-11.8"], indirect=True)
async def test_the_history_of_a_real_server_is_the_same_after_a_restart(server: PrivateServer, tmp_path: Path) -> None:
    target = from_dsn(server.dsn)
    with StateFile(tmp_path, target.address) as state:
        history = Watched(state, period=0.0)
        sampler = Sampler(target, interval=0.001, statement_seconds=DEADLINE, keep=history)
        for _ in range(4):
            await sampler.collect()
            history.wait()
        await sampler.close()
    with StateFile(tmp_path, target.address) as state:
        past = StoredHistory(state).take_past()
    assert len(past) == 4
    # The sidecar's own count restarts at each start.
    assert [snapshot.with_section(PARALLEL_READERS, None) for snapshot in past] == [
        snapshot.with_section(PARALLEL_READERS, None) for snapshot in sampler.history
    ]


def test_each_recording_can_be_read_alone(opened: Open, tmp_path: Path) -> None:
    with opened() as history:
        history.session(SERVER, "a@b")
        history.answer(answer("variables", ["Variable_name", "Value"], ("innodb_old_blocks_pct", "37")))
        history.keep(NOW - 30, NOW - 20, session=False)
        history.answer(Answer("variables", NOW, 0.0, (), "deadline", "too slow"))
        history.keep(NOW - 10, NOW, session=False)
    snapshots = []
    for number, recording in enumerate(recordings(tmp_path)):
        path = tmp_path / f"{number}.jsonl.gz"
        path.write_bytes(recording)
        [snapshot] = replay(path)
        snapshots.append(snapshot)
    assert [snapshot.setting("innodb_old_blocks_pct") for snapshot in snapshots] == ["37", "37", None, None]
    failures = [snapshot.outcomes["variables"].failure for snapshot in snapshots]
    assert failures == [None, None, "deadline", "deadline"]


def test_a_new_session_forgets_the_one_before(opened: Open) -> None:
    with opened() as history:
        history.session(SERVER, "a@b")
        history.answer(answer("variables", ["Variable_name", "Value"], ("innodb_old_blocks_pct", "37")))
        history.keep(NOW - 20, session=False)
        history.keep(NOW - 10)
    with opened() as history:
        assert [snapshot[VARIABLES] is None for snapshot in history.take_past()] == [False, True]


def test_parallel_reads_are_counted_on_from_recording_to_recording_and_from_sidecar_to_sidecar(opened: Open) -> None:
    for life in (0, 1):
        with opened() as history:
            history.session(SERVER, "a@b")
            for tick in range(4):
                at = NOW - 100 + 40 * life + tick
                history.answer(threads(4, at))
                history.keep(at, session=False)
    with opened() as history:
        readers = [snapshot[PARALLEL_READERS] for snapshot in history.take_past()]
    seconds = [-24.0, -20.0, -16.0, -12.0, -12.0, -8.0, -4.0, 0.0]
    assert [section and section.thread_seconds for section in readers] == seconds
    assert [section and section.reads_observed for section in readers] == [0, 0, 0, 0, 0, 0, 0, 0]


def test_statements_of_clients_are_not_written(opened: Open, tmp_path: Path) -> None:
    with opened() as history:
        history.session(SERVER, "a@b")
        text = "INNODB MONITOR OUTPUT\nUPDATE secret SET a = 1\n--------\nFILE I/O\n--------\nsecret\n"
        history.answer(answer("innodb_status", ["Type", "Name", "Status"], ("InnoDB", "", text)))
        history.keep(NOW, session=False)
    [recording] = recordings(tmp_path)
    assert b"secret" not in gzip.decompress(recording)
    with opened() as history:
        [snapshot] = history.take_past()
    assert snapshot[INNODB_STATUS] is not None


# What is left out


def test_old_recordings_are_deleted(opened: Open, clock: Clock, tmp_path: Path) -> None:
    with opened(seconds=100.0) as history:
        history.keep(NOW - 150, NOW - 90, NOW)
    assert len(recordings(tmp_path)) == 2
    clock.now = NOW + 50
    with opened(seconds=100.0) as history:
        assert history.times() == [NOW]
    assert len(recordings(tmp_path)) == 1
    clock.now = NOW + 5000
    with opened(seconds=100.0) as history:
        assert history.times() == []
    assert recordings(tmp_path) == []


def test_the_history_does_not_grow_beyond_its_bound(opened: Open, tmp_path: Path) -> None:
    with opened() as history:
        history.keep(*(NOW + n for n in range(20)))
        one = history.bytes / 20
    with opened(largest=round(one * 7.5)) as history:
        history.keep(NOW + 21, NOW + 22)
        held = sum(map(len, recordings(tmp_path)))
        assert held == history.bytes
    assert one * 5 < held <= one * 7.5


def test_snapshots_before_the_clock_was_set_back_are_left_out(opened: Open) -> None:
    with opened() as history:
        history.keep(NOW - 20, NOW - 10, NOW - 100, NOW - 90)
    with opened() as history:
        assert history.times() == [NOW - 100, NOW - 90]


def test_snapshots_of_the_future_are_left_out(opened: Open) -> None:
    with opened() as history:
        history.keep(NOW - 10, NOW + 1000)
    with opened() as history:
        assert history.times() == [NOW - 10]


# Damage


def flipped(recording: bytes) -> bytes:
    return recording[:40] + bytes([recording[40] ^ 1]) + recording[41:]


@pytest.mark.parametrize(
    "damage",
    [
        lambda recording: recording[:-30],
        lambda _: b"",
        lambda _: "no recording",
        flipped,
        lambda recording: gzip.compress(gzip.decompress(recording).replace(b'"recording":1', b'"recording":0', 1)),
    ],
    ids=["truncated", "empty", "a text", "a bit that fell over", "a former format"],
)
def test_a_damaged_recording_is_left_out_and_the_others_are_read(
    opened: Open, tmp_path: Path, damage: Callable[[bytes], object], caplog: pytest.LogCaptureFixture
) -> None:
    with opened() as history:
        history.keep(NOW - 30, NOW - 20, NOW - 10)
    replace_recording(tmp_path, 2, damage(recordings(tmp_path)[1]))
    with opened() as history:
        assert history.times() == [NOW - 30, NOW - 10]
        assert history.damaged == 1
    assert "a part of the stored history is left out" in caplog.text
    with opened() as history:
        assert history.damaged == 0


@pytest.mark.parametrize("bound", ["of a line", "of all"])
def test_a_history_that_takes_too_much_memory_begins_anew(
    opened: Open, tmp_path: Path, bound: str, caplog: pytest.LogCaptureFixture
) -> None:
    with opened() as history:
        history.keep(NOW - 30, NOW - 20)
    if bound == "of a line":
        replace_recording(tmp_path, 2, gzip.compress(bytes(20 << 20), 1))
    with opened(memory=None if bound == "of a line" else 10) as history:
        assert history.times() == []
        history.keep(NOW)
    assert "the stored history takes too much memory and begins anew" in caplog.text
    with opened() as history:
        assert history.times() == [NOW]
        assert history.damaged == 0


def test_a_damaged_file_counts_as_damage(opened: Open, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    state_file.path_of(tmp_path / "state", ADDRESS).write_text("no database" * 100)
    with opened() as history:
        assert history.damaged == 1


def test_a_folder_that_cannot_be_made_is_counted_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with StateFile(tmp_path / "file" / "state", ADDRESS) as state:
        history = Watched(state, period=0.0)
        assert history.take_past() == ()
        history.keep(NOW, NOW + 10)
        assert history.failures == 3
        assert history.written_at is None


def test_a_full_disk_is_counted_and_the_history_goes_on_once_there_is_room(opened: Open) -> None:
    with opened() as history:
        history.keep(NOW - 30)
        history._state.run(lambda connection: connection.execute("PRAGMA max_page_count = 1"))  # noqa: SLF001
        history.answer(answer("variables", ["Variable_name", "Value"], *((str(n), str(hash(n))) for n in range(9999))))
        history.keep(NOW - 20, session=False)
        assert history.failures == 1
        history.answer(answer("variables", ["Variable_name", "Value"]))
        history.keep(NOW - 10, session=False)
        assert history.failures == 1
    with opened() as history:
        assert history.times() == [NOW - 30, NOW - 10]


def test_collections_go_on_while_the_folder_does_not_answer(opened: Open) -> None:
    go_on = threading.Event()
    with opened() as history:
        hanging = history._state.submit(lambda _: go_on.wait(DEADLINE))  # noqa: SLF001 - the disk of the test
        history.session(SERVER, "a@b")
        for number in range(50):
            history.answer(uptime(number))
            history.collection(NOW - 50 + number)
        assert history.written_at is None
        assert history.failures > 0
        go_on.set()
        assert hanging.result(DEADLINE)
        history.wait()
        assert history.written_at is not None


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
