"""Rules and a window to advice. Pure: the same window gives the same advice, in the same order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from advisor.advice.conflicts import resolve
from advisor.advice.interpreter import evaluate
from advisor.advice.remembered import Remembered
from advisor.advice.trace import Evaluation
from advisor.contract.recommendation import Advice, Blind, Failed, Recommendation
from advisor.observe.window import Window
from advisor.rules.check import Rule
from advisor.rules.configuration import Suppression


def advise(
    rules: Sequence[Rule],
    window: Window,
    *,
    beside: Sequence[Rule] = (),
    suppressions: Sequence[Suppression] = (),
    findings: frozenset[str] = frozenset(),
    seconds: float = math.inf,
    remembered: Remembered | None = None,
) -> Advice:
    """What the rules say: recommendations, the most severe first, and the rules that could not run.

    Args:
        rules: In any order.
        window: What has been watched.
        beside: Rules that are not asked, but blind where a source that they need is shut.
        suppressions: Findings that are not wanted.
        findings: Fingerprints of the findings of the last advice: they clear later than they came.
        seconds: CPU time for all rules together, beside the limit of each rule.
        remembered: The memory of days; None where none is kept.
    """
    trace = evaluate(rules, window, beside=beside, findings=findings, seconds=seconds, remembered=remembered)
    return advice(trace, window, suppressions)


_STANDS = 0.1
"""Confidence that a recommendation is ahead by once it is made: of two that contradict each other, the same is made."""


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
        suppressions: Findings that are not wanted.
        made_before: Fingerprints of the recommendations of the last advice.
    """
    latest = window.latest
    verdicts = [each.verdict for each in trace]
    found = [each for each in verdicts if isinstance(each, Recommendation)]
    found.sort(key=lambda r: (-r.severity.rank, -r.confidence, r.rule, sorted(r.subject.items())))
    sure = {r.fingerprint: r.confidence + _STANDS * (r.fingerprint in made_before) for r in found}
    found.sort(key=lambda r: (-r.severity.rank, -sure[r.fingerprint]))
    made, suppressed, overruled = resolve(found, suppressions, datetime.fromtimestamp(latest.at, UTC).date())
    return Advice(
        server=str(latest.server),
        at=latest.at,
        watched_seconds=round(window.seconds, 3),
        recommendations=made,
        blind=tuple(sorted({b for b in verdicts if isinstance(b, Blind)}, key=lambda b: (b.rule, b.lacks, b.reason))),
        failed=tuple(sorted({f for f in verdicts if isinstance(f, Failed)}, key=lambda f: (f.rule, f.reason))),
        suppressed=suppressed,
        overruled=overruled,
    )
