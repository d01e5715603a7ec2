"""A recording is a source as a server is: what it saw last is what it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from advisor.observe.source import Replay, window
from exporter.connection.errors import ServerError
from exporter.connection.target import Target
from exporter.recording.file import Recorder, RecordingError
from exporter.sampling.sampler import Sampler
from tests.advisor.building import capture


async def test_a_recording_shows_its_end() -> None:
    source = Replay(capture("mysql-9.7/idle"))
    assert source.latest is source.history[-1]
    assert await source.collect() is source.latest
    await source.run()
    seen = window(source, float("inf"))
    assert seen is not None
    assert len(seen.snapshots) == len(source.history) > 2


def test_only_as_much_of_a_recording_is_used_as_asked_for() -> None:
    seen = window(Replay(capture("mysql-9.7/idle")), 2.5)
    assert seen is not None
    assert 0 < seen.seconds <= 2.5


def test_a_recording_without_a_collection_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    Recorder(path).close()
    with pytest.raises(RecordingError, match=r"empty\.jsonl holds no complete collection"):
        Replay(path)


async def test_a_server_that_cannot_be_reached_has_no_window() -> None:
    source = Sampler(Target(host="127.0.0.1", port=1))
    with pytest.raises(ServerError):
        await source.collect()
    assert window(source, float("inf")) is None
    await source.close()
