"""Checks of captures in which advice is followed."""

from __future__ import annotations

from advisor.advice.replay import Replaying
from advisor.ledger.entry import Result
from advisor.ledger.ledger import Ledger
from advisor.rules.rulebook import Rulebook
from lab.captures.checks.base import Numbers, Snapshots, require
from lab.harness.watch import RULES_FOLDER

WINDOW_SECONDS = 8.0
"""Length of a window: three of them fit on each side of the change."""


def kept(snapshots: Snapshots, rule: str) -> Numbers:
    """The rule's advice is followed, and its promise is kept."""
    replaying = Replaying(Rulebook(RULES_FOLDER).rule_set, Ledger(window_seconds=WINDOW_SECONDS))
    for _ in replaying.replay(snapshots):
        pass
    outcomes = [each for each in replaying.ledger.outcomes.values() if each.rule == rule and each.followed]
    require(len(outcomes) == 1, f"{len(outcomes)} outcomes of {rule}: {[*replaying.ledger.outcomes.values()]}")
    [outcome] = outcomes
    require(outcome.result is Result.KEPT, f"the promise is {outcome.result}: {outcome.why}")
    assert outcome.promise is not None  # noqa: S101 - it was kept
    assert outcome.measured is not None  # noqa: S101 - as before
    return {
        "followed": f"{outcome.promise.setting} = {outcome.promise.to:g}",
        "promised": outcome.promise.predicted,
        "before": round(outcome.measured.before),
        "after": round(outcome.measured.after),
    }
