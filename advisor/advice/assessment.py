"""Advice, with the snapshot and the rules that it comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from advisor.advice.evaluation import advice
from advisor.advice.judgement import Judgement
from advisor.advice.trace import Evaluation, RuleState, states
from advisor.contract.recommendation import Advice, Blind
from advisor.ledger.entry import RememberedFinding
from advisor.observe.window import Window
from advisor.rules.rulebook import RuleSet
from exporter.snapshot import Snapshot


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
        """What the rule of a finding says of its subject now, or of the server as a whole where that settles it."""
        of_rule = (evaluation for evaluation in self.trace if evaluation.rule == finding.rule)
        return tuple(one for one in of_rule if not one.subject or one.subject == finding.subject)

    def is_gone(self, finding: RememberedFinding) -> bool:
        """Whether its rule was judged and no longer makes it. One that is blind or has failed may still be true."""
        return all(evaluation.verdict is None for evaluation in self.about(finding))


def assess(
    judgements: Mapping[str, Judgement],
    pending: Sequence[str],
    window: Window,
    rule_set: RuleSet,
    before: Assessment | None = None,
) -> Assessment:
    """The assessment that judgements amount to.

    Args:
        judgements: By rule.
        pending: Rules that were not judged yet: they are blind for now.
        window: The newest that a rule was judged on.
        rule_set: The rules.
        before: The last assessment.
    """
    trace = [evaluation for judgement in judgements.values() for evaluation in judgement.evaluations]
    trace += [Evaluation(rule, {}, _not_yet(rule)) for rule in pending]
    made = frozenset(finding.fingerprint for finding in before.advice.recommendations) if before else frozenset()
    judged = advice(trace, window, rule_set.suppressions, made)
    judged_at = {rule: judgement.at for rule, judgement in judgements.items()}
    return Assessment(judged, states(trace, judged), judged_at, window.latest, rule_set, tuple(trace))


def _not_yet(rule: str) -> Blind:
    return Blind(rule=rule, lacks="time", reason="its model is being fitted for the first time", cure="wait for it")
