"""Grades of a replay of recordings: the outcomes of each stretch, and how many promises each rule kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import Field

from advisor.contract.recommendation import Frozen
from advisor.ledger.entry import Outcome, RememberedFinding, Result


class GradedStretch(Frozen):
    """Recordings of a server that follow each other."""

    recordings: tuple[str, ...]
    server: str
    began: float = Field(description="Unix seconds.")
    ended: float = Field(description="Unix seconds.")
    collections: int
    findings: tuple[RememberedFinding, ...]
    outcomes: tuple[Outcome, ...] = Field(description="In the order of their changes.")


class RulePromises(Frozen):
    """What became of the promises of a rule."""

    rule: str
    kept: int
    missed: int
    not_comparable: int
    harmful: int = Field(description="Outcomes after which something else got worse.")


class Grades(Frozen):
    """The stretches, and what became of their promises."""

    stretches: tuple[GradedStretch, ...]
    rules: tuple[RulePromises, ...] = Field(description="Rules that promised something, in the order of their names.")

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Of all stretches."""
        return tuple(outcome for stretch in self.stretches for outcome in stretch.outcomes)


def grades(stretches: Iterable[GradedStretch]) -> Grades:
    """With the promises of all stretches by rule. Changes that nobody promised anything of are left out."""
    all_ = tuple(stretches)
    by_rule: dict[str, list[Outcome]] = {}
    for outcome in (outcome for stretch in all_ for outcome in stretch.outcomes):
        if outcome.rule is not None and outcome.promise is not None:
            by_rule.setdefault(outcome.rule, []).append(outcome)
    return Grades(stretches=all_, rules=tuple(_promises(rule, by_rule[rule]) for rule in sorted(by_rule)))


def _promises(rule: str, outcomes: Sequence[Outcome]) -> RulePromises:
    results = [outcome.result for outcome in outcomes]
    return RulePromises(
        rule=rule,
        kept=results.count(Result.KEPT),
        missed=results.count(Result.MISSED),
        not_comparable=results.count(Result.NOT_COMPARABLE),
        harmful=sum(bool(outcome.harm) for outcome in outcomes),
    )
