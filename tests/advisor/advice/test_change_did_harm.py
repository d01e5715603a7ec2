"""A change that did harm is a finding until it is taken back, and it wins over advice for the same setting."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from advisor.advice import evaluation
from advisor.advice.interpreter import Remembered
from advisor.advice.judgement import Judgement, judge
from advisor.contract.recommendation import Advice, Severity
from advisor.ledger.entry import Outcome
from advisor.observe.window import Window
from advisor.rules import check
from advisor.rules.check import Rule
from tests.advisor.building import RULES_FOLDER, snapshot, variables
from tests.advisor.ledger.test_harm import HARMED, PCT

[RULE] = [rule for rule in check.load(RULES_FOLDER) if rule.id == "change-did-harm"]


def window(pct: str, first: float = 500) -> Window:
    return Window(tuple(snapshot(at, variables=variables(innodb_old_blocks_pct=pct)) for at in (first, first + 100)))


def advised(pct: str, *others: Rule, outcomes: Sequence[Outcome] = (HARMED,)) -> Advice:
    return evaluation.advise([RULE, *others], window(pct), remembered=Remembered(outcomes=outcomes))


def test_it_is_critical_and_has_the_sql_that_takes_it_back() -> None:
    [finding] = advised("95").recommendations
    assert (finding.severity, finding.subject) == (Severity.CRITICAL, {"setting": PCT})
    [change] = finding.changes
    assert (change.apply, change.rollback) == ((f"SET GLOBAL {PCT} = 37",), (f"SET GLOBAL {PCT} = 95",))
    assert finding.actions == ()
    assert finding.effect is not None
    assert (finding.effect.now, finding.effect.predicted, finding.effect.unit) == (812, 0.25, "pages per second")
    assert finding.effect.quantity == "pages read per second of shop.hot"
    assert "pages read per second of shop.hot rose from 0.25 to 812" in finding.summary
    noise = next(fact for fact in finding.evidence if fact.name == "noise")
    assert (noise.value, noise.unit) == (3, "pages per second")


def test_without_an_outcome_or_with_the_setting_taken_back_there_is_none() -> None:
    assert advised("95", outcomes=()).recommendations == ()
    assert advised("37").recommendations == ()


def test_advice_for_another_value_waits_until_it_is_taken_back(make_rule: Callable[..., Rule]) -> None:
    advice = advised("95", make_rule(change=[{"setting": PCT, "value": 80}]))
    assert [finding.rule for finding in advice.recommendations] == [RULE.id]
    assert [aside.recommendation.rule for aside in advice.overruled] == ["plain"]


def test_it_ends_at_the_first_collection_with_another_value() -> None:
    def judged(seen: Window, before: dict[str, Judgement]) -> Judgement:
        [judgement] = judge([RULE], seen, before=before, remembered=Remembered(outcomes=(HARMED,)))
        return judgement

    stood = judged(window("95"), {})
    assert len(stood.findings) == 1
    assert not judged(window("37", first=601), {RULE.id: stood}).findings
