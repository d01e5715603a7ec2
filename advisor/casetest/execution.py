"""Execution of a case: its window, and the rule's evaluation of that."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from advisor.advice import evaluation
from advisor.advice.interpreter import evaluate
from advisor.advice.remembered import Remembered
from advisor.advice.trace import Evaluation
from advisor.casetest import recordings
from advisor.casetest.cases import Case
from advisor.casetest.comparison import Difference, differences
from advisor.ledger.entry import Outcome
from advisor.ledger.ledger import Ledger
from advisor.observe.window import Window
from advisor.rules.check import Rule
from advisor.rules.rulebook import own_rules
from exporter.snapshot import Snapshot

BUDGET_SECONDS = 60.0
"""CPU time of a rule in a case."""


def run(rule: Rule, case: Case) -> list[Difference]:
    """Every difference between the rule's advice and the case; empty where the case passes.

    Raises:
        FileError: The recording cannot be used.
    """
    seen = window(case)
    return differences(case, evaluation.advice(trace(rule, seen, case), seen))


def window(case: Case) -> Window:
    """The recording with the case's alteration.

    Raises:
        FileError: The recording cannot be used.
    """
    return Window.of(_snapshots(case), float("inf"))


def _snapshots(case: Case) -> Sequence[Snapshot]:
    snapshots = recordings.snapshots(case.recording)
    return case.alteration.apply(snapshots) if case.alteration else snapshots


def trace(rule: Rule, seen: Window, case: Case) -> tuple[Evaluation, ...]:
    """The rule's evaluations, with a budget that makes no case depend on how busy the machine is."""
    known = Remembered() if case.alteration is None else case.alteration.remembered(seen)
    if rule.file.for_each == "harms" and not known.outcomes:
        known = replace(known, outcomes=_outcomes(case))
    return tuple(
        evaluate(
            [rule.with_budget(BUDGET_SECONDS)],
            seen,
            beside=_other_rules(rule),
            every_reason=True,
            remembered=known,
        )
    )


def _outcomes(case: Case) -> tuple[Outcome, ...]:
    """What became of the changes that the recording holds."""
    ledger, snapshots = Ledger(window_seconds=case.window_seconds), _snapshots(case)
    for count in range(1, len(snapshots) + 1):
        ledger, _ = ledger.observe(snapshots[:count], None)
    return tuple(ledger.outcomes.values())


def _other_rules(rule: Rule) -> tuple[Rule, ...]:
    """The other rules of the folder, for a rule about blind spots."""
    return _folder(rule.path.parent) if rule.file.for_each == "blind_spots" else ()


@functools.cache
def _folder(folder: Path) -> tuple[Rule, ...]:
    return own_rules(folder)
