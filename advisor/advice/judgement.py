"""The judgement of a rule: over the whole window and its newest minutes, with the findings that still stand. Pure."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

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


def judge(
    rules: Sequence[Rule],
    window: Window,
    *,
    recent: bool = True,
    beside: Sequence[Rule] = (),
    before: Mapping[str, Judgement] | None = None,
    loads: Loads | None = None,
    seconds: float = math.inf,
    remembered: Remembered | None = None,
    models: bool = True,
) -> Iterator[Judgement]:
    """What each rule says, one after the other.

    Args:
        rules: In any order.
        window: What has been watched.
        recent: Whether the newest RECENT_SECONDS of a longer window are judged beside the whole.
        beside: As in ``advise``.
        before: The last judgements by rule, of the same server with the same settings.
        loads: As in ``Evaluator``.
        seconds: CPU time for all rules together, beside the limit of each rule.
        remembered: As in ``advise``.
        models: Whether models are asked.
    """
    before = before or {}
    evaluator = functools.partial(
        Evaluator,
        (*rules, *beside),
        findings=frozenset(key for judgement in before.values() for key in judgement.standing),
        seconds=seconds,
        loads=loads,
        remembered=remembered,
        models=models,
    )
    whole, newest, minutes = evaluator(window), None, window.recent(RECENT_SECONDS)
    if recent and window.seconds > RECENT_SECONDS and minutes.seconds >= LEAST_SECONDS:
        newest = _Newest(whole, evaluator(minutes), began=minutes.snapshots[0].at)
    for rule in rules:
        evaluations = tuple(whole.evaluations(rule))
        if newest is not None:
            evaluations = newest.evaluations(rule, evaluations)
        last = before.get(rule.id)
        judgement = _stand(rule, evaluations, window.latest.at, last.standing if last else {})
        asks = rule.id in whole.asking or (newest is not None and rule.id in newest.evaluator.asking)
        yield replace(judgement, asks=asks)


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


@dataclass(frozen=True, slots=True)
class _Newest:
    """The newest minutes beside the whole window.

    Attributes:
        whole: Of the whole window.
        evaluator: Of the newest minutes.
        began: Their first snapshot, Unix seconds.
    """

    whole: Evaluator
    evaluator: Evaluator
    began: float

    def evaluations(self, rule: Rule, whole: Sequence[Evaluation]) -> tuple[Evaluation, ...]:
        """One for each item: over the whole window, or over the newest minutes where these are worse."""
        trends = {_key(one): self._trend(rule, one) for one in whole if isinstance(one.verdict, Recommendation)}
        # The model is asked about the newest minutes only where they are worse: a fit to them takes as long again.
        settled = {key for key, trend in trends.items() if trend != "worse"}
        newest = self.evaluator.evaluations(rule, lambda subject: fingerprint(rule.id, subject) not in settled)
        recent = {
            _key(one): one
            for one in newest
            if isinstance(one.verdict, Recommendation) or (_out_of_time(one) and _key(one) not in trends)
        }
        return (
            *(_with_trend(one, trends.get(_key(one))) for one in whole if _key(one) not in recent),
            *(self._dated(rule, one) for one in recent.values()),
        )

    def _trend(self, rule: Rule, evaluation: Evaluation) -> Trend | None:
        """How the newest minutes are beside the whole window."""
        before, now = self.whole.now(rule, evaluation.subject), self.evaluator.now(rule, evaluation.subject)
        if before is None or now is None:
            return None
        if now > _CHANGED * before:
            return "worse"
        return "better" if _CHANGED * now < before else "steady"

    def _dated(self, rule: Rule, evaluation: Evaluation) -> Evaluation:
        """A finding of the newest minutes, with its trend, and its begin even if that is before them."""
        if not isinstance(evaluation.verdict, Recommendation):
            return evaluation
        since = evaluation.verdict.since
        if rule.file.lasting is not None and since is not None and since <= self.began:
            since = min(since, self.whole.since(rule, evaluation.subject))
        dated = replace(evaluation, verdict=evaluation.verdict.model_copy(update={"since": since}))
        return _with_trend(dated, self._trend(rule, evaluation))


def _stand(rule: Rule, evaluations: Sequence[Evaluation], at: float, before: Mapping[str, Standing]) -> Judgement:
    """The judgement with the findings that stood before: they keep their begin, and clear late."""
    standing: dict[str, Standing] = {}
    judged: list[Evaluation] = []
    for evaluation in evaluations:
        finding = evaluation.verdict
        if isinstance(finding, Recommendation):
            last = before.get(finding.fingerprint)
            begins = [one.since for one in (finding, last and last.finding) if one and one.since]
            finding = finding.model_copy(update={"since": min(begins, default=None)})
            standing[finding.fingerprint] = Standing(finding)
        judged.append(replace(evaluation, verdict=finding))
    for key, last in before.items():
        since = at if last.missing_since is None else last.missing_since
        if key not in standing and rule.file.for_each not in _STATES and at - since < CLEAR_SECONDS:
            standing[key] = replace(last, missing_since=since)
            judged.append(Evaluation(rule.id, last.finding.subject, last.finding))
    return Judgement(rule.id, tuple(judged), standing, at)


def _key(evaluation: Evaluation) -> str:
    return fingerprint(evaluation.rule, evaluation.subject)


def _out_of_time(evaluation: Evaluation) -> bool:
    return isinstance(evaluation.verdict, Blind) and evaluation.verdict.lacks == "time"


def _with_trend(evaluation: Evaluation, trend: Trend | None) -> Evaluation:
    """A finding with its trend; other evaluations have none."""
    if not isinstance(evaluation.verdict, Recommendation):
        return evaluation
    return replace(evaluation, verdict=evaluation.verdict.model_copy(update={"trend": trend}))
