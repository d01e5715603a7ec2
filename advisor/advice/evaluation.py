"""Rules and a window to advice. Pure: the same window gives the same advice, in the same order."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from advisor.advice.conflicts import resolve
from advisor.advice.interpreter import evaluate
from advisor.advice.trace import Evaluation, RuleState, states
from advisor.contract.recommendation import Advice, Blind, Failed, Recommendation
from advisor.observe.window import Window
from advisor.rules.check import Rule
from advisor.rules.suppression import Suppression
from advisor.whatif.calibrations import Calibrations


@dataclass(frozen=True, slots=True)
class Judgement:
    """Advice, and the state of each rule behind it, by the rule's id."""

    advice: Advice
    states: Mapping[str, RuleState]


def advise(
    rules: Sequence[Rule],
    window: Window,
    *,
    beside: Sequence[Rule] = (),
    suppressions: Sequence[Suppression] = (),
    findings: frozenset[str] = frozenset(),
    seconds: float = math.inf,
) -> Advice:
    """What the rules say: recommendations, the most severe first, and the rules that could not run.

    Args:
        rules: In any order.
        window: What has been watched.
        beside: Rules that are not asked, but blind where a source that they need is shut.
        suppressions: Findings that are not wanted.
        findings: Fingerprints of the findings of the last advice: they clear later than they came.
        seconds: CPU time for all rules together, beside the limit of each rule.
    """
    return advice(evaluate(rules, window, beside=beside, findings=findings, seconds=seconds), window, suppressions)


def judge(
    rules: Sequence[Rule],
    window: Window,
    *,
    suppressions: Sequence[Suppression] = (),
    findings: frozenset[str] = frozenset(),
    seconds: float = math.inf,
    calibrations: Calibrations | None = None,
) -> Judgement:
    """Advice with the state of each rule. Arguments as in ``advise``.

    ``calibrations`` are the model's of earlier windows: what was calibrated for evidence that still stands is not
    calibrated again.
    """
    trace = tuple(evaluate(rules, window, findings=findings, seconds=seconds, calibrations=calibrations))
    made = advice(trace, window, suppressions)
    return Judgement(made, states(trace, made))


def advice(trace: Iterable[Evaluation], window: Window, suppressions: Sequence[Suppression] = ()) -> Advice:
    """The advice of a trace.

    Args:
        trace: The evaluations of rules over the window.
        window: What has been watched.
        suppressions: Findings that are not wanted.
    """
    latest = window.latest
    verdicts = [each.verdict for each in trace]
    found = [each for each in verdicts if isinstance(each, Recommendation)]
    found.sort(key=lambda r: (-r.severity.rank, -r.confidence, r.rule, sorted(r.subject.items())))
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
