"""A finding that is gone: since when, and because of what."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from advisor.advice.judgement import Assessment, assess, judge
from advisor.advice.replay import Replaying
from advisor.advice.resolution import gone
from advisor.ledger.entry import Changed, RememberedFinding, Result
from advisor.ledger.history import GoneFinding
from advisor.ledger.ledger import Ledger
from advisor.observe.source import Replay
from advisor.observe.window import Window
from advisor.render import outcomes, text
from advisor.render.markdown import markdown
from advisor.rules import check
from advisor.rules.rulebook import Rulebook, RuleSet
from tests.advisor.building import RULES_FOLDER, capture, captured
from tests.advisor.ledger.entries import AT, FINGERPRINT, RULE, closed, opened, remembered, unasked

MakeRule = Callable[..., check.Rule]


def rule_set(*rules: check.Rule) -> RuleSet:
    return RuleSet(rules, dict.fromkeys((rule.id for rule in rules), "built-in"), (), AT)


def assessed(window: Window, rules: RuleSet) -> Assessment:
    judgements = {judgement.rule: judgement for judgement in judge(rules.rules, window)}
    return assess(judgements, window, rules)


@pytest.fixture(scope="module")
def idle() -> Assessment:
    """A server on which the rule does not fire, seen a while after the finding."""
    return assessed(captured("mysql-9.7/small-table-scan"), rule_set(check.load_file(RULES_FOLDER / f"{RULE}.yaml")))


def gone_finding(**values: Any) -> RememberedFinding:
    return remembered(**{"rule_version": "", "first_seen": 100.0, "last_seen": 200.0, "resolved_at": 300.0, **values})


def answer_of(finding: RememberedFinding, last: Assessment | None, *entries: Any, problem: str = "") -> GoneFinding:
    return gone(finding, Ledger.of([finding, *entries]), last, problem)


def test_the_condition_that_does_not_hold_is_named_with_its_values(idle: Assessment) -> None:
    here = gone_finding()
    answer = answer_of(here, idle)
    assert answer.resolved_at == 300.0
    assert answer.because.endswith(
        "now when `scan.pages > pool.old_target_pages` is false (scan.pages = 1,507, pool.old_target_pages = 2,645)"
    )
    assert (answer.fingerprint, answer.summary) == (FINGERPRINT, here.summary)


def test_a_table_that_is_not_scanned_any_more_is_named(idle: Assessment) -> None:
    elsewhere = gone_finding(subject={"schema": "shop", "table": "items"}, last_seen=2e10)
    assert answer_of(elsewhere, idle).because == "there is no shop.items among scans now"


def test_it_is_resolved_before_the_ledger_took_it(idle: Assessment) -> None:
    assert answer_of(gone_finding(resolved_at=None), idle).resolved_at == idle.advice.at


def test_a_blind_rule_resolves_nothing() -> None:
    last = assessed(
        captured("mariadb-10.11/read-ahead-wasted"), rule_set(check.load_file(RULES_FOLDER / f"{RULE}.yaml"))
    )
    answer = answer_of(gone_finding(resolved_at=None, last_seen=2e10), last)
    assert answer.resolved_at is None
    assert "its rule is blind now: table_scans: performance_schema is OFF" in answer.because


def test_a_rule_that_fails_resolves_nothing(make_rule: MakeRule) -> None:
    rule = make_rule(evidence=[{"name": "none", "value": "1.0 / 0.0", "source": "nowhere"}])
    last = assessed(captured("mysql-9.7/idle"), rule_set(rule))
    answer = answer_of(gone_finding(rule="plain", subject={}, resolved_at=None, last_seen=2e10), last)
    assert (answer.resolved_at, answer.because) == (
        None,
        "its rule fails now: the rule failed: a value is inf: a division by zero?",
    )


def test_a_rule_that_was_removed_or_changed_is_named(idle: Assessment) -> None:
    assert answer_of(gone_finding(rule="gone", last_seen=2e10), idle).because == "there is no rule gone any more"
    assert answer_of(gone_finding(rule_version="1"), idle).because.count("its rule was changed") == 1


def test_a_restart_is_named(idle: Assessment) -> None:
    booted = idle.snapshot.at - (idle.snapshot.sections["status"] or {})["uptime"]
    assert answer_of(gone_finding(last_seen=booted - 60), idle).because.startswith("the server restarted; ")
    assert "restarted" not in answer_of(gone_finding(last_seen=booted + 1), idle).because


@pytest.mark.parametrize(
    ("outcome", "because"),
    [
        (closed(), "followed: predicted 0, measured 12 pages read per pass"),
        (opened(), "followed: predicted 0 pages read per pass, not measured yet: the pool settles"),
        (
            opened(
                followed=False, promise=None, changes=(Changed(setting="innodb_old_blocks_pct", before=37, after=50),)
            ),
            "changed: innodb_old_blocks_pct 37 -> 50, another value than it advised",
        ),
        (unasked(at=AT + 60), "changed: innodb_old_blocks_time 1,000 -> 0"),
    ],
)
def test_what_was_changed_in_between_comes_first(idle: Assessment, outcome: Any, because: str) -> None:
    here = gone_finding(last_seen=AT, resolved_at=AT + 90)
    assert answer_of(here, idle, outcome).because.split("; now")[0].split("; the")[0].split("; there")[0] == because
    for other in (
        gone_finding(last_seen=AT, resolved_at=AT + 30),
        gone_finding(last_seen=AT + 70, resolved_at=AT + 90),
    ):
        assert because not in answer_of(other, idle, outcome).because


def test_while_the_server_is_away_it_says_so_and_what_is_remembered() -> None:
    answer = answer_of(gone_finding(last_seen=AT, resolved_at=AT + 90), None, closed(), problem="Connection refused")
    assert answer.because == (
        "followed: predicted 0, measured 12 pages read per pass; nothing is known of the server now: Connection refused"
    )
    assert (answer.resolved_at, answer.outcomes) == (AT + 90, (closed(),))
    assert answer_of(gone_finding(resolved_at=None), None).resolved_at is None


def test_text_and_markdown_have_all_of_it() -> None:
    answer = answer_of(gone_finding(last_seen=AT, resolved_at=AT + 90), None, closed(), problem="a*b")
    plain, marked = text.text(outcomes.gone(answer)), markdown(outcomes.gone(answer))
    for shown in (plain, marked):
        for part in ("2026-11-21 06:21:10 UTC", "measured 12 pages", FINGERPRINT, RULE, "shop.orders", Result.KEPT):
            assert part in shown
    assert plain.startswith("resolved  shop.orders")
    assert marked.startswith("# resolved: shop.orders")
    assert r"a\*b" in marked
    assert text.text(outcomes.gone(answer_of(gone_finding(resolved_at=None), None))).startswith("not seen now")


def test_a_finding_is_resolved_in_the_ledger_when_its_rule_no_longer_makes_it() -> None:
    replaying = Replaying(Rulebook(RULES_FOLDER).rule_set, Ledger(window_seconds=8.0))
    resolved: dict[float, Mapping[str, float | None]] = {}
    for at in replaying.replay(Replay(capture("mysql-9.7/scan-followed-midway")).history):
        resolved[at] = {name: finding.resolved_at for name, finding in replaying.ledger.findings.items()}
    [outcome] = [outcome for outcome in replaying.ledger.outcomes.values() if outcome.followed]
    here = replaying.ledger.findings[FINGERPRINT]
    assert here.resolved_at is not None
    assert here.last_seen < outcome.at <= here.resolved_at
    assert resolved[outcome.at][FINGERPRINT] is None or here.resolved_at == outcome.at
    answer = gone(here, replaying.ledger, None, "")
    assert answer.because.startswith("followed: predicted 0, measured ")


def test_it_was_last_seen_when_its_rule_last_made_it_though_that_was_not_told() -> None:
    history = Replay(capture("mysql-9.7/repeated-scan")).history
    rules = rule_set(check.load_file(RULES_FOLDER / f"{RULE}.yaml"))
    last = assessed(Window.of(history, float("inf")), rules)
    made = last.advice.recommendations[0]
    ledger, _ = Ledger().observe(history, last.advice, is_gone=last.is_gone)
    later = last.advice.model_copy(
        update={
            "recommendations": (made.model_copy(update={"judged_at": last.advice.at + 60}),),
            "at": last.advice.at + 60,
        }
    )
    ledger, told_again = ledger.observe(history, later, is_gone=last.is_gone)
    assert told_again == ()
    blind = later.model_copy(update={"recommendations": ()})
    ledger, _ = ledger.observe(history, blind)
    here = ledger.findings[made.fingerprint]
    assert gone(here, ledger, None).last_seen == last.advice.at + 60
    ledger, [resolved] = ledger.observe(history, blind, is_gone=lambda _: True)
    assert isinstance(resolved, RememberedFinding)
    assert (resolved.last_seen, resolved.resolved_at) == (last.advice.at + 60, blind.at)


def test_one_that_comes_again_is_not_resolved() -> None:
    history = Replay(capture("mysql-9.7/repeated-scan")).history
    rules = rule_set(check.load_file(RULES_FOLDER / f"{RULE}.yaml"))
    last = assessed(Window.of(history, float("inf")), rules)
    ledger, _ = Ledger().observe(history, last.advice, is_gone=last.is_gone)
    assert ledger.findings[FINGERPRINT].resolved_at is None
    without = replace(last, advice=last.advice.model_copy(update={"recommendations": ()}), trace=())
    ledger, new = ledger.observe(history, without.advice, is_gone=without.is_gone)
    assert [entry.resolved_at for entry in new if isinstance(entry, RememberedFinding)] == [last.advice.at]
    _, new = ledger.observe(history, without.advice, is_gone=without.is_gone)
    assert new == ()
    ledger, [again] = ledger.observe(history, last.advice, is_gone=last.is_gone)
    assert isinstance(again, RememberedFinding)
    assert (again.resolved_at, again.first_seen) == (None, last.advice.at)
