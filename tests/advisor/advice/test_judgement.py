"""Findings come once and clear late; the last minutes are judged beside the hour."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import pytest

from advisor.advice.judgement import CLEAR_SECONDS, Judgement, judge
from advisor.contract.recommendation import Recommendation
from advisor.observe.window import Window
from advisor.rules.check import Rule
from exporter.snapshot import ReadOutcome
from tests.advisor.building import scanned, snapshot

MakeRule = Callable[..., Rule]
STEP = 10.0
READING: dict[str, Any] = {
    "for_each": "scans",
    "needs": ["table_scans"],
    "when": ["scan.pages_read_per_pass >= 0.5 * scan.pages"],
    "lasting": {"condition": "scan.pages_read_per_pass >= 0.5 * scan.pages"},
    "effect": {"quantity": "pages read per pass", "now": "scan.pages_read_per_pass", "predicted": 0},
}
SAMPLE: dict[str, Any] = READING | {"when": ["scan.pages_read_last_pass >= 0.5 * scan.pages"]}


def history(*reads: int, **sections: Any) -> list[Any]:
    """A pass every ten seconds that reads so many pages of its 11,400."""
    return [scanned(STEP * k, k, pages, **sections) for k, pages in enumerate(accumulate(reads, initial=0))]


def judged(rule: Rule, snapshots: list[Any], before: Judgement | None = None, **options: Any) -> Judgement:
    last = {} if before is None else {rule.id: before}
    [judgement] = judge([rule], Window.of(snapshots, 3600), before=last, **options)
    return judgement


def findings(judgement: Judgement) -> list[Recommendation]:
    return [
        evaluation.verdict for evaluation in judgement.evaluations if isinstance(evaluation.verdict, Recommendation)
    ]


def test_minutes_that_drown_in_the_mean_of_an_hour_are_found_with_their_begin(make_rule: MakeRule) -> None:
    snapshots = history(*[0] * 318, *[11_400] * 42)
    rule, begin = make_rule(**READING), snapshots[318].at
    assert findings(judged(rule, snapshots, recent=False)) == []
    [finding] = findings(judged(rule, snapshots))
    assert (finding.watched_seconds, finding.trend) == (300.0, "worse")
    assert finding.since is not None
    assert begin - 450 <= finding.since <= begin
    assert finding.judged_at == snapshots[-1].at


def test_a_finding_begins_within_the_last_minutes_where_it_does(make_rule: MakeRule) -> None:
    snapshots = history(*[0] * 340, *[11_400] * 20)
    [finding] = findings(judged(make_rule(**READING), snapshots))
    assert finding.since == pytest.approx(snapshots[340].at, abs=40)


@pytest.mark.parametrize(
    ("earlier", "of_late", "trend"),
    [(11_400, 11_400, "steady"), (6_500, 11_400, "worse"), (11_400, 6_500, "better")],
)
def test_the_trend_is_the_last_minutes_beside_the_hour(
    make_rule: MakeRule, earlier: int, of_late: int, trend: str
) -> None:
    [finding] = findings(judged(make_rule(**READING), history(*[earlier] * 330, *[of_late] * 30)))
    assert finding.trend == trend
    assert finding.watched_seconds == (300.0 if trend == "worse" else 3600.0)


def test_a_short_window_has_no_trend(make_rule: MakeRule) -> None:
    [finding] = findings(judged(make_rule(**READING), history(*[11_400] * 30)))
    assert (finding.trend, finding.watched_seconds) == (None, 300.0)


def test_a_trend_of_what_is_not_known_over_the_last_minutes_is_not_known(make_rule: MakeRule) -> None:
    """The last scan was six minutes ago."""
    passes = [*range(100), *[99] * 37]
    snapshots = [scanned(STEP * k, n, n * 11_400) for k, n in enumerate(passes)]
    [finding] = findings(judged(make_rule(**READING), snapshots))
    assert (finding.trend, finding.watched_seconds) == (None, 1360.0)


def test_a_finding_appears_once_while_one_sample_in_five_says_no(make_rule: MakeRule) -> None:
    snapshots = history(*[11_400 if k % 5 else 0 for k in range(60)])
    rule, before = make_rule(**SAMPLE), None
    seen: list[float] = []
    made: list[bool] = []
    for number in range(13, len(snapshots) + 1):
        before = judged(rule, snapshots[:number], before)
        [finding] = findings(before)
        seen.append(finding.since or 0.0)
        made.append(finding.judged_at == snapshots[number - 1].at)
    assert not all(made)  # without what stands it would have been away
    assert seen == sorted(seen, reverse=True)


def test_a_finding_clears_once_it_was_missing_for_so_long(make_rule: MakeRule) -> None:
    snapshots = history(*[11_400] * 30, *[0] * 60)
    rule = make_rule(**SAMPLE)
    before = judged(rule, snapshots[:31])
    missing = []
    for number in range(32, len(snapshots) + 1):
        before = judged(rule, snapshots[:number], before)
        if not findings(before):
            missing.append(snapshots[number - 1].at)
    assert missing[0] - snapshots[31].at == CLEAR_SECONDS
    assert missing == [snapshot.at for snapshot in snapshots if snapshot.at >= missing[0]]


def test_a_finding_stands_while_its_rule_is_blind_for_a_moment(make_rule: MakeRule) -> None:
    snapshots, rule = history(*[11_400] * 30), make_rule(**READING)
    before = judged(rule, snapshots)
    blind = scanned(
        310, 31, 31 * 11_400, table_scans=None, outcomes={"table_scans": ReadOutcome(0, 5, "deadline", "slow")}
    )
    after = judged(rule, [*snapshots, blind], before)
    assert [finding.judged_at for finding in findings(after)] == [snapshots[-1].at]
    assert {type(evaluation.verdict).__name__ for evaluation in after.evaluations} == {"Blind", "Recommendation"}


def test_a_blind_spot_is_a_state_and_clears_at_once(make_rule: MakeRule) -> None:
    rule = make_rule(for_each="blind_spots", when=["blind_spot.rule_count >= 1.0"])
    lacking = make_rule(id="lacking", needs=["pools"])
    denied = {"pools": ReadOutcome(0.0, 0.0, "privilege", "SELECT denied", "GRANT PROCESS ON *.*")}
    snapshots = [snapshot(10.0 * k, pools=None, outcomes=denied) for k in range(3)]
    before = judged(rule, snapshots, beside=[lacking])
    assert findings(before)
    granted = snapshot(30.0, pools=(), outcomes={"pools": ReadOutcome(0.0, 0.0)})
    assert findings(judged(rule, [*snapshots, granted], before, beside=[lacking])) == []


def test_no_rule_judges_an_instant(make_rule: MakeRule) -> None:
    rule = make_rule(when=["window.seconds > 0.0"])
    instant = judged(rule, [snapshot(10.0), snapshot(10.2)])
    [blind] = [evaluation.verdict for evaluation in instant.evaluations]
    assert blind is not None
    assert (getattr(blind, "lacks", ""), getattr(blind, "reason", "")) == (
        "window",
        "only 0.2 s since the server, its settings or the sidecar changed",
    )
    assert findings(judged(rule, [snapshot(10.0), snapshot(11.0)]))
