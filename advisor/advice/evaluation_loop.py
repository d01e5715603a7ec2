"""The evaluation of the newest window again and again: rules without a model first, the others beside them."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from advisor.advice.interpreter import Remembered
from advisor.advice.judgement import Assessment, Judgement, assess, blind, judge
from advisor.advice.model_worker import ModelWorker
from advisor.observe.limits import RECENT_SECONDS
from advisor.observe.window import Window
from advisor.pool.errors import Unanswerable
from advisor.rules.rulebook import RuleSet
from exporter.refreshed import Refreshed

log = logging.getLogger(__name__)

EVALUATION_SECONDS = 10.0
"""Limit for an evaluation, in seconds of a core; rules that come later are blind, and say so."""
LARGEST_SHARE = 0.1
"""Part of a core that evaluations take at most, however long one takes."""


@dataclass(frozen=True, slots=True)
class EvaluationRest:
    """How long rules rest between two evaluations.

    Attributes:
        share: Part of a core that the evaluations of rules with a model, or without, take.
        longest: Seconds of a rest, as long as evaluations then take LARGEST_SHARE at most.
    """

    share: float
    longest: float

    def after(self, seconds: float) -> float:
        """Seconds without an evaluation after one that took so many seconds of a core."""
        rest = seconds / self.share - seconds
        return max(min(rest, self.longest), seconds / LARGEST_SHARE - seconds)


EARLY_REST = EvaluationRest(share=0.01, longest=60.0)
"""In the first RECENT_SECONDS, when each snapshot still changes advice."""
REST = EvaluationRest(share=0.0005, longest=RECENT_SECONDS)
"""Afterwards. A twentieth of a percent each, with collections and scrapes, keeps the sidecar within half a percent
(docs/performance.md): a fit of the model takes about a second of a core."""


def rest_of(watched: float) -> EvaluationRest:
    """How long rules rest that were judged on a window of so many seconds."""
    return REST if watched > RECENT_SECONDS else EARLY_REST


class EvaluationLoop:
    """Each rule's last verdict on the newest window.

    A rule is judged without a model first, in a thread, which takes some milliseconds. Where only a model can decide,
    the worker asks it: one rule may then take as long as all others together.
    """

    def __init__(
        self,
        worker: ModelWorker,
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Begin without a verdict.

        Args:
            worker: Asks the models.
            clock: Seconds, monotonic.
            now: Unix seconds.
        """
        self._worker, self._clock, self._now = worker, clock, now
        self._parts = tuple(
            Refreshed(functools.partial(self._evaluate, models=models), rest=self._rest, clock=clock)
            for models in (False, True)
        )
        self._inputs: tuple[Window, RuleSet, Remembered] | None = None
        self._judgements: dict[str, Judgement] = {}
        self._window: Window | None = None  # the newest that a rule was judged on
        self._computed_at: float | None = None
        self._assessment: Assessment | None = None
        self._stale = False  # whether a judgement came after it

    def begin(self, window: Window, rule_set: RuleSet, remembered: Remembered) -> None:
        """Begin the evaluations that are due. Verdicts on another server are dropped.

        Args:
            window: The newest.
            rule_set: The rules in force.
            remembered: The past that rules know beside the window.
        """
        if self._window and not window.snapshots[0].at <= self._window.latest.at <= window.latest.at:
            self.forget()
            self._judgements.clear()
        elif self._inputs is not None and self._inputs[1] is not rule_set:
            self._take_rules(self._inputs[1], rule_set)
        self._inputs = window, rule_set, remembered
        for part in self._parts:
            if not part.under_way and part.rested and (part.value is None or part.value.latest is not window.latest):
                part.begin()

    def forget(self) -> None:
        """Forget the advice, and end the evaluations under way."""
        for part in self._parts:
            part.forget()
        self._window = self._assessment = None

    def assessment(self, rule_set: RuleSet, window: Window) -> Assessment | None:
        """The last one, with its time; None before the first of this server with these settings and rules."""
        rules_in_force = self._inputs is not None and self._inputs[1] is rule_set
        if self._window is None or not rules_in_force or self._parts[0].value is None:
            return None
        if self._stale or self._assessment is None:
            self._assessment = assess(
                self._judgements, self._window, rule_set, before=self._assessment, computed_at=self._computed_at
            )
            self._stale = False
        return self._assessment if self._assessment.is_within(window) else None

    @property
    def complete(self) -> bool:
        """Whether every rule was judged."""
        return all(part.value is not None for part in self._parts)

    @property
    def failure(self) -> BaseException | None:
        """Why the last evaluation failed; None after one that did not."""
        return next((part.failure for part in self._parts if part.failure is not None), None)

    @property
    def next_at(self) -> float:
        """When verdicts are made anew at the earliest, Unix seconds."""
        rests = [0.0 if part.under_way else part.rests_until - self._clock() for part in self._parts]
        return self._now() + max(0.0, min(rests))

    async def join(self, seconds: float, *, models: bool) -> None:
        """Wait for the evaluations under way.

        Args:
            seconds: At most.
            models: Whether to wait for the models too.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                for part in self._parts if models else self._parts[:1]:
                    await part.join()

    def _take_rules(self, before: RuleSet, now: RuleSet) -> None:
        """Judge by new rules. The judgements of rules that stayed the same stand."""
        if [rule.file for rule in before.rules] == [rule.file for rule in now.rules]:
            self._stale = True  # what is suppressed may differ
            return
        self.forget()
        self._judgements = dict(_of_same_rules(self._judgements, before, now))

    async def _evaluate(self, *, models: bool) -> Window:
        """Judge the rules with a model, or those without."""
        assert self._inputs is not None  # noqa: S101 - begin sets them
        window, rule_set, remembered = self._inputs
        before = dict(self._judgements)
        judging = functools.partial(
            judge,
            window=window,
            beside=rule_set.rules,
            before=before,
            seconds=EVALUATION_SECONDS,
            remembered=remembered,
        )
        rules = [rule for rule in rule_set.rules if (rule.file.choose is not None) is models]
        try:
            judgements = await _in_thread(judging(rules, models=False))
            self._take([judgement for judgement in judgements if not judgement.waits_for_model], window)
            asking = [rule for rule, judgement in zip(rules, judgements, strict=True) if judgement.waits_for_model]
            if asking:
                try:
                    asked = await self._worker.ask(lambda loads: (*judging(asking, loads=loads),), background=True)
                except Unanswerable as lack:
                    asked = tuple(blind(rule, lack, window.latest.at, before.get(rule.id)) for rule in asking)
                self._take(asked, window)
        except Exception:  # the next evaluation may succeed
            log.exception("no advice")
            raise
        return window

    def _take(self, judgements: Sequence[Judgement], window: Window) -> None:
        if judgements:
            self._judgements |= {judgement.rule: judgement for judgement in judgements}
            self._computed_at, self._stale = self._now(), True
        if self._window is None or window.latest.at > self._window.latest.at:
            self._window = window

    def _rest(self, seconds: float) -> float:
        watched = 0.0 if self._inputs is None else self._inputs[0].seconds
        rest = rest_of(watched)
        return rest.longest if self.failure else rest.after(seconds)


async def _in_thread(judgements: Iterator[Judgement]) -> Sequence[Judgement]:
    """Judgements that a thread makes; it ends early once nobody waits for them."""
    cancelled = threading.Event()
    try:
        return await asyncio.to_thread(list, takewhile(lambda _: not cancelled.is_set(), judgements))
    finally:
        cancelled.set()


def _of_same_rules(
    judgements: Mapping[str, Judgement], before: RuleSet, now: RuleSet
) -> Iterator[tuple[str, Judgement]]:
    """The judgements of rules that are the same in both sets."""
    for rule_id, judgement in judgements.items():
        old, new = before.rule(rule_id), now.rule(rule_id)
        if old and new and old.file == new.file:
            yield rule_id, judgement
