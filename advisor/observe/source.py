"""Where snapshots come from: a server that is being watched, or a recording."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from advisor.observe.window import Window
from exporter.recording.file import RecordingError, replay
from exporter.snapshot import Snapshot

if TYPE_CHECKING:
    from exporter.connection.errors import ServerError  # with aiomysql, which a recording needs not


class Source(Protocol):
    """What serves and advises need; exporter.sampling.sampler.Sampler is one."""

    @property
    def history(self) -> Sequence[Snapshot]:
        """Snapshots, oldest first."""

    @property
    def latest(self) -> Snapshot | None:
        """The newest one; None while the server cannot be reached."""

    @property
    def problem(self) -> ServerError | None:
        """Why it cannot be reached."""

    async def collect(self, max_age: float = 0.0) -> Snapshot:
        """One at most ``max_age`` seconds old. Raises ServerError."""

    async def glance(self, max_age: float = 0.0) -> Snapshot:
        """For a scrape: what is quick to ask so old at most, the rest as it was read last. Raises ServerError."""

    async def run(self) -> None:
        """Keep watching until cancelled."""


class Replayed:
    """A recording as it stood at its end."""

    problem: ServerError | None = None

    def __init__(self, path: Path) -> None:
        """Read it.

        Raises:
            RecordingError: It cannot be used, or holds no complete collection.
        """
        self.history: Sequence[Snapshot] = list(replay(path))
        if not self.history:
            raise RecordingError(f"{path} holds no complete collection")

    @property
    def latest(self) -> Snapshot | None:
        """Its last snapshot."""
        return self.history[-1]

    async def collect(self, max_age: float = 0.0) -> Snapshot:  # noqa: ARG002 - time stands still in a recording
        """Its last snapshot."""
        return self.history[-1]

    async def glance(self, max_age: float = 0.0) -> Snapshot:
        """Its last snapshot."""
        return await self.collect(max_age)

    async def run(self) -> None:
        """There is nothing to watch."""


def window(source: Source, longest_seconds: float) -> Window | None:
    """The newest part of what a source has seen; None before the first collection, or while it cannot see."""
    return None if source.latest is None else Window.of(source.history, longest_seconds)
