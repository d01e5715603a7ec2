"""A rule in one of its cases: what it sees, what it advises, and how that differs from what the case expects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from advisor.advice import evaluation
from advisor.advice.interpreter import Remembered, evaluate
from advisor.advice.trace import Evaluation
from advisor.casetest.cases import Case, ExpectedFinding, recorded
from advisor.contract.recommendation import Advice, Recommendation
from advisor.ledger.entry import Outcome
from advisor.ledger.ledger import Ledger
from advisor.observe.window import Window
from advisor.rules import check
from advisor.rules.check import Rule
from exporter.snapshot import Snapshot

BUDGET_SECONDS = 60.0
"""CPU time of a rule in a case: no case depends on how busy the machine is."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between a case and the advice in it, as texts for people."""

    what: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.what}: expected {self.expected}, found {self.found}"


def run(rule: Rule, case: Case) -> tuple[list[Difference], Advice, tuple[Evaluation, ...]]:
    """The differences between the rule's advice and the case, none where it passes; the advice; its evaluations.

    Raises:
        FileError: The recording cannot be used.
    """
    observed = window(case)
    remembered = Remembered() if case.alteration is None else case.alteration.remembered(observed)
    if rule.file.for_each == "harms" and not remembered.outcomes:
        remembered = replace(remembered, outcomes=_outcomes(case))
    evaluations = tuple(
        evaluate(
            [rule.with_budget(BUDGET_SECONDS)],
            observed,
            # A rule about blind spots is about the other rules of its folder.
            beside=check.load(rule.path.parent) if rule.file.for_each == "blind_spots" else (),
            every_reason=True,
            remembered=remembered,
        )
    )
    advice = evaluation.advice(evaluations, observed)
    return list(_differences(case, advice)), advice, evaluations


def window(case: Case) -> Window:
    """The recording with the case's alteration.

    Raises:
        FileError: The recording cannot be used.
    """
    return Window.of(_snapshots(case), float("inf"))


def _snapshots(case: Case) -> Sequence[Snapshot]:
    snapshots = recorded(case.recording)
    return case.alteration.apply(snapshots) if case.alteration else snapshots


def _outcomes(case: Case) -> tuple[Outcome, ...]:
    """What became of the changes that the recording holds."""
    ledger, snapshots = Ledger(window_seconds=case.window_seconds), _snapshots(case)
    for count in range(1, len(snapshots) + 1):
        ledger, _ = ledger.observe(snapshots[:count], None)
    return tuple(ledger.outcomes.values())


def _differences(case: Case, advice: Advice) -> Iterator[Difference]:
    recommendations = advice.recommendations
    if len(recommendations) == len(case.expect):
        for expected, recommendation in zip(case.expect, recommendations, strict=True):
            yield from _of_finding(expected, recommendation)
    else:
        summaries = "; ".join(recommendation.summary for recommendation in recommendations)
        count = _count(len(recommendations)) + (f": {summaries}" if summaries else "")
        yield Difference("findings", _count(len(case.expect)), count)
    lacks = {blind.lacks for blind in advice.blind}
    if lacks != case.blind:
        yield Difference("blind", _list(sorted(case.blind)), _list(sorted(lacks)))
    for failed in advice.failed:
        yield Difference("the rule", "works", failed.reason)


def _of_finding(expected: ExpectedFinding, recommendation: Recommendation) -> Iterator[Difference]:
    changes = {change.setting: change.to for change in recommendation.changes}
    if expected.subject != recommendation.subject:
        yield Difference("subject", _pairs(expected.subject), _pairs(recommendation.subject))
    if expected.changes != changes:
        yield Difference("changes", _pairs(expected.changes), _pairs(changes))
    if expected.severity not in (None, recommendation.severity):
        yield Difference("severity", str(expected.severity), recommendation.severity)
    effect = recommendation.effect
    if expected.effect is not None and effect not in expected.effect:
        yield Difference("effect", str(expected.effect), f"{effect.predicted:g}" if effect else "none")
    if expected.actions is not None and not _has_actions(recommendation, expected.actions):
        texts = [text or "any" for text in expected.actions]
        yield Difference("actions", _list(texts), _list(action.do for action in recommendation.actions))


def _has_actions(recommendation: Recommendation, texts: tuple[str, ...]) -> bool:
    return len(texts) == len(recommendation.actions) and all(
        any(text in line for line in (action.do, *action.apply))
        for text, action in zip(texts, recommendation.actions, strict=True)
    )


def _count(number: int) -> str:
    return f"{number} finding{'' if number == 1 else 's'}" if number else "silence"


def _pairs(values: Mapping[str, float | str]) -> str:
    return _list(f"{key} = {value if isinstance(value, str) else f'{value:.15g}'}" for key, value in values.items())


def _list(values: Iterable[str]) -> str:
    return ", ".join(values) or "none"
