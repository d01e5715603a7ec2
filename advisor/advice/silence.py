"""Why rules are silent: what keeps each of them from a finding, item by item."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal

from pydantic import Field

from advisor.advice.judgement import Assessment
from advisor.advice.trace import Evaluation
from advisor.contract.recommendation import Blind, Failed, Frozen, Recommendation, SetAside

SilenceState = Literal["failed", "blind", "suppressed", "overruled", "silent", "does not apply", "firing"]
_ORDER: tuple[SilenceState, ...] = (
    *("failed", "blind", "suppressed", "overruled", "silent", "does not apply", "firing"),
)


class Silence(Frozen):
    """A rule on one item of its list, or on the server as a whole, and why it makes no finding there."""

    rule: str
    state: SilenceState = Field(
        description="Failed: nothing is known. Blind: something it needs is missing. Suppressed: by the configuration."
        " Overruled: by a finding that it contradicts. Silent: a condition does not hold. Does not apply: it is for"
        " other servers. Firing: it is not silent."
    )
    subject: Mapping[str, str] = Field({}, description="Empty for the server.")
    reasons: tuple[str, ...] = Field(description="Conditions with their values, what is missing, or who decided it.")
    cure: str | None = Field(None, description="What would let a blind rule see.")
    fingerprint: str | None = Field(None, description="Of the finding that is set aside, or that it makes.")


class Silences(Frozen):
    """Why rules are silent on a window."""

    server: str
    at: float = Field(description="The newest snapshot's time, Unix seconds.")
    watched_seconds: float
    silences: tuple[Silence, ...] = Field(description="First what could not be judged, then what is set aside.")


def silences(assessment: Assessment, rules: Collection[str] = ()) -> Silences:
    """Why rules make no finding.

    Args:
        assessment: The last one.
        rules: Their ids; empty for all rules, but for their findings.
    """
    advice = assessment.advice
    kinds: tuple[tuple[SilenceState, Sequence[SetAside]], ...] = (
        ("suppressed", advice.suppressed),
        ("overruled", advice.overruled),
    )
    reasons = {aside.recommendation.fingerprint: (state, aside.reason) for state, kind in kinds for aside in kind}
    rows = [
        silence
        for evaluation in assessment.trace
        if not rules or evaluation.rule in rules
        for silence in _silences(evaluation, reasons)
        if rules or silence.state != "firing"
    ]
    return Silences(
        server=advice.server,
        at=advice.at,
        watched_seconds=advice.watched_seconds,
        silences=tuple(sorted(rows, key=lambda silence: _ORDER.index(silence.state))),
    )


def _silences(evaluation: Evaluation, aside: Mapping[str, tuple[SilenceState, str]]) -> Iterator[Silence]:
    rule, subject = evaluation.rule, evaluation.subject
    match evaluation.verdict:
        case Recommendation(fingerprint=fingerprint, summary=summary):
            state, reason = aside.get(fingerprint, ("firing", summary))
            yield Silence(rule=rule, state=state, subject=subject, reasons=(reason,), fingerprint=fingerprint)
        case Failed(reason=reason):
            yield Silence(rule=rule, state="failed", subject=subject, reasons=(reason,))
        case Blind(lacks=lacks, reason=reason, cure=cure):
            yield Silence(rule=rule, state="blind", subject=subject, reasons=(f"{lacks}: {reason}",), cure=cure)
        case None:
            applies = all(refusal.key != "applies" for refusal in evaluation.refusals)
            yield Silence(
                rule=rule,
                state="silent" if applies else "does not apply",
                subject=subject,
                reasons=tuple(" ".join(str(refusal).split()) for refusal in evaluation.refusals),
            )
