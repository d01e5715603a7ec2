"""The trace of rules: one evaluation for each item that a rule looks at, with the conditions that settled it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from advisor.contract.recommendation import Advice, Blind, Failed, Recommendation, fingerprint, tidy
from advisor.contract.templates import FactValue

RulePart = Literal["applies", "for_each", "when", "unless", "lasting", "change"]
"""The part of a rule that keeps it silent; ``change`` includes actions."""
StateName = Literal["firing", "set aside", "failed", "blind", "silent"]
Verdict = Recommendation | Blind | Failed


@dataclass(frozen=True, slots=True)
class Refusal:
    """A part of a rule that keeps it silent.

    Attributes:
        what: In words, with the expression where it is one.
        values: Of the names in the expression, and of the names in the ``let`` behind them; None where not known.
    """

    key: RulePart
    what: str
    values: Mapping[str, FactValue | None] = field(default_factory=dict)

    def __str__(self) -> str:
        values = ", ".join(f"{name} = {_shown(value)}" for name, value in self.values.items())
        return self.what + (f"  ({values})" if values else "")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A rule on one item of its ``for_each``, or on the server as a whole.

    Attributes:
        rule: Its id.
        subject: Of the item; empty for the server.
        verdict: None where the rule is silent.
        refusals: Why it is silent; empty where it has a verdict.
    """

    rule: str
    subject: Mapping[str, str]
    verdict: Verdict | None
    refusals: tuple[Refusal, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Of the rule and the subject, as findings have it."""
        return fingerprint(self.rule, self.subject)

    @property
    def finding(self) -> Recommendation | None:
        """The verdict, where it is a recommendation."""
        return self.verdict if isinstance(self.verdict, Recommendation) else None

    @property
    def lacks(self) -> str | None:
        """What a blind rule lacks; None for other verdicts."""
        return self.verdict.lacks if isinstance(self.verdict, Blind) else None

    def with_finding(self, **values: Any) -> Evaluation:
        """The same with other values of its finding; itself where it has none."""
        return replace(self, verdict=self.finding.model_copy(update=values)) if self.finding else self

    @property
    def reasons(self) -> Iterator[str]:
        """Why it is silent, a line for each refusal, with the item's name."""
        name = ".".join(self.subject.values())
        for refusal in self.refusals:
            yield f"{name}: {refusal}" if name else str(refusal)


@dataclass(frozen=True, slots=True)
class RuleState:
    """The outcome of a rule over all its items.

    Attributes:
        state: The first that is true of any item, in the order firing, failed, blind, set aside, silent; None where
            the rule does not apply to the server.
        lacks: Names of what it needs and cannot see.
    """

    state: StateName | None
    lacks: tuple[str, ...]


def states(trace: Iterable[Evaluation], advice: Advice) -> dict[str, RuleState]:
    """The state of each rule, by its id.

    Args:
        trace: The evaluations.
        advice: Made from them: it tells which findings are set aside.
    """
    made = {finding.fingerprint for finding in advice.recommendations}
    by_rule: dict[str, set[StateName]] = {}
    lacks: dict[str, dict[str, None]] = {}
    for evaluation in trace:
        state = _state(evaluation, made)
        by_rule.setdefault(evaluation.rule, set()).update(() if state is None else (state,))
        if isinstance(evaluation.verdict, Blind):
            lacks.setdefault(evaluation.rule, {})[evaluation.verdict.lacks] = None
    return {
        rule: RuleState(next((state for state in _ORDER if state in seen), None), tuple(sorted(lacks.get(rule, ()))))
        for rule, seen in by_rule.items()
    }


_ORDER: tuple[StateName, ...] = ("firing", "failed", "blind", "set aside", "silent")


def _state(evaluation: Evaluation, made: set[str]) -> StateName | None:
    match evaluation.verdict:
        case Recommendation(fingerprint=fingerprint):
            return "firing" if fingerprint in made else "set aside"
        case Failed():
            return "failed"
        case Blind():
            return "blind"
    return None if any(refusal.key == "applies" for refusal in evaluation.refusals) else "silent"


def _shown(value: FactValue | None) -> str:
    if value is None:
        return "not known"
    if isinstance(value, bool | str):
        return str(value).lower() if isinstance(value, bool) else repr(value)
    return f"{tidy(value):,}"
