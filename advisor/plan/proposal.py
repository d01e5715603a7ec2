"""The changes of a finding that a plan can be made of, with what they are predicted to do. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from advisor.contract.recommendation import Alternative, Change, Effect, Recommendation, SetAside
from advisor.plan.targets.target import PlanRefused


@dataclass(frozen=True, slots=True)
class Proposal:
    """Changes that are made together.

    Attributes:
        finding: Whose changes they are.
        changes: At least one.
        effect, cost, others: As the finding, or the alternative, predicts them.
        notes: What else to know of the choice.
    """

    finding: Recommendation
    changes: tuple[Change, ...]
    effect: Effect | None
    cost: Effect | None
    others: Effect | None
    notes: tuple[str, ...] = ()


def proposal(finding: Recommendation | SetAside) -> Proposal:
    """The finding's own changes; where it has none, its first alternative.

    Raises:
        PlanRefused: It is set aside, or asks for an action and no setting.
    """
    if isinstance(finding, SetAside):
        raise PlanRefused(f"{finding.recommendation.rule} is set aside: {finding.reason}")
    alternatives = finding.alternatives
    if not (finding.changes or alternatives):
        todo = "; ".join(action.do.rstrip(".") for action in finding.actions)
        raise PlanRefused(f"{finding.rule} asks for no setting that a patch could hold, but for this: {todo}")
    chosen: Recommendation | Alternative
    chosen, changes, rest = finding, finding.changes, alternatives
    if not changes:
        chosen, rest = alternatives[0], alternatives[1:]
        changes = (chosen.change,)
    instead = (f"Instead of this, {other.change.config} would help too." for other in rest)
    notes = (*(action.do for action in finding.actions), *instead)
    return Proposal(finding, changes, chosen.effect, chosen.cost, chosen.others, notes)
