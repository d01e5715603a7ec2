"""How far predictions were off, and what a rule's confidence learns from it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from advisor.advice import evaluation
from advisor.advice.remembered import Remembered
from advisor.contract.recommendation import Recommendation
from advisor.ledger.calibration import NEWEST, calibration, track_records
from advisor.ledger.entry import Outcome, Result
from advisor.observe.window import Window
from advisor.render import markdown, text
from advisor.rules import check
from tests.advisor.building import RULES_FOLDER, captured
from tests.advisor.ledger.outcomes import DAY, RULE, outcome, worse

KEPT, MISSED = outcome(0, 20), outcome(0, 200)  # 2 % and 20 % off; 5 % are stated


def factor(*outcomes: Outcome) -> float:
    return track_records(outcomes)[RULE].factor


def test_the_table_has_what_was_off_by_rule_and_leaves_out_what_nobody_promised() -> None:
    unpromised = outcome(0, 0, rule=None, promise=None, result=Result.UNPROMISED)
    open_ = outcome(0, 0, result=Result.OPEN, closed_at=None, measured=None, error=None)
    unlike = outcome(0, 0, result=Result.NOT_COMPARABLE, measured=None, error=None)
    other = outcome(500, 400, stated=None, rule="another", result=Result.KEPT)
    found = calibration(("here", each) for each in (KEPT, MISSED, outcome(300, 260), unpromised, open_, unlike, other))
    assert [each.rule for each in found.rules] == ["another", RULE]
    assert found.rules[1].model_dump() == {
        "rule": RULE,
        "predictions": 3,
        "kept": 2,
        "median_error": pytest.approx(0.04),
        "largest_error": pytest.approx(0.2),
        "bias": pytest.approx(0.02),
        "not_comparable": 1,
        "harmful": 0,
    }
    assert (len(found.predictions), found.kept) == (4, 3)
    assert [(each.predicted, each.measured, each.where) for each in found.predictions if each.rule == RULE] == [
        (0, 20, "here"),
        (0, 200, "here"),
        (300, 260, "here"),
    ]


def test_no_outcome_makes_an_empty_table_and_no_track_record() -> None:
    assert calibration([]).rules == ()
    assert track_records([outcome(0, 0, rule=None, promise=None, result=Result.UNPROMISED)]) == {}


def test_a_missed_promise_lowers_the_factor_the_more_the_further_it_was_off() -> None:
    assert factor(KEPT) == 1
    assert factor(outcome(0, 100)) == 0.75  # 10 % off, twice what was stated: half of a kept promise
    assert factor(MISSED) == 0.625
    assert factor(outcome(0, 1000)) == 0.525
    assert factor(outcome(0, 400, stated=None)) == 0.75  # 20 % are allowed
    assert factor(outcome(0, 400, stated=0.0)) == 0.5


def test_kept_promises_restore_it_step_by_step_and_never_beyond_the_rule() -> None:
    factors = [factor(MISSED, *[KEPT] * kept) for kept in range(NEWEST)]
    assert all(before < after < 1 for before, after in pairwise(factors))
    assert factor(MISSED, *[outcome(0, 0, at=2 * DAY)] * NEWEST) == 1  # forgotten: the newest count
    assert factor(*[outcome(0, 9999)] * 100) > 1 / (NEWEST + 1)


def test_advice_that_harmed_something_else_counts_as_missed_and_says_what() -> None:
    [record] = track_records([outcome(0, 0, others=(worse(),))]).values()
    assert (record.kept, record.off, record.factor) == (0, 1, 0.5)
    assert record.note.endswith("1970-01-02, pages read per second of shop.items rose from 5 to 95")


def test_the_next_finding_says_so_and_its_confidence_is_lower() -> None:
    rules = [each for each in check.load(RULES_FOLDER) if each.id == RULE]
    window = captured("mysql-9.7/repeated-scan")

    def found(*outcomes: Outcome) -> Recommendation:
        [found] = evaluation.advise(rules, window, remembered=Remembered(outcomes=outcomes)).recommendations
        return found

    before, kept, off, restored = found(), found(KEPT), found(MISSED), found(MISSED, KEPT)
    assert before.track_record is None
    assert before.confidence == kept.confidence > restored.confidence > off.confidence
    assert off.confidence == pytest.approx(0.625 * before.confidence, abs=0.001)
    assert off.track_record is not None
    assert off.track_record.note == (
        "the last promise of this rule was off on this server: 1970-01-02, pages read per pass: predicted 0,"
        " measured 200"
    )
    assert restored.track_record is not None
    assert restored.track_record.note.startswith("1 of the last 2 promises of this rule were kept on this server: ")
    shown = f"{off.track_record.note}; the confidence is multiplied by 0.625"
    assert shown in " ".join(text.plain_finding(off).split())
    assert shown in markdown.markdown_finding(off)
    assert "multiplied" not in text.plain_finding(kept)


def test_a_rule_without_outcomes_is_as_sure_as_before(make_rule: Callable[..., check.Rule]) -> None:
    window = Window(captured("mysql-9.7/repeated-scan").snapshots)
    rule = make_rule()
    [found] = evaluation.advise([rule], window, remembered=Remembered(outcomes=[MISSED])).recommendations
    assert (found.track_record, found.confidence) == (None, rule.file.confidence)
