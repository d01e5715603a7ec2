"""The fleet, read again and again: the last report, and since when there is no newer one."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from advisor.contract.fleet import FleetReport
from advisor.fleet.client import QueryError, QueryOutcome
from advisor.fleet.progress import Progress, ReadingStage

log = logging.getLogger(__name__)

RETRY_SECONDS = 30.0
"""Until the next reading after one that failed; a reading of a Prometheus that is away costs one request."""


class FleetWatch:
    """Reads at an interval. A reading that takes longer than the interval delays the next one.

    Attributes:
        every: Seconds from the beginning of a reading to that of the next.
        report: The last one; None before the first.
        problem: Why the last reading failed; None if it did not.
        problem_since: When the first of the readings that failed began, Unix seconds; None without a problem.
        queries: Queries of all readings by outcome.
        seconds: Wall time of the last finished reading by stage.
        failures: Readings that failed.
        readings: Readings that made a report.
    """

    def __init__(
        self,
        read: Callable[[Progress], Awaitable[FleetReport]],
        every: float,
        *,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Nothing is read before ``run``.

        Args:
            read: Reads the fleet once.
            every: Seconds from the beginning of a reading to that of the next.
            clock: Unix seconds.
            ticks: Seconds, monotonic.
            pause: Waits for so many seconds.
        """
        self._read, self.every = read, every
        self.now, self._ticks, self._pause = clock, ticks, pause
        self.report: FleetReport | None = None
        self.problem: str | None = None
        self.problem_since: float | None = None
        self.queries: Counter[QueryOutcome] = Counter()
        self.seconds: dict[ReadingStage, float] = {}
        self.readings = self.failures = 0

    @property
    def age(self) -> float | None:
        """Seconds since the end of the grid that the last report is of."""
        return None if self.report is None else max(0.0, self.now() - self.report.at)

    @property
    def stale(self) -> str:
        """Since when there is no new report, and why, for people; empty while there is."""
        if self.problem_since is None:
            return ""
        since = datetime.fromtimestamp(self.problem_since, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return f"no new report since {since}: {self.problem}"

    async def run(self) -> None:
        """Read until cancelled."""
        while True:
            began = self._ticks()
            succeeded = await self.look()
            seconds = self.every if succeeded else min(RETRY_SECONDS, self.every)
            await self._pause(max(0.0, seconds - (self._ticks() - began)))

    async def look(self) -> bool:
        """Read once, and return whether there is a new report."""
        progress, began = Progress(), self.now()
        try:
            self.report = await self._read(progress)
        except Exception as error:  # noqa: BLE001 - whatever it is, the last report stays, and the next reading may go well
            self._failed(error, began)
            return False
        finally:
            self.queries.update(progress.queries)
        if self.problem_since is not None:
            log.info("the fleet is read again, after %.0f s", self.now() - self.problem_since)
        self.problem = self.problem_since = None
        self.seconds = dict(progress.seconds)
        self.readings += 1
        return True

    def _failed(self, error: Exception, began: float) -> None:
        self.failures += 1
        expected = isinstance(error, QueryError)
        problem = str(error) if expected else "an unexpected error; the log has the details"
        if self.problem != problem:
            log.warning("cannot read the fleet: %s", problem, exc_info=None if expected else error)
        self.problem = problem
        self.problem_since = began if self.problem_since is None else self.problem_since
