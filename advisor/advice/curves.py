"""Miss curves: computed on request, and by itself once an hour."""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from advisor.advice.model_worker import ModelWorker
from advisor.observe.source import SnapshotSource
from advisor.observe.window import Window
from advisor.pool.curve import TIMES, MissCurve
from advisor.pool.errors import Unanswerable
from advisor.pool.estimate import curve
from advisor.pool.hours import StoredHours
from exporter.refreshed import Refreshed
from exporter.snapshot import Snapshot

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CurveSchedule:
    """When a miss curve is computed.

    Attributes:
        limit: Seconds of a core for a curve: a dozen tables beside scans take twelve.
        enough: Seconds of the window from which on the curve is computed without a request.
        rest: Seconds between two curves without a request, once the window has its whole length.
        share: Part of a core that they take at most: a curve of more than 0.75 s rests longer than an hour.
        whole: Share of the longest window from which on it has its whole length: its snapshots are seconds apart.
        grown: A window that is so many times as long as the last curve's has a new one, whatever the age of that one.
        fresh: A curve that is younger, in seconds, is the answer to a request.
        failed: So is a failure: what was lacking may be there now. Where it was time, it would take as much again.
    """

    limit: float = 30.0
    enough: float = 300.0
    rest: float = 3600.0
    share: float = 0.75 / 3600.0
    whole: float = 0.95
    grown: float = 4.0
    fresh: float = 300.0
    failed: float = 10.0

    def rest_after(self, seconds: float) -> float:
        """Seconds to rest after a curve that took so many seconds of a core."""
        return max(self.rest, seconds / self.share)

    def outgrown(self, answer: CurveAnswer, window: Window, longest: float) -> bool:
        """Whether a window of this length at most is much longer than the one of a curve."""
        return answer.seconds < min(self.grown * answer.seconds, self.whole * longest) <= window.seconds

    def max_age(self, answer: CurveAnswer) -> float:
        """Seconds for which it answers requests."""
        return self.failed if answer.lack is not None and answer.lack.lacks != "time" else self.fresh


SCHEDULE = CurveSchedule()
LENGTHS = 4
"""Windows of different lengths whose last curves stay."""


@dataclass(frozen=True, slots=True)
class CurveAnswer:
    """A curve, or what it lacks.

    Attributes:
        curve: None where the model has no answer.
        lack: Why it has none.
        at: Time of the newest snapshot, Unix seconds.
        seconds: Length of the window.
    """

    curve: MissCurve | None
    lack: Unanswerable | None
    at: float
    seconds: float

    def is_within(self, window: Window) -> bool:
        """Whether it is of this server and these settings: the window goes back to it."""
        return window.snapshots[0].at <= self.at <= window.latest.at


class Curves:
    """The last miss curves of a server. A restart or a change of settings outdates them.

    Attributes:
        whole: The answer for the whole window.
    """

    def __init__(
        self,
        source: SnapshotSource,
        worker: ModelWorker,
        longest: float,
        hours: StoredHours | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin without a curve.

        Args:
            source: The server, or a recording.
            worker: Computes curves.
            longest: Seconds of the window at most.
            hours: Remembers the curve of each hour.
            clock: Seconds, monotonic.
        """
        self._source, self._worker, self._longest, self._hours = source, worker, longest, hours
        self._clock = clock
        self.whole = self._refreshed(longest)
        self._others = functools.lru_cache(LENGTHS - 1)(self._refreshed)

    def last(self, window: Window) -> MissCurve | None:
        """The last curve of the whole window; None before the first of this server with these settings."""
        answer = self.whole.value
        return answer.curve if answer is not None and answer.is_within(window) else None

    def begin(self, window: Window) -> None:
        """Begin to compute the curve of the whole window, if that is due."""
        if not self.whole.under_way and self._is_due(window):
            self.whole.begin()

    async def asked(self, window: Window, longest: float) -> MissCurve:
        """The curve of a window of this length.

        Raises:
            Unanswerable: The model has no answer.
        """
        refreshed = self.whole if longest == self._longest else self._others(longest)
        answer = refreshed.value
        if answer is None or not self._is_fresh(answer, refreshed.age, window, longest):
            answer = await refreshed.get()
        if answer.curve is None:
            raise answer.lack or Unanswerable("model", "there is none")
        return answer.curve

    def _refreshed(self, longest: float) -> Refreshed[CurveAnswer]:
        refreshed: Refreshed[CurveAnswer] = Refreshed(
            lambda: self._compute(longest, background=refreshed.unasked),
            rest=SCHEDULE.rest_after,
            clock=self._clock,
        )
        return refreshed

    def _is_due(self, window: Window) -> bool:
        """The window is long enough, and the last curve is old, or of another server or a much shorter window."""
        if window.seconds < min(SCHEDULE.enough, SCHEDULE.whole * self._longest):
            return False
        answer = self.whole.value
        if answer is None or not answer.is_within(window):
            return True
        return self.whole.rested or SCHEDULE.outgrown(answer, window, self._longest)

    def _is_fresh(self, answer: CurveAnswer, age: float, window: Window, longest: float) -> bool:
        if not answer.is_within(window):
            return False
        young = age < SCHEDULE.max_age(answer) and not SCHEDULE.outgrown(answer, window, longest)
        return young or answer.at == window.latest.at

    async def _compute(self, longest: float, *, background: bool) -> CurveAnswer:
        history = tuple(self._source.history)
        window = Window.of(history, longest)
        miss_curve: MissCurve | None = None
        lack: Unanswerable | None = None
        try:
            miss_curve = await self._worker.ask(lambda _: _estimated(history, longest), background=background)
        except Unanswerable as error:
            lack = Unanswerable(error.lacks, str(error))  # without its frames, which would stay with it
        except Exception:  # the next one may succeed
            log.exception("no miss curve")
            lack = Unanswerable("model", "the model failed")
        if longest == self._longest and self._hours is not None:
            await asyncio.to_thread(self._hours.remember, window, miss_curve)
        return CurveAnswer(miss_curve, lack, window.latest.at, window.seconds)


def _estimated(history: Sequence[Snapshot], longest: float) -> MissCurve:
    """The curve, within its limit."""
    until = time.process_time() + SCHEDULE.limit

    def check_time() -> None:
        if time.process_time() > until:
            raise Unanswerable("time", f"it takes more than {SCHEDULE.limit:g} s of a core")

    return curve(history, longest, TIMES, check_time)
