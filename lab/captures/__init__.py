"""The fixtures of tests/captures: answers of real servers to the sidecar, under known workloads."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

from exporter.recording.file import replay
from exporter.snapshot import Snapshot
from lab.packages.cache import REPOSITORY

CAPTURES = REPOSITORY / "tests" / "captures"
GOLDEN = REPOSITORY / "tests" / "golden"


@dataclass(frozen=True, order=True, slots=True)
class Capture:
    """The files of one scenario's capture from one server; ``str()`` gives its name on the command line."""

    server: str
    scenario: str

    def __str__(self) -> str:
        return f"{self.server}/{self.scenario}"

    @property
    def recording(self) -> Path:
        """The server's answers, in the format of exporter.recording.file."""
        return CAPTURES / self.server / self.scenario / "recording.jsonl.gz"

    @property
    def note(self) -> Path:
        """Its origin."""
        return self.recording.with_name("note.yaml")

    @property
    def golden(self) -> Path:
        """The whole /metrics text of its last snapshot and of the advice on it, if lab.captures.golden chose it."""
        return GOLDEN / self.server / f"{self.scenario}.prom"


def all_captures() -> list[Capture]:
    """The existing captures."""
    return sorted(
        Capture(path.parent.parent.name, path.parent.name) for path in CAPTURES.glob("*/*/recording.jsonl.gz")
    )


@functools.cache
def history(capture: Capture) -> tuple[Snapshot, ...]:
    """Its snapshots, replayed once a process.

    Raises:
        exporter.recording.file.RecordingError: It cannot be read.
    """
    return tuple(replay(capture.recording))
