"""Rules and a window to advice. Pure: the same window gives the same advice, in the same order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime

from advisor.advice.interpreter import Remembered, evaluate
from advisor.advice.trace import Evaluation
from advisor.contract.recommendation import Advice, Blind, Change, Failed, Recommendation, SetAside
from advisor.observe.window import Window
from advisor.rules.check import Rule
from advisor.rules.configuration import Suppression

_LEAD = 0.1
"""Confidence that the recommendations of the last advice gain: of two that contradict each other, the same one wins."""


def advise(
    rules: Sequence[Rule],
    window: Window,
    *,
    beside: Sequence[Rule] = (),
    suppressions: Sequence[Suppression] = (),
    findings: Sequence[Recommendation] = (),
    seconds: float = math.inf,
    remembered: Remembered | None = None,
) -> Advice:
    """The advice of rules: recommendations, the most severe first, and the rules that could not run.

    Args:
        rules: In any order.
        window: What has been watched.
        beside: Rules that are not evaluated, but count among those that need a source.
        suppressions: Of findings.
        findings: Those of the last advice: they clear later than they came, and keep a value that is still as good as
            the best.
        seconds: CPU time for all rules together, beside the limit of each rule.
        remembered: The past that rules know; by default they know none.
    """
    trace = evaluate(rules, window, beside=beside, findings=findings, seconds=seconds, remembered=remembered)
    return advice(trace, window, suppressions)


def advice(
    trace: Iterable[Evaluation],
    window: Window,
    suppressions: Sequence[Suppression] = (),
    made_before: frozenset[str] = frozenset(),
) -> Advice:
    """The advice of a trace.

    Args:
        trace: The evaluations of rules over the window.
        window: What has been watched.
        suppressions: A suppressed finding overrules nothing.
        made_before: Fingerprints of the recommendations of the last advice.
    """
    latest = window.latest
    verdicts = [evaluation.verdict for evaluation in trace]
    findings = [verdict for verdict in verdicts if isinstance(verdict, Recommendation)]
    findings.sort(key=lambda r: (-r.severity.rank, -r.confidence, r.rule, sorted(r.subject.items())))
    findings.sort(key=lambda r: (-r.severity.rank, -r.confidence - _LEAD * (r.fingerprint in made_before)))
    today = datetime.fromtimestamp(latest.at, UTC).date()
    suppressed = [aside for finding in findings if (aside := _suppressed(finding, suppressions, today)) is not None]
    set_aside = {aside.recommendation.fingerprint for aside in suppressed}
    recommendations, overruled = _resolved([f for f in findings if f.fingerprint not in set_aside])
    return Advice(
        server=str(latest.server),
        at=latest.at,
        watched_seconds=round(window.seconds, 3),
        recommendations=tuple(recommendations),
        blind=tuple(sorted({b for b in verdicts if isinstance(b, Blind)}, key=lambda b: (b.rule, b.lacks, b.reason))),
        failed=tuple(sorted({f for f in verdicts if isinstance(f, Failed)}, key=lambda f: (f.rule, f.reason))),
        suppressed=tuple(suppressed),
        overruled=tuple(overruled),
    )


def _suppressed(finding: Recommendation, suppressions: Sequence[Suppression], today: date) -> SetAside | None:
    for suppression in suppressions:
        if suppression.covers(finding.rule, finding.fingerprint, today):
            return SetAside(recommendation=finding, reason=suppression.text)
    return None


def _resolved(findings: Sequence[Recommendation]) -> tuple[list[Recommendation], list[SetAside]]:
    """The findings to recommend, and those that contradict one of them; of two the first is recommended."""
    recommendations: list[Recommendation] = []
    overruled: list[SetAside] = []
    for finding in findings:
        reasons = (_contradiction(recommendation, finding) for recommendation in recommendations)
        reason = next((reason for reason in reasons if reason is not None), None)
        if reason is None:
            recommendations.append(finding)
        else:
            overruled.append(SetAside(recommendation=finding, reason=reason))
    return recommendations, overruled


def _contradiction(recommendation: Recommendation, other: Recommendation) -> str | None:
    """Why both cannot be followed: they set the same setting to different values."""
    for change in recommendation.changes:
        for second in other.changes:
            if change.setting == second.setting and change.to != second.to:
                way = "the other way" if _opposed(change, second) else "to another value"
                return (
                    f"{recommendation.rule} ({recommendation.fingerprint}) sets {change.setting} to {change.to},"
                    f" this one {way}, {second.to}: follow the first, and look again"
                )
    return None


def _opposed(change: Change, second: Change) -> bool:
    values = (change.to, change.from_, second.to)
    if not all(isinstance(value, int | float) for value in values):
        return True
    to, before, other = (float(value) for value in values if not isinstance(value, str | None))
    return (to - before) * (other - before) < 0
