"""The fixtures of tests/captures: what real servers answered to the sidecar under workloads made for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lab.packages.cache import REPOSITORY

CAPTURES = REPOSITORY / "tests" / "captures"
GOLDEN = REPOSITORY / "tests" / "golden"


@dataclass(frozen=True, order=True, slots=True)
class Capture:
    """Where a scenario's capture from one server is kept; ``str()`` names it as the command line does."""

    server: str
    scenario: str

    def __str__(self) -> str:
        return f"{self.server}/{self.scenario}"

    @property
    def recording(self) -> Path:
        """What the server answered, as exporter.recording.file reads it."""
        return CAPTURES / self.server / self.scenario / "recording.jsonl.gz"

    @property
    def note(self) -> Path:
        """Where it came from."""
        return self.recording.with_name("note.yaml")

    @property
    def golden(self) -> Path:
        """The whole /metrics text of its last snapshot."""
        return GOLDEN / self.server / f"{self.scenario}.prom"


def kept() -> list[Capture]:
    """The captures that are there."""
    return sorted(
        Capture(path.parent.parent.name, path.parent.name) for path in CAPTURES.glob("*/*/recording.jsonl.gz")
    )
