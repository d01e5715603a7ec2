"""A value that moved says from what, and because of what; one that is still as good does not move."""

from __future__ import annotations

from advisor.advice.judgement import Judgement, judge
from advisor.contract.recommendation import Evidence, Recommendation
from tests.advisor.building import built_in_rule, three_passes

RULE = built_in_rule("scan-exceeds-old-sublist")


def judged(pages: int, before: Judgement | None = None) -> Judgement:
    """The rule over three passes of a table of so many pages."""
    window = three_passes({"orders": pages}, every=300.0)
    [judgement] = judge([RULE], window, recent=False, before={RULE.id: before} if before else None)
    return judgement


def finding(judgement: Judgement) -> Recommendation:
    [finding] = judgement.findings.values()
    return finding


def value(judgement: Judgement) -> float | str:
    return finding(judgement).changes[0].to


def moved(judgement: Judgement) -> list[Evidence]:
    return [item for item in finding(judgement).evidence if item.name == "advised_before"]


def test_a_first_value_moved_from_none() -> None:
    assert moved(judged(11_400)) == []


def test_a_value_that_moved_says_from_what_and_because_of_what() -> None:
    before = judged(11_400)
    now = judged(13_400, before)
    assert value(now) == value(judged(13_400)) != value(before)
    [item] = moved(now)
    assert item.value == value(before)
    assert item.source.startswith("the advice after 15 min; since then ")
    assert "table pages 11,400 -> 13,400" in item.source


def test_the_earlier_value_stays_in_the_evidence_until_the_finding_clears() -> None:
    now = judged(13_400, judged(11_400))
    assert moved(judged(13_400, now)) == moved(now)


def test_a_value_that_moved_after_small_steps_names_the_figures_since_it_was_first_advised() -> None:
    first = now = judged(13_400)
    for pages in range(13_000, 12_000, -400):
        before, now = now, judged(pages, now)
        if value(now) != value(before):
            break
    [item] = moved(now)
    assert item.value == value(first)
    assert "table pages 13,400 -> 12," in item.source


def test_a_value_that_is_as_good_as_the_best_stays() -> None:
    before = judged(11_700)
    now = judged(11_400, before)
    assert value(now) == value(before) != value(judged(11_400))
    assert moved(now) == []


def test_a_value_that_is_too_small_moves() -> None:
    before = judged(11_400)
    now = judged(11_700, before)
    assert value(now) == value(judged(11_700)) != value(before)
    [item] = moved(now)
    assert item.source.endswith("since then no figure moved by more than 5%")
