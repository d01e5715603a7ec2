"""How a reading of the fleet goes: its stages, and how its queries ended."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterator
from enum import StrEnum


class ReadingStage(StrEnum):
    """The parts of a reading, in order."""

    INVENTORY = "inventory"
    VERDICTS = "verdicts"
    WINDOWS = "windows"
    TABLES = "tables"
    RULES = "rules"
    MODELS = "models"
    CAPACITY = "capacity"
    ASSEMBLY = "assembly"


class QueryOutcome(StrEnum):
    """How a query ended."""

    ANSWERED = "answered"
    INCOMPLETE = "incomplete"
    """Answered with warnings, or in part."""
    LIMIT = "limit"
    """A limit was hit; it is asked again for fewer servers."""
    REFUSED = "refused"
    UNREACHABLE = "unreachable"


class Progress:
    """Told by a reading while it runs; one for each reading.

    Attributes:
        seconds: Wall time by stage, added up where a stage comes in several parts.
        queries: Queries by outcome. One that is asked again counts again.
    """

    def __init__(
        self,
        tell: Callable[[ReadingStage, int, int], None] = lambda *_: None,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing has begun.

        Args:
            tell: Gets the stage, and how many of how many servers it is done with; of 0 where that is not known.
            ticks: Seconds, monotonic.
        """
        self.seconds: dict[ReadingStage, float] = {}
        self.queries: Counter[QueryOutcome] = Counter()
        self._tell, self._ticks = tell, ticks

    @contextlib.contextmanager
    def during(self, stage: ReadingStage) -> Iterator[None]:
        """Time a part of a stage."""
        self._tell(stage, 0, 0)
        began = self._ticks()
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + self._ticks() - began

    def done(self, stage: ReadingStage, servers: int, of: int) -> None:
        """So many servers of all are through a stage."""
        self._tell(stage, servers, of)

    def asked(self, outcome: QueryOutcome) -> None:
        """A query ended."""
        self.queries[outcome] += 1
