"""Advice, with the snapshot and the rules that it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from advisor.advice.trace import RuleState
from advisor.contract.recommendation import Advice
from advisor.observe.window import Window
from advisor.rules.rulebook import RuleSet
from exporter.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Assessment:
    """What a rule set said of a window.

    Attributes:
        states: The state of each rule, by its id.
        snapshot: The newest snapshot of the window.
    """

    advice: Advice
    states: Mapping[str, RuleState]
    snapshot: Snapshot
    rule_set: RuleSet

    @property
    def fingerprints(self) -> frozenset[str]:
        """The fingerprints of all findings, set aside or not."""
        aside = (*self.advice.suppressed, *self.advice.overruled)
        found = (*self.advice.recommendations, *(each.recommendation for each in aside))
        return frozenset(each.fingerprint for each in found)

    def is_within(self, window: Window) -> bool:
        """Whether its newest snapshot is in the window: no restart and no change of settings came in between."""
        return window.snapshots[0].at <= self.snapshot.at <= window.latest.at
