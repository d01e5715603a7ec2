"""How a reading of the fleet goes: its stages, and how its queries end."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from advisor.fleet.client import QueryOutcome

ReadingStage = Literal["inventory", "verdicts", "windows", "tables", "rules", "models", "capacity", "assembly"]
"""The parts of a reading, in order."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of one reading.

    Attributes:
        show: Gets the stage, and how many of how many servers are through it; 0 of 0 where unknown.
        seconds: Wall time by stage, added up where a stage comes in several parts.
        queries: Queries by outcome. One that is asked again counts again.
    """

    show: Callable[[ReadingStage, int, int], None] = lambda *_: None
    seconds: dict[ReadingStage, float] = field(default_factory=dict)
    queries: Counter[QueryOutcome] = field(default_factory=Counter)

    @contextlib.contextmanager
    def during(self, stage: ReadingStage) -> Iterator[None]:
        """Time a part of a stage."""
        self.show(stage, 0, 0)
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.monotonic() - began
