"""The judgements of rules, with the findings that stand, and the assessment that they amount to. Pure.

A rule is judged over the whole window, and over its newest minutes where these are worse.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from advisor.advice.evaluation import advice
from advisor.advice.interpreter import NO_MODEL, Evaluator, Remembered
from advisor.advice.trace import Evaluation, RuleState, states
from advisor.contract.recommendation import Advice, Blind, Number, Recommendation, Trend, fingerprint
from advisor.ledger.entry import RememberedFinding
from advisor.observe.limits import LEAST_SECONDS, RECENT_SECONDS
from advisor.observe.window import Window
from advisor.pool.errors import Unanswerable
from advisor.pool.fitting import Loads
from advisor.rules.check import Rule
from advisor.rules.rulebook import RuleSet
from exporter.snapshot import Snapshot

CLEAR_SECONDS = RECENT_SECONDS
"""A finding clears once it has been missing for so long: a single sample proves nothing."""
_STATES = frozenset({"blind_spots", "harms"})
"""Lists whose items are states, read anew at each collection: a finding about one clears at once."""
_CHANGED = 1.2
"""Factor between the quantity over the newest minutes and over the whole window: less is steady."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The last verdicts of a rule.

    Attributes:
        rule: Its id.
        evaluations: One for each item, and one for each finding that stands though it was not made this time.
        at: Time of the newest snapshot, Unix seconds.
        missing_since: By the fingerprint of a finding that was not made this time, the time of the first of the latest
            snapshots in a row without it, Unix seconds.
        begun: The findings that stand, by fingerprint, as they were when they first advised their values.
    """

    rule: str
    evaluations: tuple[Evaluation, ...]
    at: float
    missing_since: Mapping[str, float] = field(default_factory=dict)
    begun: Mapping[str, Recommendation] = field(default_factory=dict)

    @property
    def findings(self) -> dict[str, Recommendation]:
        """The findings that stand, by fingerprint."""
        findings = (evaluation.finding for evaluation in self.evaluations)
        return {finding.fingerprint: finding for finding in findings if finding is not None}

    @property
    def waits_for_model(self) -> bool:
        """Whether a model has still to be asked."""
        return any(evaluation.lacks == NO_MODEL for evaluation in self.evaluations)


@dataclass(frozen=True, slots=True)
class Assessment:
    """The verdicts of a rule set on a window.

    Attributes:
        states: The state of each rule, by its id.
        judged_at: By rule, the time of the newest snapshot that it was judged on, Unix seconds.
        snapshot: The newest snapshot of the window.
        trace: The verdict on each item, and why.
    """

    advice: Advice
    states: Mapping[str, RuleState]
    judged_at: Mapping[str, float]
    snapshot: Snapshot
    rule_set: RuleSet
    trace: tuple[Evaluation, ...] = ()

    def is_within(self, window: Window) -> bool:
        """Whether its newest snapshot is in the window: no restart and no change of settings came in between."""
        return window.snapshots[0].at <= self.snapshot.at <= window.latest.at

    def about(self, finding: RememberedFinding) -> tuple[Evaluation, ...]:
        """The evaluations of a finding's rule on its subject, or on the server as a whole where that settles it."""
        of_rule = (evaluation for evaluation in self.trace if evaluation.rule == finding.rule)
        return tuple(evaluation for evaluation in of_rule if evaluation.subject in ({}, finding.subject))

    def is_gone(self, finding: RememberedFinding) -> bool:
        """Whether its rule was judged and no longer makes it. One that is blind or has failed may still be true."""
        return all(evaluation.verdict is None for evaluation in self.about(finding))


def assess(
    judgements: Mapping[str, Judgement],
    window: Window,
    rule_set: RuleSet,
    before: Assessment | None = None,
    computed_at: float | None = None,
) -> Assessment:
    """The assessment that judgements amount to. A rule without a judgement is blind for now.

    Args:
        judgements: By rule.
        window: The newest that a rule was judged on.
        rule_set: The rules.
        before: The last assessment.
        computed_at: When the newest judgement was made, Unix seconds.
    """
    trace: list[Evaluation] = []
    for rule in rule_set.rules:
        judgement = judgements.get(rule.id)
        trace += judgement.evaluations if judgement else (Evaluation(rule.id, {}, _not_yet(rule.id)),)
    made = frozenset(finding.fingerprint for finding in before.advice.recommendations) if before else frozenset()
    assessed = advice(trace, window, rule_set.suppressions, made).model_copy(update={"computed_at": computed_at})
    judged_at = {rule: judgement.at for rule, judgement in judgements.items()}
    return Assessment(assessed, states(trace, assessed), judged_at, window.latest, rule_set, tuple(trace))


