"""Where snapshots come from: a server that is watched, or a recording."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from advisor.observe.window import Window
from exporter.collectors.base import Collector
from exporter.connection.errors import ServerError
from exporter.recording.file import RecordingError, Replayer, TruncatedRecording
from exporter.sampling.assembly import Answer
from exporter.snapshot import Snapshot

log = logging.getLogger(__name__)


class SnapshotSource(Protocol):
    """What serving and advising need; exporter.sampling.sampler.Sampler is one."""

    @property
    def history(self) -> Sequence[Snapshot]:
        """Snapshots, oldest first."""

    @property
    def latest(self) -> Snapshot | None:
        """The newest snapshot; None while the server cannot be reached."""

    @property
    def problem(self) -> ServerError | None:
        """Why it cannot be reached."""

    @property
    def interval(self) -> float | None:
        """Seconds between two collections; None for a recording."""

    async def collect(self, max_age: float = 0.0) -> Snapshot:
        """A snapshot at most ``max_age`` seconds old. Raises ServerError."""

    async def glance(self, max_age: float = 0.0) -> Snapshot:
        """For a scrape: quick sources at most ``max_age`` seconds old, the others as last read. Raises ServerError."""

    async def ask(self, collector: Collector[Any]) -> Answer:
        """Run a collector once, apart from the collections; nobody keeps the answer. Raises ServerError."""

    async def run(self) -> None:
        """Collect until cancelled."""


class Replay:
    """A recording, seen from its end.

    Attributes:
        name: The file's name.
        ledger: The entries of the ledger that it carries, as JSON values; None where it carries none.
    """

    problem: ServerError | None = None
    interval: float | None = None

    def __init__(self, path: Path) -> None:
        """Read the file. Of a truncated one all complete collections are taken, and the log says so.

        Raises:
            RecordingError: It cannot be used, or holds no complete collection.
        """
        self.name = path.name
        replayer = Replayer()
        history: list[Snapshot] = []
        try:
            history.extend(replayer.read(path))
        except TruncatedRecording as error:
            if not history:
                raise
            log.warning("%s; the collections before that are taken: %d", error, len(history))
        if not history:
            raise RecordingError(f"{path} holds no complete collection")
        self.history: Sequence[Snapshot] = history
        self.ledger = replayer.ledger

    @property
    def latest(self) -> Snapshot | None:
        """The last snapshot."""
        return self.history[-1]

    async def collect(self, max_age: float = 0.0) -> Snapshot:  # noqa: ARG002 - a recording has no newer snapshot
        """The last snapshot."""
        return self.history[-1]

    async def glance(self, max_age: float = 0.0) -> Snapshot:
        """The last snapshot."""
        return await self.collect(max_age)

    async def ask(self, collector: Collector[Any]) -> Answer:
        """A failure: what nobody keeps is in no recording."""
        at = self.history[-1].at
        return Answer(collector.name, at, failure="absent", reason="a recording has no statements of its tables")

    async def run(self) -> None:
        """Return: nothing happens after the end of a recording."""


def window(source: SnapshotSource, longest_seconds: float) -> Window | None:
    """The newest part of a source's history; None before the first collection and while no server answers."""
    return None if source.latest is None else Window.of(source.history, longest_seconds)
