"""The judgement of a rule: over the whole window and its newest minutes, with the findings that still stand. Pure."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from advisor.advice.interpreter import Evaluator
from advisor.advice.remembered import Remembered
from advisor.advice.trace import Evaluation
from advisor.contract.recommendation import Blind, Recommendation, Trend, fingerprint
from advisor.observe.limits import LEAST_SECONDS, RECENT_SECONDS
from advisor.observe.window import Window
from advisor.pool.errors import Unanswerable
from advisor.pool.fitting import Loads
from advisor.rules.check import Rule

CLEAR_SECONDS = RECENT_SECONDS
"""A finding clears once its rule has not made it for so long: a single sample proves nothing."""
_STATES = frozenset({"blind_spots", "harms"})
"""Lists whose items are states, read anew at each collection: a finding about one clears at once."""
_CHANGED = 1.2
"""Factor between the quantity over the newest minutes and over the whole window: less is steady."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A finding that stands.

    Attributes:
        finding: As it was last made.
        missing_since: Time of the first of the latest snapshots in a row without it, Unix seconds; None with it.
    """

    finding: Recommendation
    missing_since: float | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a rule says.

    Attributes:
        rule: Its id.
        evaluations: One for each item, and one for each finding that stands though it was not made this time.
        standing: The findings by fingerprint.
        at: Time of the newest snapshot, Unix seconds.
        asks: Whether it takes a model, where models are not asked: then it is none.
    """

    rule: str
    evaluations: tuple[Evaluation, ...]
    standing: Mapping[str, Standing]
    at: float
    asks: bool = False


@dataclass(frozen=True, slots=True)
class Options:
    """How rules are judged.

    Attributes:
        recent: Whether the newest RECENT_SECONDS of a longer window are judged beside the whole.
        beside: As in ``advise``.
        before: The last judgements by rule, of the same server with the same settings.
        loads: As in ``Evaluator``.
        seconds: CPU time for all rules together, beside the limit of each rule.
        remembered: As in ``advise``.
        models: Whether models are asked.
    """

    recent: bool = True
    beside: Sequence[Rule] = ()
    before: Mapping[str, Judgement] = field(default_factory=dict)
    loads: Loads | None = None
    seconds: float = math.inf
    remembered: Remembered | None = None
    models: bool = True


def judge(rules: Sequence[Rule], window: Window, options: Options) -> Iterator[Judgement]:
    """What each rule says, one after the other."""
    judge = _Judge(rules, window, options)
    for rule in rules:
        before = options.before.get(rule.id)
        evaluations = judge.evaluations(rule)
        found = _stand(rule, evaluations, window.latest.at, before.standing if before else {})
        yield replace(found, asks=judge.asks(rule))


def blind(rule: Rule, lack: Unanswerable, at: float, before: Judgement | None) -> Judgement:
    """The judgement of a rule whose evaluation was ended.

    Args:
        rule: The rule.
        lack: Why it was ended.
        at: Time of the newest snapshot, Unix seconds.
        before: The last judgement; what it found still stands.
    """
    evaluation = Evaluation(rule.id, {}, Blind(rule=rule.id, lacks=lack.lacks, reason=str(lack)))
    return _stand(rule, [evaluation], at, before.standing if before else {})


