"""How many promises each rule kept, over all stretches."""

from __future__ import annotations

from advisor.ledger.entry import Outcome, Result
from advisor.ledger.grades import GradedStretch, RulePromises, grades
from tests.advisor.ledger.outcomes import RULE, outcome, worse


def stretch(*outcomes: Outcome) -> GradedStretch:
    return GradedStretch(recordings=("a",), server="b", began=0, ended=1, collections=2, findings=(), outcomes=outcomes)


def test_promises_are_counted_by_rule_and_changes_without_one_are_left_out() -> None:
    unpromised = outcome(0, 0, rule=None, promise=None, result=Result.UNPROMISED)
    open_ = outcome(0, 0, result=Result.OPEN, closed_at=None, measured=None, error=None)
    unlike = outcome(0, 0, result=Result.NOT_COMPARABLE, measured=None, error=None)
    other = outcome(0, 0, rule="another", others=(worse(),))
    promises = grades(
        [stretch(outcome(0, 0), unpromised, open_), stretch(outcome(0, 900), outcome(0, 9), unlike, other)]
    )
    assert promises.rules == (
        RulePromises(rule="another", kept=1, missed=0, not_comparable=0, harmful=1),
        RulePromises(rule=RULE, kept=2, missed=1, not_comparable=1, harmful=0),
    )


def test_without_outcomes_there_are_no_promises() -> None:
    assert grades([stretch()]).rules == ()
