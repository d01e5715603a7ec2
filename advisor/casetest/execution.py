"""Execution of a case: its window, and the rule's evaluation of that."""

from __future__ import annotations

import functools
from pathlib import Path

from advisor.advice import evaluation
from advisor.advice.interpreter import evaluate
from advisor.advice.trace import Evaluation
from advisor.casetest import recordings
from advisor.casetest.alterations import Alteration
from advisor.casetest.cases import Case
from advisor.casetest.comparison import Difference, differences
from advisor.observe.window import Window
from advisor.rules.check import Rule
from advisor.rules.rulebook import own_rules

BUDGET_SECONDS = 60.0
"""CPU time of a rule in a case."""


def run(rule: Rule, case: Case) -> list[Difference]:
    """Every difference between the rule's advice and the case; empty where the case passes.

    Raises:
        FileError: The recording cannot be used.
    """
    seen = window(case)
    return differences(case, evaluation.advice(trace(rule, seen, case.alteration), seen))


def window(case: Case) -> Window:
    """The recording with the case's alteration.

    Raises:
        FileError: The recording cannot be used.
    """
    snapshots = recordings.snapshots(case.recording)
    return Window.of(case.alteration.apply(snapshots) if case.alteration else snapshots, float("inf"))


def trace(rule: Rule, seen: Window, alteration: Alteration | None = None) -> tuple[Evaluation, ...]:
    """The rule's evaluations, with a budget that makes no case depend on how busy the machine is."""
    return tuple(
        evaluate(
            [rule.with_budget(BUDGET_SECONDS)],
            seen,
            beside=_other_rules(rule),
            every_reason=True,
            remembered=None if alteration is None else alteration.remembered(seen),
        )
    )


def _other_rules(rule: Rule) -> tuple[Rule, ...]:
    """The other rules of the folder, for a rule about blind spots."""
    return _folder(rule.path.parent) if rule.file.for_each == "blind_spots" else ()


@functools.cache
def _folder(folder: Path) -> tuple[Rule, ...]:
    return own_rules(folder)