class _Judge:
    """Rules over a window and its newest minutes."""

    def __init__(self, rules: Sequence[Rule], window: Window, options: Options) -> None:
        known = (*rules, *options.beside)
        standing = frozenset(each for judgement in options.before.values() for each in judgement.standing)
        made = functools.partial(
            Evaluator,
            findings=standing,
            seconds=options.seconds,
            loads=options.loads,
            remembered=options.remembered,
            models=options.models,
        )
        self._whole = made(known, window)
        self._recent: Evaluator | None = None
        recent = window.recent(RECENT_SECONDS)
        self._began = recent.snapshots[0].at
        if options.recent and window.seconds > RECENT_SECONDS and recent.seconds >= LEAST_SECONDS:
            self._recent = made(known, recent)

    def evaluations(self, rule: Rule) -> tuple[Evaluation, ...]:
        """One for each item: over the whole window, or over its newest minutes where these are worse."""
        whole = tuple(self._whole.evaluations(rule))
        if self._recent is None:
            return whole
        trends = {_key(each): self._trend(rule, each) for each in whole if isinstance(each.verdict, Recommendation)}
        # The model is asked about the newest minutes only where they are worse: a fit to them takes as long again.
        settled = {key for key, trend in trends.items() if trend != "worse"}
        recent = {
            _key(each): each
            for each in self._recent.evaluations(rule, lambda subject: fingerprint(rule.id, subject) not in settled)
            if isinstance(each.verdict, Recommendation) or (_out_of_time(each) and _key(each) not in trends)
        }
        found = [
            _with_trend(each, trends[_key(each)]) if _key(each) in trends else each
            for each in whole
            if _key(each) not in recent
        ]
        return (*found, *(self._of_late(rule, each) for each in recent.values()))

    def asks(self, rule: Rule) -> bool:
        """Whether the rule would have asked a model, where models are not asked."""
        return rule.id in self._whole.asking or (self._recent is not None and rule.id in self._recent.asking)

    def _trend(self, rule: Rule, found: Evaluation) -> Trend | None:
        """How the newest minutes are beside the whole window."""
        assert self._recent is not None  # noqa: S101 - else nothing is compared
        before, now = self._whole.now(rule, found.subject), self._recent.now(rule, found.subject)
        if before is None or now is None:
            return None
        if now > _CHANGED * before:
            return "worse"
        return "better" if _CHANGED * now < before else "steady"

    def _of_late(self, rule: Rule, found: Evaluation) -> Evaluation:
        """A finding of the newest minutes, with its trend, and its begin even if that is before them."""
        if not isinstance(found.verdict, Recommendation):
            return found
        since = found.verdict.since
        if rule.file.lasting is not None and since is not None and since <= self._began:
            since = min(since, self._whole.since(rule, found.subject))
        dated = replace(found, verdict=found.verdict.model_copy(update={"since": since}))
        return _with_trend(dated, self._trend(rule, found))


def _stand(rule: Rule, evaluations: Sequence[Evaluation], at: float, before: Mapping[str, Standing]) -> Judgement:
    """The judgement with the findings that stood before: they keep their begin, and clear late."""
    standing: dict[str, Standing] = {}
    said: list[Evaluation] = []
    for each in evaluations:
        if isinstance(each.verdict, Recommendation):
            known = before.get(each.verdict.fingerprint)
            begins = [found.since for found in (each.verdict, known and known.finding) if found and found.since]
            found = each.verdict.model_copy(update={"since": min(begins, default=None)})
            standing[found.fingerprint] = Standing(found)
            said.append(replace(each, verdict=found))
        else:
            said.append(each)
    for key, last in before.items():
        since = at if last.missing_since is None else last.missing_since
        if key not in standing and rule.file.for_each not in _STATES and at - since < CLEAR_SECONDS:
            standing[key] = replace(last, missing_since=since)
            said.append(Evaluation(rule.id, last.finding.subject, last.finding))
    return Judgement(rule.id, tuple(said), standing, at)


def _key(evaluation: Evaluation) -> str:
    return fingerprint(evaluation.rule, evaluation.subject)


def _out_of_time(evaluation: Evaluation) -> bool:
    return isinstance(evaluation.verdict, Blind) and evaluation.verdict.lacks == "time"


def _with_trend(evaluation: Evaluation, trend: Trend | None) -> Evaluation:
    assert isinstance(evaluation.verdict, Recommendation)  # noqa: S101 - only findings have one
    return replace(evaluation, verdict=evaluation.verdict.model_copy(update={"trend": trend}))
