import asyncio
import gzip
import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exporter.collectors import COLLECTORS
from exporter.collectors.status import STATUS
from exporter.connection.target import from_dsn
from exporter.recording.file import Recorder, RecordingError, replay
from exporter.rows import Rows
from exporter.sampling.assembly import Answer
from exporter.sampling.sampler import Sampler
from exporter.server import identify
from exporter.snapshot import Snapshot
from lab.harness import workloads
from lab.servers import PrivateServer
from tests.waiting import DEADLINE

SERVER = identify({"version": "9.7.4", "version_comment": "x", "performance_schema": "ON"})
ANSWER = Answer("status", 1000.5, 0.25, (Rows.of(["Variable_name", "Value"], [["Uptime", "7"], ["Innodb_é", "日"]]),))
FAILED = Answer("pools", 1000.75, 0.5, (), "privilege", "denied", "GRANT PROCESS ON *.* TO 'a'@'b'")


@pytest.fixture(params=["recording.jsonl", "recording.jsonl.gz"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    file: Path = tmp_path / request.param
    return file


def content(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def put(path: Path, text: bytes) -> Path:
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def record(path: Path) -> None:
    with Recorder(path) as recorder:
        recorder.session(SERVER, "watcher@%")
        for at in (1001.0, 1002.0):
            recorder.answer(ANSWER)
            recorder.answer(FAILED)
            recorder.collection(at)


# Round trips


async def test_what_was_seen_of_a_real_server_is_replayed(
    server: PrivateServer, watch: Callable[..., Sampler], path: Path
) -> None:
    with Recorder(path) as recorder:
        sampler = watch(server, keep=recorder, interval=0.001)
        with server.connect() as connection:
            workloads.make_table(connection, "recorded", 100, indexes=1)
            for _ in range(3):
                await sampler.collect()
                workloads.scan(connection, "recorded")
                workloads.count(connection, "recorded")
        await sampler.close()
    replayed = list(replay(path))
    assert len(replayed) == 3
    assert replayed == list(sampler.history)
    assert [name for name, outcome in replayed[-1].outcomes.items() if outcome.failure not in (None, "absent")] == []


def test_every_field_of_an_answer_survives(path: Path) -> None:
    record(path)
    first, second = replay(path)
    assert (first.at, second.at) == (1001.0, 1002.0)
    assert (first.server, first.account) == (SERVER, "watcher@%")
    assert first[STATUS] == {"uptime": 7.0}
    assert first.outcomes["status"].at == 1000.5
    assert first.outcomes["status"].seconds == 0.25
    pools = first.outcomes["pools"]
    assert (pools.failure, pools.reason, pools.cure) == ("privilege", "denied", "GRANT PROCESS ON *.* TO 'a'@'b'")
    assert second.outcomes == first.outcomes
    assert second[STATUS] is first[STATUS]  # what did not change is kept once


def test_an_answer_like_the_last_is_written_once(path: Path) -> None:
    record(path)
    written = [json.loads(line) for line in content(path).splitlines()]
    assert [line.get("same") for line in written if line.get("answer") == "status"] == [None, True]


def test_the_same_answers_make_the_same_file(path: Path) -> None:
    record(path)
    before = path.read_bytes()
    record(path)
    assert path.read_bytes() == before


def test_a_recording_without_a_collection_has_no_snapshots(path: Path) -> None:
    with Recorder(path):
        pass
    assert list(replay(path)) == []


def test_a_collector_that_this_version_does_not_have_is_unreadable_and_the_others_are_not(path: Path) -> None:
    with Recorder(path) as recorder:
        recorder.session(SERVER, "a@b")
        recorder.answer(ANSWER)
        recorder.answer(Answer("weather", 1.0, 0.0, (Rows.of(["sky"], [["blue"]]),)))
        recorder.collection(2.0)
    [snapshot] = replay(path)
    assert snapshot.outcomes["weather"].failure == "unreadable"
    assert snapshot[STATUS] == {"uptime": 7.0}


def test_rows_that_do_not_fit_their_collector_are_unreadable(path: Path) -> None:
    with Recorder(path) as recorder:
        recorder.session(SERVER, "a@b")
        for collector in COLLECTORS:
            recorder.answer(Answer(collector.name, 1.0, 0.0, (Rows.of(["a", "b"], [["x", None], [1e400, 2]]),)))
        recorder.collection(2.0)
    [snapshot] = replay(path)
    assert {outcome.failure for name, outcome in snapshot.outcomes.items() if name != "variables"} == {"unreadable"}


# Damage

one = pytest.mark.parametrize("server", ["mysql-9.7"], indirect=True)


@pytest.fixture(scope="module")
def whole(server: PrivateServer, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The text of a recording of a real server."""

    async def make(path: Path) -> None:
        with Recorder(path) as recorder:
            sampler = Sampler(from_dsn(server.dsn), interval=0.001, statement_seconds=DEADLINE, keep=recorder)
            for _ in range(2):
                await sampler.collect()
            await sampler.close()

    path = tmp_path_factory.mktemp("recorded") / "whole.jsonl"
    asyncio.run(make(path))
    return path.read_bytes()


def snapshots_before_the_error(path: Path) -> tuple[list[Snapshot], str]:
    snapshots: list[Snapshot] = []
    with pytest.raises(RecordingError) as refused:  # noqa: PT012
        for snapshot in replay(path):
            snapshots.append(snapshot)  # noqa: PERF402
    return snapshots, str(refused.value)


@one
def test_a_truncated_recording_is_refused_wherever_it_ends(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    lines = whole.splitlines(keepends=True)
    ends = [0]
    for line in lines[:-1]:
        ends.append(ends[-1] + len(line))
    places = {place for end in ends[::4] for place in (end, end + 1, end + 30, end + len(lines[0]) // 2)}
    for place in sorted(place for place in places if place < len(whole) - 1):
        _, reason = snapshots_before_the_error(put(path, whole[:place]))
        assert reason.startswith(str(path)), place
        assert "truncated" in reason or "not a recording" in reason, (place, reason)


def test_an_interruption_while_a_recording_is_closed_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "recording.jsonl.gz"
    record(path)

    def interrupted(content: io.RawIOBase) -> None:
        if not content.closed:
            io.RawIOBase.close(content)
            raise KeyboardInterrupt

    monkeypatch.setattr("exporter.recording.bounds._Content.close", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(replay(path))


@one
def test_a_truncated_gzip_stream_is_refused_wherever_it_ends(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl.gz"
    compressed = gzip.compress(whole, mtime=0)
    for place in [*range(12), *range(12, len(compressed) - 20, 1009), len(compressed) - 20]:
        path.write_bytes(compressed[:place])
        _, reason = snapshots_before_the_error(path)
        assert "truncated" in reason or "not a recording" in reason, (place, reason)


@one
def test_a_missing_line_is_noticed(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    lines = whole.splitlines(keepends=True)
    for number in (1, 2, len(lines) // 2, len(lines) - 2):
        _, reason = snapshots_before_the_error(put(path, b"".join(lines[:number] + lines[number + 1 :])))
        assert "lines are missing" in reason or "damaged recording" in reason, (number, reason)


@one
def test_bits_that_fell_over_in_a_gzip_stream_are_an_error_and_nothing_else(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl.gz"
    compressed = bytearray(gzip.compress(whole, mtime=0))
    chooser = random.Random(1)  # noqa: S311
    for _ in range(60):
        damaged = compressed.copy()
        damaged[chooser.randrange(10, len(damaged) - 8)] ^= 1 << chooser.randrange(8)
        path.write_bytes(damaged)
        try:
            list(replay(path))
        except RecordingError as error:
            assert str(path) in str(error)  # noqa: PT017


@one
def test_collections_before_the_damage_are_read(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    snapshots, _ = snapshots_before_the_error(put(path, whole[: whole.rindex(b'{"end"')]))
    assert len(snapshots) == 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "truncated: it ends after line 0"),
        (b"\n", "not a recording"),
        (b"hello\n", "not a recording"),
        (b"[1, 2]\n", "not a recording"),
        (b"7\n", "not a recording"),
        (b'{"a": 1}\n', "not a recording"),
        (b'{"recording": 2}\n', "recording format 2; this version reads 1"),
        (b'{"recording": null}\n', "recording format None; this version reads 1"),
        (bytes(range(256)), "not a recording"),
        (b"\0" * 1000, "not a recording"),
        (b"\xff\xfe" * 100, "not a recording"),
        (b"[" * 100_000, "not a recording"),
        (b'{"recording": 1}\n{"a": ' + b"1" * 5000 + b"}\n", ":2: damaged recording: not a line of JSON"),
        (b'{"recording": 1}\n', "truncated: it ends after line 1 without its end mark"),
        (b'{"recording": 1}\n{"end": 5}\n', "lines are missing: 5 written, 1 found"),
        (b'{"recording": 1}\n[]\n', ":2: damaged recording: not a line of JSON"),
        (b'{"recording": 1}\n{"answer": "status"}\n', "an answer before any session"),
        (b'{"recording": 1}\n{"server": {}, "account": ""}\n', "not a server version"),
        (b'{"recording": 1}\n{"server": {"version": "9.7.4"}}\n', "KeyError: 'account'"),
        (b'{"recording": 1}\n{"server": 7, "account": ""}\n', "AttributeError"),
    ],
    ids=range(20),
)
def test_a_file_that_is_no_recording_says_so(text: bytes, reason: str, path: Path) -> None:
    _, said = snapshots_before_the_error(put(path, text))
    assert said.startswith(str(path))
    assert reason in said


@pytest.mark.parametrize(
    "line",
    [
        {"answer": "status", "at": "x", "seconds": 0, "results": []},
        {"answer": "status", "at": 10**400, "seconds": 0, "results": []},
        {"answer": "status", "at": 1, "seconds": 0, "same": True},
        {"answer": "status", "at": 1, "seconds": 0, "results": [{"columns": [1], "rows": []}]},
        {"answer": "status", "at": 1, "seconds": 0, "results": 7},
        {"answer": "status", "at": 1, "seconds": 0, "failure": "failed"},
        {"answer": ["status"], "at": 1, "seconds": 0, "results": []},
        {"answer": "status", "at": 1, "seconds": 0},
        {"collection": "soon"},
        {"collection": 10**400},
        {"server": {"version": 9}, "account": "a@b"},
    ],
    ids=range(11),
)
def test_a_damaged_line_is_named(line: dict[str, Any], path: Path) -> None:
    head = [{"recording": 1}, {"server": {"version": "9.7.4"}, "account": "a@b"}]
    text = "".join(json.dumps(part) + "\n" for part in [*head, line, {"end": 3}])
    _, reason = snapshots_before_the_error(put(path, text.encode()))
    assert reason.startswith(f"{path}:3: damaged recording: ")


def test_a_file_that_cannot_be_read_says_why(path: Path) -> None:
    assert "cannot read the recording" in snapshots_before_the_error(path)[1]
    assert "No such file" in snapshots_before_the_error(path)[1]
    path.mkdir()
    assert "Is a directory" in snapshots_before_the_error(path)[1]


def test_a_name_that_does_not_fit_the_content_says_so(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.jsonl", tmp_path / "a.jsonl.gz"
    record(plain)
    record(packed)
    plain_content = plain.read_bytes()
    plain.write_bytes(packed.read_bytes())
    packed.write_bytes(plain_content)
    assert "not a recording" in snapshots_before_the_error(plain)[1]
    assert "is named .gz but is not gzip-compressed" in snapshots_before_the_error(packed)[1]


def test_a_file_that_cannot_be_written_is_the_systems_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Recorder(tmp_path / "none" / "recording.jsonl")


def survives(path: Path) -> None:
    try:
        list(replay(path))
    except RecordingError as error:
        assert str(path) in str(error)  # noqa: PT017


in_one_place = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@in_one_place
@given(st.binary(max_size=300))
def test_no_bytes_are_more_than_a_recording_error(path: Path, text: bytes) -> None:
    path.write_bytes(text)
    survives(path)
    survives(put(path, b'{"recording": 1}\n' + text))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from([collector.name for collector in COLLECTORS] + ["parallel_readers", "other"])
results = st.lists(
    st.fixed_dictionaries(
        {
            "columns": st.lists(st.sampled_from(["name", "value", "status", "picoseconds", "threads"]), max_size=3),
            "rows": st.lists(st.lists(json_values, max_size=3), max_size=3),
        }
    ),
    max_size=4,
)
lines = st.one_of(
    st.fixed_dictionaries({"answer": names, "at": st.floats(), "seconds": st.floats(), "results": results}),
    st.fixed_dictionaries({"answer": json_values, "at": json_values, "seconds": json_values, "same": json_values}),
    st.fixed_dictionaries({"server": json_values, "account": json_values}),
    st.fixed_dictionaries({"collection": json_values}),
    st.dictionaries(st.sampled_from(["server", "account", "answer", "at", "end", "collection"]), json_values),
)


@in_one_place
@given(st.lists(lines, max_size=5))
def test_no_lines_are_more_than_a_recording_error(tmp_path: Path, some: list[dict[str, Any]]) -> None:
    path = tmp_path / "recording.jsonl"
    head = [{"recording": 1}, {"server": {"version": "9.7.4"}, "account": "a@b"}]
    put(path, "".join(json.dumps(line) + "\n" for line in [*head, *some, {"end": len(some) + 2}]).encode())
    survives(path)
