"""The replay: what a sidecar would have advised and measured, at a bounded cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from advisor.advice import replay
from advisor.advice.judgement import Judgement, judge
from advisor.advice.replay import MOST_JUDGEMENTS, Replaying
from advisor.ledger.entry import Result
from advisor.ledger.ledger import Ledger
from advisor.observe.source import Replay
from advisor.observe.window import Window
from advisor.rules.check import Rule
from advisor.rules.rulebook import Rulebook, RuleSet
from exporter.snapshot import Snapshot
from tests.advisor.building import RULES_FOLDER, capture, snapshot, variables

RULE = "scan-exceeds-old-sublist"
SAME, OTHER = variables(), variables(innodb_old_blocks_pct="80")


@pytest.fixture(scope="module")
def rule_set() -> RuleSet:
    return Rulebook(RULES_FOLDER).rule_set


@pytest.fixture(scope="module")
def followed() -> Sequence[Snapshot]:
    """A scan on a real server; half-way the rule's statement is executed."""
    return Replay(capture("mysql-9.7/scan-followed-midway")).history


class NoRules:
    """Judges by no rule, and remembers when, Unix seconds."""

    def __init__(self) -> None:
        self.at: list[float] = []

    def __call__(self, _: Sequence[Rule], window: Window, **options: Any) -> Iterator[Judgement]:
        self.at.append(window.latest.at)
        yield from judge((), window, **options)


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> NoRules:
    """Takes the place of the rules."""
    judged = NoRules()
    monkeypatch.setattr(replay, "judge", judged)
    return judged


def replayed(rule_set: RuleSet, snapshots: Sequence[Snapshot]) -> Ledger:
    replaying = Replaying(rule_set, Ledger(window_seconds=8.0))
    assert list(replaying.replay(snapshots)) == [snapshot.at for snapshot in snapshots]
    return replaying.ledger


def test_advice_that_was_followed_is_graded_by_what_was_read_afterwards(
    rule_set: RuleSet, followed: Sequence[Snapshot]
) -> None:
    ledger = replayed(rule_set, followed)
    [outcome] = ledger.outcomes.values()
    assert (outcome.rule, outcome.followed, outcome.result, outcome.harm) == (RULE, True, Result.KEPT, ())
    assert outcome.promise is not None
    assert outcome.measured is not None
    assert (outcome.promise.predicted, outcome.measured.after) == (0, 0)
    assert outcome.measured.before == pytest.approx(2701, rel=0.01)
    assert RULE in {finding.rule for finding in ledger.findings.values()}


def test_the_rules_judge_before_the_change_and_at_the_end(
    rule_set: RuleSet, followed: Sequence[Snapshot], judged: NoRules
) -> None:
    replayed(rule_set, followed)
    changed = next(snapshot.at for snapshot in followed if snapshot.setting("innodb_old_blocks_pct") == "73")
    assert judged.at == [
        followed[0].at,
        max(snapshot.at for snapshot in followed if snapshot.at < changed),
        followed[-1].at,
    ]


def test_recordings_that_follow_each_other_make_the_ledger_of_one(
    rule_set: RuleSet, followed: Sequence[Snapshot]
) -> None:
    parts = Replaying(rule_set, Ledger(window_seconds=8.0))
    assert parts.continues(followed[0])
    for snapshots in (followed[:20], followed[20:]):
        assert parts.continues(snapshots[0])
        list(parts.replay(snapshots))
    assert parts.ledger.outcomes == replayed(rule_set, followed).outcomes
    assert not parts.continues(followed[-1])
    assert not parts.continues(replace(followed[-1], at=followed[-1].at + 121.0))
    assert not parts.continues(replace(followed[-1], at=followed[-1].at + 10.0, account="another@localhost"))


@pytest.mark.parametrize(("hours", "apart"), [(1, 300.0), (50, 50 * 3600 / MOST_JUDGEMENTS)])
def test_a_long_replay_is_judged_so_often_and_not_more(
    rule_set: RuleSet, hours: int, apart: float, judged: NoRules
) -> None:
    snapshots = [snapshot(60.0 * minute, variables=SAME) for minute in range(1, 60 * hours + 2)]
    replayed(rule_set, snapshots)
    assert all(after - before >= apart for before, after in zip(judged.at, judged.at[1:-1], strict=False))
    assert 3600 * hours / apart / 2 < len(judged.at) <= MOST_JUDGEMENTS + 2


def test_a_restart_forgets_findings_that_stood(rule_set: RuleSet, followed: Sequence[Snapshot]) -> None:
    """After the change the rule is silent, though a finding of the old settings would stand for five minutes."""
    replaying = Replaying(rule_set, Ledger(window_seconds=8.0))
    list(replaying.replay(followed))
    last = replaying.ledger.findings["a63178a321b3b23c"].last_seen
    assert last < next(snapshot.at for snapshot in followed if snapshot.setting("innodb_old_blocks_pct") == "73")


def test_a_promise_that_was_far_off_is_missed(make_rule: Callable[..., Rule], followed: Sequence[Snapshot]) -> None:
    """It promises a tenth less, and then the scan reads nothing."""
    rule = make_rule(
        needs=["variables", "pools", "index_sizes", "table_scans", "table_files", "count_statements"],
        for_each="scans",
        change=[
            {"setting": "innodb_old_blocks_pct", "value": "setting.innodb_old_blocks_pct == 37.0 ? 73.0 : 37.0"},
        ],
        effect={
            "quantity": "pages read per pass",
            "unit": "pages",
            "now": "scan.pages_read_per_pass",
            "predicted": "0.9 * scan.pages_read_per_pass",
            "error": "0.05",
        },
    )
    [outcome] = replayed(RuleSet((rule,), {}, (), 0.0), followed).outcomes.values()
    assert outcome.result is Result.MISSED
    assert outcome.error == pytest.approx(-0.9, abs=0.01)
