"""The history: what became of changes, and the findings that stood, as a person asks for them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from advisor.contract.recommendation import Advice, Frozen, Recommendation, SetAside, Severity
from advisor.ledger.entry import Outcome, RememberedFinding, Result
from advisor.ledger.ledger import MOST_OUTCOMES, Ledger

Item = TypeVar("Item")

SHOWN = 100
"""Outcomes, and findings, that an answer has at most unless it is asked for more."""
_TIME = WithJsonSchema(
    {"anyOf": [{"type": "string", "format": name} for name in ("date-time", "date")] + [{"type": "number"}]}
)
"""pydantic takes all of these, and documents the first."""


class History(Frozen):
    """What became of changes, and the findings that stood."""

    kept: bool = Field(description="Whether all of it is in --state-dir, where it outlives a restart.")
    problem: str | None = Field(None, description="Why the newest entries could not be written there.")
    outcomes: tuple[Outcome, ...] = Field(description="The newest first.")
    more_outcomes: int = Field(0, description="Older ones that the limit leaves out.")
    findings: tuple[RememberedFinding, ...] = Field(description="The one that was seen last first.")
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


class HistoryFilter(BaseModel):
    """Which outcomes and findings are asked for; by default all of them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rule: list[str] = Field([], description="Of these rules; may be repeated.", examples=[["scan-exceeds-old-sublist"]])
    fingerprint: list[str] = Field(
        [], description="Of these findings; may be repeated.", examples=[["a63178a321b3b23c"]]
    )
    result: list[Result] = Field([], description="With these results; may be repeated.", examples=[["missed"]])
    setting: list[str] = Field(
        [], description="Of these settings; may be repeated.", examples=[["innodb_old_blocks_pct"]]
    )
    since: Annotated[datetime, _TIME] | None = Field(
        None,
        description="Changed or graded, or for findings seen, at this time or later: ISO 8601, UTC where it names no "
        "zone; or Unix seconds.",
        examples=["2026-11-23"],
    )
    limit: int = Field(SHOWN, ge=1, le=MOST_OUTCOMES, description="Outcomes at most, and findings.", examples=[20])

    def outcomes(self, ledger: Ledger) -> list[Outcome]:
        """The outcomes that are asked for, the newest change first."""
        return [
            outcome
            for outcome in newest(ledger.outcomes.values())
            if _among(self.rule, outcome.rule)
            and _among(self.fingerprint, outcome.fingerprint)
            and _among(self.result, outcome.result)
            and _any(self.setting, (change.setting for change in outcome.changes))
            and self._is_recent(max(outcome.at, outcome.closed_at or outcome.at))
        ]

    def findings(self, ledger: Ledger, outcomes: Sequence[Outcome]) -> list[RememberedFinding]:
        """The findings that are asked for, with the outcomes that are; the one that was seen last comes first."""
        return [
            finding
            for finding in sorted(ledger.findings.values(), key=lambda finding: finding.last_seen, reverse=True)
            if _among(self.rule, finding.rule)
            and _among(self.fingerprint, finding.fingerprint)
            and (not self.result or any(outcome.fingerprint == finding.fingerprint for outcome in outcomes))
            and _any(self.setting, (*finding.settings, *(promise.setting for promise in finding.promises)))
            and self._is_recent(finding.last_seen)
        ]

    def _is_recent(self, at: float) -> bool:
        if self.since is None:
            return True
        return at >= (self.since.replace(tzinfo=UTC) if self.since.tzinfo is None else self.since).timestamp()


def history(
    ledger: Ledger, selection: HistoryFilter | None = None, *, kept: bool = False, problem: str | None = None
) -> History:
    """The part of a ledger that is asked for; by default all of it."""
    selection = selection or HistoryFilter()
    outcomes = selection.outcomes(ledger)
    findings = selection.findings(ledger, outcomes)
    return History(
        kept=kept and problem is None,
        problem=problem,
        outcomes=tuple(outcomes[: selection.limit]),
        more_outcomes=max(0, len(outcomes) - selection.limit),
        findings=tuple(findings[: selection.limit]),
        more_findings=max(0, len(findings) - selection.limit),
    )


def newest(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Outcomes, the newest change first."""
    return sorted(outcomes, key=lambda outcome: outcome.at, reverse=True)


def of_finding(ledger: Ledger, fingerprint: str) -> tuple[Outcome, ...]:
    """The outcomes of a finding, the newest first."""
    return tuple(newest(outcome for outcome in ledger.outcomes.values() if outcome.fingerprint == fingerprint))


def dated(advice: Advice, ledger: Ledger) -> Advice:
    """Advice whose findings say when they were first seen. One that the ledger is to take yet is seen first now."""

    def first_seen(finding: Recommendation, now: float | None) -> Recommendation:
        before = ledger.findings.get(finding.fingerprint)
        return finding.model_copy(update={"first_seen": now if before is None else before.first_seen})

    def aside(finding: SetAside, now: float | None) -> SetAside:
        return finding.model_copy(update={"recommendation": first_seen(finding.recommendation, now)})

    return advice.model_copy(
        update={
            "recommendations": tuple(first_seen(finding, finding.judged_at) for finding in advice.recommendations),
            "overruled": tuple(aside(finding, finding.recommendation.judged_at) for finding in advice.overruled),
            "suppressed": tuple(aside(finding, None) for finding in advice.suppressed),
        }
    )


def graded(finding: Recommendation | SetAside, ledger: Ledger) -> GradedRecommendation | GradedSetAside:
    """A finding with its outcomes."""
    if isinstance(finding, SetAside):
        outcomes = of_finding(ledger, finding.recommendation.fingerprint)
        return GradedSetAside.model_construct(**dict(finding), outcomes=outcomes)
    return GradedRecommendation.model_construct(**dict(finding), outcomes=of_finding(ledger, finding.fingerprint))


def _among(asked: Collection[Item], value: Item | None) -> bool:
    return not asked or value in asked


def _any(asked: Collection[str], values: Iterable[str]) -> bool:
    return not asked or any(value in asked for value in values)
