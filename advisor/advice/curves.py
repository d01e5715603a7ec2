"""Miss curves that are kept: worked out in a thread, one at a time, when somebody asks and when they are due."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from advisor.advice.apart import Apart, in_thread
from advisor.advice.turns import Turn, Turns
from advisor.observe.window import Window
from advisor.pool.curve import TIMES, Curve
from advisor.pool.errors import Unanswerable
from advisor.pool.estimate import curve
from exporter.snapshot import Snapshot

log = logging.getLogger(__name__)

CURVE_SECONDS = 30.0
"""Limit for a curve, in seconds of a core: a dozen tables beside scans take twelve."""
ENOUGH_SECONDS = 300.0
"""Length of the window from which on a curve is worked out without being asked for."""
REST_SECONDS = 3600.0
"""Least time between two curves that nobody asked for, once the window has its whole length."""
_SHARE = 0.75 / 3600.0
"""Part of a core that they take at most: a curve that takes longer than that many seconds rests longer than an hour."""
_WHOLE = 0.95
"""Share of the longest window from which on it has its whole length: its snapshots are some seconds apart."""
_GROWN = 4.0
"""A window that is so many times as long as the last curve's has a new one, whatever the age of that one."""
FRESH_SECONDS = 300.0
"""A curve of this age is the answer to a request, too."""
_FAILED_SECONDS = 10.0
"""So is a failure of this age: what was lacking may be there now. Where it was time, it would take as much again."""
_WINDOWS = 3
"""Windows of other lengths whose curves are kept."""


Estimate = Callable[[Sequence[Snapshot], float, Sequence[float], Callable[[], None]], Curve]
"""``advisor.pool.estimate.curve``."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """A curve, or why there is none.

    Attributes:
        found: The curve or the reason.
        at: Time of the newest snapshot, Unix seconds.
        seconds: Length of the window.
        made: By the monotonic clock.
    """

    found: Curve | Unanswerable
    at: float
    seconds: float
    made: float

    @property
    def curve(self) -> Curve:
        if isinstance(self.found, Unanswerable):
            raise Unanswerable(self.found.lacks, str(self.found))
        return self.found


class Curves:
    """The last miss curves of a server.

    A restart or a change of settings ends the window: then what is kept is forgotten.
    """

    def __init__(
        self,
        longest: float,
        turns: Turns,
        questions: asyncio.Lock,
        *,
        estimate: Estimate = curve,
        seconds: float = CURVE_SECONDS,
        apart: Apart = in_thread,
        remember: Callable[[Window, Curve | None], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        core: Callable[[], float] = time.thread_time,
    ) -> None:
        """Nothing is kept yet.

        Args:
            longest: Seconds of the window at most.
            turns: What a curve that nobody asked for yields to.
            questions: Held by the model that somebody waits for.
            estimate: Works a curve out.
            seconds: Limit for a curve, in seconds of a core.
            apart: Where curves are worked out.
            remember: As in ``Service``.
            clock: Seconds, monotonic.
            core: Seconds of the core that a thread took.
        """
        self._longest, self._turns, self._questions = longest, turns, questions
        self._estimate, self._seconds, self._clock, self._core = estimate, seconds, clock, core
        self._apart, self._remember = apart, remember
        self._kept: dict[float, _Answer] = {}  # by length of the window
        self._busy = asyncio.Lock()
        self._turn = Turn(turns)
        self._task: asyncio.Task[None] | None = None
        self._rests_until = 0.0
        self._seen: float | None = None  # time of the newest snapshot

    def kept(self, window: Window) -> Curve | None:
        """The last curve of the whole window; None where there is none of this server and these settings."""
        self.look(window)
        answer = self._kept.get(self._longest)
        return answer.found if answer and isinstance(answer.found, Curve) else None

    def keep(self, window: Window, history: Sequence[Snapshot]) -> None:
        """Begin to work the curve out, if that is due."""
        self.look(window)
        if (self._task is None or self._task.done()) and self._is_due(window):
            self._task = asyncio.create_task(self._unasked(window, tuple(history)))

    async def wait(self) -> None:
        """Wait for the curve under way that nobody asked for."""
        if self._task is not None:
            await self._task

    async def asked(self, window: Window, history: Sequence[Snapshot], longest: float) -> Curve:
        """The curve of a window of this length, at most ``FRESH_SECONDS`` old.

        Raises:
            Unanswerable: There is none.
        """
        async with self._busy:
            answer = self._kept.get(longest)
            if answer is None or not self._is_fresh(answer, window, longest):
                async with self._questions:
                    with self._turns.first():
                        answer = await self._work(window, tuple(history), longest, asked=True)
            return answer.curve

    def call_off(self) -> None:
        """Forget what is kept, and end what is under way."""
        self._turn.call_off()
        self._turn = Turn(self._turns)
        self._kept.clear()
        self._rests_until = 0.0

    def look(self, window: Window) -> None:
        """Forget what is kept if it is of another server, or of other settings, than this whole window."""
        if self._seen is not None and not window.snapshots[0].at <= self._seen <= window.latest.at:
            self.call_off()
        self._seen = window.latest.at

    def _is_due(self, window: Window) -> bool:
        """The window is long enough, and the last curve is old, or of a much shorter window."""
        if window.seconds < min(ENOUGH_SECONDS, _WHOLE * self._longest):
            return False
        before = self._kept.get(self._longest)
        grown = before is not None and _outgrown(before, window, self._longest)
        return grown or self._clock() >= self._rests_until

    def _is_fresh(self, answer: _Answer, window: Window, longest: float) -> bool:
        failed = isinstance(answer.found, Unanswerable) and answer.found.lacks != "time"
        age = _FAILED_SECONDS if failed else FRESH_SECONDS
        young = self._clock() - answer.made < age and not _outgrown(answer, window, longest)
        return young or answer.at == window.latest.at

    async def _unasked(self, window: Window, history: Sequence[Snapshot]) -> None:
        self._rests_until = self._clock() + REST_SECONDS  # also if it fails
        try:
            async with self._busy:
                await self._work(window, history, self._longest, asked=False)
        except Exception:  # the next one may go well
            log.exception("no miss curve")

    async def _work(self, window: Window, history: Sequence[Snapshot], longest: float, *, asked: bool) -> _Answer:
        turn = self._turn

        def work() -> tuple[Curve | Unanswerable, float]:
            began = self._core()

            def check_time() -> None:
                turn.pause(wait=not asked)
                if self._core() - began > self._seconds:
                    raise Unanswerable("time", f"it takes more than {self._seconds:g} s of a core")

            found: Curve | Unanswerable
            try:
                found = self._estimate(history, longest, TIMES, check_time)
            except Unanswerable as error:
                found = Unanswerable(error.lacks, str(error))  # without its frames, which would be kept with it
            return found, self._core() - began

        found, spent = await self._apart(work)
        answer = _Answer(found, window.latest.at, window.seconds, self._clock())
        if turn is self._turn:
            self._kept[longest] = answer
            for old in [each for each in self._kept if each != self._longest][:-_WINDOWS]:
                del self._kept[old]
            if longest == self._longest:
                self._rests_until = self._clock() + max(REST_SECONDS, spent / _SHARE)
                if self._remember is not None:
                    await asyncio.to_thread(self._remember, window, found if isinstance(found, Curve) else None)
        return answer


def _outgrown(answer: _Answer, window: Window, longest: float) -> bool:
    """Whether a window of this length at most is much longer than the one of an answer."""
    return answer.seconds < min(_GROWN * answer.seconds, _WHOLE * longest) <= window.seconds
