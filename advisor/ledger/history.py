"""The history: what became of changes, and the findings that stood, as a person asks for them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import Field

from advisor.contract.recommendation import Advice, Frozen, Recommendation, SetAside, Severity
from advisor.ledger.entry import Found, Outcome, Result
from advisor.ledger.ledger import Ledger

Item = TypeVar("Item")

SHOWN = 100
"""Outcomes, and findings, that an answer has at most unless it is asked for more."""


class History(Frozen):
    """What became of changes, and the findings that stood."""

    kept: bool = Field(description="Whether all of it is in --state-dir, where it outlives a restart.")
    problem: str | None = Field(None, description="Why the newest entries could not be written there.")
    outcomes: tuple[Outcome, ...] = Field(description="The newest first.")
    more_outcomes: int = Field(0, description="Older ones that the limit leaves out.")
    findings: tuple[Found, ...] = Field(description="The one that was seen last first.")
    more_findings: int = Field(0, description="Others that the limit leaves out.")


class GradedRecommendation(Recommendation):
    """A recommendation, and what became of it when it was followed before."""

    outcomes: tuple[Outcome, ...] = Field((), description="Of the settings that it asks for, the newest first.")


class GradedSetAside(SetAside):
    """A recommendation that is set aside, and what became of it when it was followed before."""

    outcomes: tuple[Outcome, ...] = Field((), description="Of the settings that it asks for, the newest first.")


class GradedAdvice(Advice):
    """Advice, and what became of changes before."""

    outcomes: tuple[Outcome, ...] = Field((), description="The newest first.")


class GoneFinding(Frozen):
    """A finding that was told earlier and is not found now."""

    fingerprint: str
    rule: str
    subject: Mapping[str, str]
    severity: Severity
    summary: str = Field(description="As it was told last.")
    first_seen: float = Field(description="Unix seconds.")
    last_seen: float = Field(description="Time of the last snapshot that showed it, Unix seconds.")
    resolved_at: float | None = Field(
        description="Time of the snapshot on which its rule no longer made it, Unix seconds; null where that is not "
        "known: the server is away, or the rule is blind now."
    )
    because: str = Field(description="What came in between, and what its rule says now.")
    outcomes: tuple[Outcome, ...] = Field((), description="Of the settings that it asked for, the newest first.")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for; by default all of it.

    Attributes:
        rules: These rules.
        fingerprints: These findings.
        results: These results. Of findings, those with such an outcome.
        settings: Changes of these settings, and findings that ask for one.
        since: Changed or graded, or seen, at this time or later; Unix seconds.
        limit: Outcomes at most, and findings.
    """

    rules: Collection[str] = ()
    fingerprints: Collection[str] = ()
    results: Collection[Result] = ()
    settings: Collection[str] = ()
    since: float | None = None
    limit: int = SHOWN

    def outcome(self, each: Outcome) -> bool:
        """Whether an outcome is asked for."""
        return (
            _among(self.rules, each.rule)
            and _among(self.fingerprints, each.fingerprint)
            and _among(self.results, each.result)
            and _any(self.settings, (one.setting for one in each.changes))
            and (self.since is None or max(each.at, each.closed_at or each.at) >= self.since)
        )

    def found(self, each: Found, outcomes: Sequence[Outcome]) -> bool:
        """Whether a finding is asked for, with the outcomes that are."""
        return (
            _among(self.rules, each.rule)
            and _among(self.fingerprints, each.fingerprint)
            and (not self.results or any(one.fingerprint == each.fingerprint for one in outcomes))
            and _any(self.settings, (*each.settings, *(one.setting for one in each.promises)))
            and (self.since is None or each.last_seen >= self.since)
        )


def history(ledger: Ledger, wanted: Wanted = Wanted(), *, kept: bool = False, problem: str | None = None) -> History:
    """The part of a ledger that is asked for."""
    outcomes = [each for each in newest(ledger.outcomes.values()) if wanted.outcome(each)]
    last = sorted(ledger.found.values(), key=lambda each: each.last_seen, reverse=True)
    findings = [each for each in last if wanted.found(each, outcomes)]
    return History(
        kept=kept and problem is None,
        problem=problem,
        outcomes=tuple(outcomes[: wanted.limit]),
        more_outcomes=max(0, len(outcomes) - wanted.limit),
        findings=tuple(findings[: wanted.limit]),
        more_findings=max(0, len(findings) - wanted.limit),
    )


def newest(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Outcomes, the newest change first."""
    return sorted(outcomes, key=lambda each: each.at, reverse=True)


def of_finding(ledger: Ledger, fingerprint: str) -> tuple[Outcome, ...]:
    """The outcomes of a finding, the newest first."""
    return tuple(newest(each for each in ledger.outcomes.values() if each.fingerprint == fingerprint))


def dated(advice: Advice, ledger: Ledger) -> Advice:
    """Advice whose findings say when they were first seen. One that the ledger is to take yet is seen first now."""

    def first_seen(found: Recommendation, now: float | None) -> Recommendation:
        before = ledger.found.get(found.fingerprint)
        return found.model_copy(update={"first_seen": now if before is None else before.first_seen})

    def aside(each: SetAside, now: float | None) -> SetAside:
        return each.model_copy(update={"recommendation": first_seen(each.recommendation, now)})

    return advice.model_copy(
        update={
            "recommendations": tuple(first_seen(each, each.judged_at) for each in advice.recommendations),
            "overruled": tuple(aside(each, each.recommendation.judged_at) for each in advice.overruled),
            "suppressed": tuple(aside(each, None) for each in advice.suppressed),
        }
    )


def graded(found: Recommendation | SetAside, ledger: Ledger) -> GradedRecommendation | GradedSetAside:
    """A finding with its outcomes."""
    if isinstance(found, SetAside):
        outcomes = of_finding(ledger, found.recommendation.fingerprint)
        return GradedSetAside.model_construct(**dict(found), outcomes=outcomes)
    return GradedRecommendation.model_construct(**dict(found), outcomes=of_finding(ledger, found.fingerprint))


def _among(wanted: Collection[Item], value: Item | None) -> bool:
    return not wanted or value in wanted


def _any(wanted: Collection[str], values: Iterable[str]) -> bool:
    return not wanted or any(each in wanted for each in values)
