"""Comparison of a rule's advice with what a case expects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from advisor.casetest.cases import Case, ExpectedFinding
from advisor.contract.recommendation import Advice, Recommendation


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between case and advice, as texts for people."""

    what: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.what}: expected {self.expected}, found {self.found}"


def differences(case: Case, advice: Advice) -> list[Difference]:
    """Every difference; empty where the case passes."""
    lacks = {each.lacks for each in advice.blind}
    blindness = [] if lacks == case.blind else [Difference("blind", _list(sorted(case.blind)), _list(sorted(lacks)))]
    failures = [Difference("the rule", "works", each.reason) for each in advice.failed]
    return [*_findings(case, advice), *blindness, *failures]


def _findings(case: Case, advice: Advice) -> Iterator[Difference]:
    found = advice.recommendations
    if len(found) != len(case.expect):
        summaries = "; ".join(each.summary for each in found)
        yield Difference("findings", _count(len(case.expect)), _count(len(found)) + (f": {summaries}" if found else ""))
        return
    for expected, recommendation in zip(case.expect, found, strict=True):
        yield from _finding(expected, recommendation)


def _finding(expected: ExpectedFinding, found: Recommendation) -> Iterator[Difference]:
    changes = {change.setting: change.to for change in found.changes}
    if expected.subject != found.subject:
        yield Difference("subject", _pairs(expected.subject), _pairs(found.subject))
    if expected.changes != changes:
        yield Difference("changes", _pairs(expected.changes), _pairs(changes))
    if expected.severity not in (None, found.severity):
        yield Difference("severity", str(expected.severity), found.severity)
    if expected.effect is not None and found.effect not in expected.effect:
        yield Difference("effect", str(expected.effect), f"{found.effect.predicted:g}" if found.effect else "none")
    if expected.actions is not None and not _has_actions(found, expected.actions):
        texts = [text or "any" for text in expected.actions]
        yield Difference("actions", _list(texts), _list(each.do for each in found.actions))


def _has_actions(found: Recommendation, texts: tuple[str, ...]) -> bool:
    return len(texts) == len(found.actions) and all(
        any(text in line for line in (action.do, *action.apply))
        for text, action in zip(texts, found.actions, strict=True)
    )


def _count(number: int) -> str:
    return f"{number} finding{'' if number == 1 else 's'}" if number else "silence"


def _pairs(values: Mapping[str, float | str]) -> str:
    return _list(f"{key} = {_text(value)}" for key, value in values.items())


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.15g}"


def _list(values: Iterable[str]) -> str:
    return ", ".join(values) or "none"
