"""Recordings that cases replay, each read once."""

from __future__ import annotations

import functools
from pathlib import Path

from advisor.files.yaml_file import FileError
from advisor.observe.source import Replay
from exporter.recording.file import RecordingError
from exporter.snapshot import Snapshot


@functools.cache
def snapshots(path: Path) -> tuple[Snapshot, ...]:
    """The snapshots of a recording, oldest first; kept, for many cases share a recording and reading it takes long.

    Raises:
        FileError: The recording cannot be used.
    """
    try:
        return tuple(Replay(path).history)
    except RecordingError as error:
        raise FileError(str(error)) from error