def _not_yet(rule: str) -> Blind:
    return Blind(rule=rule, lacks="time", reason="its model is being fitted for the first time", cure="wait for it")


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
    """The judgements of rules, one after the other.

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
        findings=tuple(finding for judgement in before.values() for finding in judgement.begun.values()),
        seconds=seconds,
        loads=loads,
        remembered=remembered,
        models=models,
    )
    whole, newest, minutes = evaluator(window), None, window.recent(RECENT_SECONDS)
    if recent and window.seconds > RECENT_SECONDS and minutes.seconds >= LEAST_SECONDS:
        newest = evaluator(minutes)
    for rule in rules:
        evaluations = [*whole.evaluations(rule)]
        if newest is not None:
            evaluations = _with_newest(rule, evaluations, whole, newest)
        yield _standing(rule, evaluations, window.latest.at, before.get(rule.id))


def blind(rule: Rule, lack: Unanswerable, at: float, before: Judgement | None) -> Judgement:
    """The judgement of a rule whose evaluation was ended; its findings stand.

    Args:
        rule: The rule.
        lack: Why it was ended.
        at: Time of the newest snapshot, Unix seconds.
        before: The last judgement.
    """
    verdict = Blind(rule=rule.id, lacks=lack.lacks, reason=str(lack))
    return _standing(rule, [Evaluation(rule.id, {}, verdict)], at, before)


def _with_newest(
    rule: Rule, evaluations: Sequence[Evaluation], whole: Evaluator, newest: Evaluator
) -> list[Evaluation]:
    """One for each item: over the whole window, or over the newest minutes where these are worse."""
    findings = [evaluation for evaluation in evaluations if evaluation.finding is not None]
    trends = {finding.fingerprint: _trend(rule, finding, whole, newest) for finding in findings}
    # The model is asked about the newest minutes only where they are worse: a fit to them takes as long again.
    settled = {key for key, trend in trends.items() if trend != "worse"}
    recent: dict[str, Evaluation] = {}
    for evaluation in newest.evaluations(rule, lambda subject: fingerprint(rule.id, subject) not in settled):
        key = evaluation.fingerprint
        if evaluation.finding is not None:
            recent[key] = _dated(rule, evaluation, whole, newest)
        elif evaluation.lacks == NO_MODEL or (evaluation.lacks == "time" and key not in trends):
            recent[key] = evaluation
    others = [evaluation for evaluation in evaluations if evaluation.fingerprint not in recent]
    return [*(other.with_finding(trend=trends.get(other.fingerprint)) for other in others), *recent.values()]


def _trend(rule: Rule, evaluation: Evaluation, whole: Evaluator, newest: Evaluator) -> Trend | None:
    """How the newest minutes are beside the whole window."""
    before, now = whole.now(rule, evaluation.subject), newest.now(rule, evaluation.subject)
    if before is None or now is None:
        return None
    if now > _CHANGED * before:
        return "worse"
    return "better" if _CHANGED * now < before else "steady"


def _dated(rule: Rule, evaluation: Evaluation, whole: Evaluator, newest: Evaluator) -> Evaluation:
    """A finding of the newest minutes, with its trend, and its begin even if that is before them."""
    since = evaluation.finding.since if evaluation.finding else None
    if rule.file.lasting is not None and since is not None and since <= newest.window.snapshots[0].at:
        since = min(since, whole.since(rule, evaluation.subject))
    return evaluation.with_finding(since=since, trend=_trend(rule, evaluation, whole, newest))


def _standing(rule: Rule, evaluations: Sequence[Evaluation], at: float, before: Judgement | None) -> Judgement:
    """The judgement with the findings that stood before: they keep their begin, and clear late."""
    stood = before.findings if before else {}
    judged: list[Evaluation] = []
    for evaluation in evaluations:
        findings = (evaluation.finding, stood.get(evaluation.fingerprint))
        begins = [finding.since for finding in findings if finding and finding.since]
        judged.append(evaluation.with_finding(since=min(begins, default=None)))
    made = {evaluation.fingerprint for evaluation in judged if evaluation.finding is not None}
    missing_since: dict[str, float] = {}
    for key, finding in stood.items():
        since = before.missing_since.get(key, at) if before else at
        if key not in made and rule.file.for_each not in _STATES and at - since < CLEAR_SECONDS:
            missing_since[key] = since
            judged.append(Evaluation(rule.id, finding.subject, finding))
    judgement = Judgement(rule.id, tuple(judged), at, missing_since)
    return replace(judgement, begun=dict(_begun(judgement.findings, before.begun if before else {})))


def _begun(
    findings: Mapping[str, Recommendation], before: Mapping[str, Recommendation]
) -> Iterator[tuple[str, Recommendation]]:
    """The findings as they were when they first advised their values."""
    for key, finding in findings.items():
        first = before.get(key, finding)
        yield key, first if _advised(first) == _advised(finding) else finding


def _advised(finding: Recommendation) -> dict[str, Number | str]:
    return {change.setting: change.to for change in finding.changes}
