"""The fleet, read again and again: the last report, and since when there is no newer one."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from advisor.contract.fleet import FleetReport
from advisor.fleet.client import QueryError, QueryOutcome
from advisor.fleet.progress import Progress, ReadingStage

log = logging.getLogger(__name__)

RETRY_SECONDS = 30.0
"""Until the next reading after one that failed; a reading of a Prometheus that is away costs one request."""

Read = Callable[[Progress], Awaitable[FleetReport]]


@dataclass(frozen=True, slots=True)
class ReadingProblem:
    """Why there is no new report.

    Attributes:
        reason: For people.
        since: When the first of the readings that failed began, Unix seconds.
    """

    reason: str
    since: float


class FleetWatch:
    """Reads at an interval. A reading that takes longer than the interval delays the next one.

    Attributes:
        every: Seconds from the beginning of a reading to that of the next.
        report: The last one; None before the first.
        read_at: When the last report was finished, Unix seconds; None before the first.
        problem: Why the last reading failed; None if it did not.
        queries: Queries of all readings by outcome.
        seconds: Wall time of the last finished reading by stage.
        failures: Readings that failed.
        readings: Readings that made a report.
    """

    def __init__(
        self,
        read: Read,
        every: float,
        *,
        retry: float = RETRY_SECONDS,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Nothing is read before ``run``.

        Args:
            read: Reads the fleet once.
            every: Seconds from the beginning of a reading to that of the next.
            retry: Seconds after a reading that failed, if that is less than ``every``.
            clock: Unix seconds.
            ticks: Seconds, monotonic.
            pause: Waits for so many seconds.
        """
        self._read, self.every, self._retry = read, every, min(retry, every)
        self.now, self._ticks, self._pause = clock, ticks, pause
        self.report: FleetReport | None = None
        self.read_at: float | None = None
        self.problem: ReadingProblem | None = None
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
        if self.problem is None:
            return ""
        since = datetime.fromtimestamp(self.problem.since, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return f"no new report since {since}: {self.problem.reason}"

    async def run(self) -> None:
        """Read until cancelled."""
        while True:
            began = self._ticks()
            went_well = await self.look()
            seconds = self.every if went_well else self._retry
            await self._pause(max(0.0, seconds - (self._ticks() - began)))

    async def look(self) -> bool:
        """Read once, and return whether there is a new report."""
        progress, began = Progress(), self.now()
        try:
            report = await self._read(progress)
        except Exception as error:  # noqa: BLE001 - whatever it is, the last report stays, and the next reading may go well
            self._failed(error, began)
            return False
        finally:
            self.queries.update(progress.queries)
        if self.problem is not None:
            log.info("the fleet is read again, after %.0f s", self.now() - self.problem.since)
        self.report, self.read_at, self.problem = report, self.now(), None
        self.seconds = dict(progress.seconds)
        self.readings += 1
        return True

    def _failed(self, error: Exception, began: float) -> None:
        self.failures += 1
        expected = isinstance(error, QueryError)
        reason = str(error) if expected else "an unexpected error; the log has the details"
        if self.problem is None or self.problem.reason != reason:
            log.warning("cannot read the fleet: %s", reason, exc_info=None if expected else error)
        self.problem = ReadingProblem(reason, began if self.problem is None else self.problem.since)
