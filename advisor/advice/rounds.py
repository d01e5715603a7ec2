"""Rounds of evaluations of one length of window: rules without a model first, the others beside them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from advisor.advice.apart import Apart, in_thread
from advisor.advice.assessment import Assessment, assess
from advisor.advice.fits import Fits, Kept
from advisor.advice.judgement import Judgement, Options, judge
from advisor.advice.remembered import Remembered
from advisor.advice.turns import Turn, Turns
from advisor.observe.limits import RECENT_SECONDS
from advisor.observe.window import Window
from advisor.rules.check import Rule
from advisor.rules.rulebook import RuleSet

log = logging.getLogger(__name__)

EVALUATION_SECONDS = 10.0
"""Limit for an evaluation, in seconds of a core; rules that come later are blind, and say so."""
_SHARE, _EARLY_SHARE, _LARGEST_SHARE = 0.0025, 0.01, 0.1
"""Part of a core that the evaluations of a part of the rules take: four times as much in the first RECENT_SECONDS, when
each snapshot still changes advice; and more, up to a tenth, if a rest would be longer than LONGEST_REST."""
LONGEST_REST = 60.0
"""Seconds between two evaluations, as long as they take a tenth of a core at most."""

_FORK_SECONDS = 0.02
"""Seconds of a core that a process takes beside its work: it begins, shares pages, and ends (measured)."""
_AFTER_FAILURE = 0.1
"""Seconds of a core that a failed evaluation counts for."""

Judge = Callable[[Sequence[Rule], Window, Options], Iterator[Judgement]]


def rest_after(seconds: float, watched: float) -> float:
    """Seconds without an evaluation after one that took so many seconds of a core.

    Args:
        seconds: Of a core.
        watched: Length of its window, seconds.
    """
    rest = seconds / (_SHARE if watched > RECENT_SECONDS else _EARLY_SHARE) - seconds
    return max(min(rest, LONGEST_REST), seconds / _LARGEST_SHARE - seconds)


@dataclass(slots=True)
class _Part:
    """Rules that are evaluated one after the other, in a thread of their own.

    Attributes:
        models: Whether they are the rules that ask a model: one of them may take as long as all others together.
        done: The newest window that all of them were judged on.
        rests_until: By the monotonic clock.
    """

    models: bool
    task: asyncio.Task[None] | None = None
    turn: Turn | None = None
    done: Window | None = None
    rests_until: float = 0.0

    @property
    def running(self) -> bool:
        return self.task is not None and not self.task.done()

    def call_off(self) -> None:
        """Forget what it did; a thread that is evaluating ends by itself, and nobody hears of it."""
        if self.turn is not None:
            self.turn.call_off()
        self.task = self.turn = self.done = None
        self.rests_until = 0.0


class Rounds:
    """The evaluations over windows of one length. Each rule has its last verdict at any time.

    Attributes:
        failure: Why the last evaluation failed; None after one that did not.
    """

    def __init__(
        self,
        *,
        recent: bool,
        judge: Judge = judge,
        seconds: float = EVALUATION_SECONDS,
        turns: Turns,
        kept: Kept | None = None,
        urgent: asyncio.Lock | None = None,
        apart: Apart = in_thread,
        remembered: Callable[[], Remembered] = Remembered,
        clock: Callable[[], float] = time.monotonic,
        core: Callable[[], float] = time.thread_time,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Nothing is evaluated yet.

        Args:
            recent: As in ``Options``.
            judge: Judges a window by rules.
            seconds: Limit for an evaluation, in seconds of a core.
            turns: What its models yield to.
            kept: What models were fitted to, shared with others who ask them.
            urgent: Held by evaluations that somebody waits for: others yield to them, and they go one at a time. None
                where nobody waits.
            apart: Where these are made, and those that ask a model.
            remembered: The memory of days as it is now.
            clock: Seconds, monotonic.
            core: Seconds of the core that a thread took.
            now: Unix seconds.
        """
        self.failure: Exception | None = None
        self._recent, self._judge, self._seconds, self._apart = recent, judge, seconds, apart
        self._turns, self._kept, self._urgent = turns, kept or Kept(), urgent
        self._remembered = remembered
        self._clock, self._core, self._now = clock, core, now
        self._parts = (_Part(models=False), _Part(models=True))
        self._judgements: dict[str, Judgement] = {}
        self._rule_set: RuleSet | None = None
        self._window: Window | None = None  # the newest that a rule was judged on
        self._computed_at: float | None = None
        self._assessment: Assessment | None = None
        self._waiting = 0
        self._stale = False  # whether a judgement came after it

    def begin(self, window: Window, rule_set: RuleSet) -> None:
        """Begin the evaluations that are due. What the rules said of another server is forgotten."""
        if self._window and not window.snapshots[0].at <= self._window.latest.at <= window.latest.at:
            self.call_off()
            self._judgements.clear()
        elif self._rule_set is not None and self._rule_set is not rule_set:
            if _same_rules(self._rule_set, rule_set):
                self._stale = True  # what is suppressed may differ
            else:
                self.call_off()
                self._judgements = dict(_kept(self._judgements, self._rule_set, rule_set))
        self._rule_set = rule_set
        for part in self._parts:
            rests = self._clock() < part.rests_until or (part.done and part.done.latest is window.latest)
            if not (part.running or rests):
                part.turn = Turn(None if self._urgent is not None else self._turns)
                part.task = asyncio.create_task(self._run(part, part.turn, window, rule_set))

    def call_off(self) -> None:
        """Forget the advice, and end the evaluations under way."""
        for part in self._parts:
            if part.task is not None and (part.models or self._urgent is not None):
                part.task.cancel()  # with the process that works for it
            part.call_off()
        self._window = self._assessment = None

    def assessment(self, rule_set: RuleSet, window: Window) -> Assessment | None:
        """The last one; None where there is none of this server, these settings and these rules."""
        if self._window is None or self._rule_set is not rule_set or self._parts[0].done is None:
            return None
        if self._stale or self._assessment is None:
            ids = [rule.id for rule in rule_set.rules]
            judged = {each: self._judgements[each] for each in ids if each in self._judgements}
            pending = [each for each in ids if each not in judged]
            self._assessment = assess(judged, pending, self._window, rule_set, self._assessment)
            self._stale = False
        return self._assessment if self._assessment.is_within(window) else None

    @property
    def complete(self) -> bool:
        """Whether every rule was judged."""
        return all(part.done for part in self._parts)

    @property
    def computed_at(self) -> float | None:
        """When the newest verdict was made, Unix seconds."""
        return self._computed_at

    @property
    def next_at(self) -> float:
        """When verdicts are made anew at the earliest, Unix seconds."""
        rests = [0.0 if part.running else part.rests_until - self._clock() for part in self._parts]
        return self._now() + max(0.0, min(rests))

    async def wait(self, seconds: float | None, *, models: bool) -> None:
        """Wait for the evaluations under way.

        Args:
            seconds: At most; None for as long as it takes.
            models: Whether to wait for the rules with a model too.
        """
        running = [part.task for part in self._parts if part.task and (models or not part.models)]
        if not running:
            return
        self._waiting += 1
        try:
            await asyncio.wait(running, timeout=seconds)
        except asyncio.CancelledError:
            if self._urgent is not None and self._waiting == 1:
                self.call_off()  # nobody waits any more
            raise
        finally:
            self._waiting -= 1

    def _take(self, judgement: Judgement, window: Window) -> None:
        self._judgements[judgement.rule] = judgement
        if self._window is None or window.latest.at > self._window.latest.at:
            self._window = window
        self._computed_at, self._stale = self._now(), True

    async def _run(self, part: _Part, turn: Turn, window: Window, rule_set: RuleSet) -> None:
        spent = _AFTER_FAILURE
        failure: Exception | None = None
        try:
            spent = await self._evaluate(part, turn, window, rule_set)
        except Exception as error:  # the next evaluation may go well
            log.exception("no advice")
            failure = error
        if part.turn is turn:
            self.failure = failure
            part.rests_until = self._clock() + rest_after(spent, window.seconds)
            part.done = part.done if failure else window

    async def _evaluate(self, part: _Part, turn: Turn, window: Window, rule_set: RuleSet) -> float:
        """Judge the part's rules; the seconds of a core that it took."""
        options = Options(
            self._recent,
            before=dict(self._judgements),
            fits=Fits(self._kept),
            seconds=self._seconds,
            pause=turn.pause,
            remembered=self._remembered(),
        )

        def take(judgement: Judgement) -> None:
            if part.turn is turn:
                self._take(judgement, window)

        async def judge_apart(rules: Sequence[Rule]) -> float:
            ids = {rule.id for rule in rules}
            beside = [rule for rule in rule_set.rules if rule.id not in ids]
            with self._turns.first() if part.models and self._urgent else contextlib.nullcontext():
                judged, spent = await self._judged_apart(rules, window, replace(options, beside=beside))
            for each in judged:
                take(each)
            return spent

        rules = [rule for rule in rule_set.rules if (rule.file.choose is not None) is part.models]
        if self._urgent is not None:
            async with self._urgent:
                return await judge_apart(rules)
        beside = [rule for rule in rule_set.rules if (rule.file.choose is not None) is not part.models]
        without, asking = replace(options, beside=beside, models=False), set[str]()
        loop = asyncio.get_running_loop()

        def work() -> float:
            began = self._core()
            for each in self._judge(rules, window, without):
                if part.turn is not turn:  # called off: rules that are loaded again and again pile up no evaluations
                    break
                if each.asks:
                    asking.add(each.rule)
                else:
                    loop.call_soon_threadsafe(take, each)
            return self._core() - began

        spent = await asyncio.to_thread(work)
        return spent + (await judge_apart([rule for rule in rules if rule.id in asking]) if asking else 0.0)

    async def _judged_apart(
        self, rules: Sequence[Rule], window: Window, options: Options
    ) -> tuple[list[Judgement], float]:
        """All judgements at once, and the seconds of a core that they took."""

        def work() -> tuple[list[Judgement], float, bytes | None]:
            began = self._core()
            judged = list(self._judge(rules, window, options))
            return judged, self._core() - began + _FORK_SECONDS, options.fits.kept() if options.fits else None

        judged, spent, fitted = await self._apart(work)
        self._kept.keep(fitted)
        return judged, spent


def _same_rules(before: RuleSet, now: RuleSet) -> bool:
    """Whether each rule says what it said, as when the files are loaded again and nobody changed them."""
    return [each.file for each in before.rules] == [each.file for each in now.rules]


def _kept(judgements: Mapping[str, Judgement], before: RuleSet, now: RuleSet) -> Iterator[tuple[str, Judgement]]:
    """The judgements of rules that are the same in both sets."""
    for rule_id, judgement in judgements.items():
        old, new = before.rule(rule_id), now.rule(rule_id)
        if old and new and old.file == new.file:
            yield rule_id, judgement
