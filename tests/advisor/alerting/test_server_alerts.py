"""When a finding stands, and when it has gone: without a server, on a clock of the test's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from advisor.advice.judgement import Assessment
from advisor.alerting.alert import LONGEST, Alert, annotations_of, labels_of
from advisor.alerting.schedule import LIFETIME, RETENTION_SECONDS
from advisor.alerting.server_alerts import LONGEST_MEASUREMENT, ServerAlerts
from advisor.contract.links import Links
from advisor.contract.recommendation import (
    Advice,
    Blind,
    Change,
    Evidence,
    Failed,
    Recommendation,
    SetAside,
    Severity,
    fingerprint,
)
from advisor.ledger.entry import Changed, Outcome, Result
from advisor.rules.check import Rule
from advisor.rules.rulebook import RuleSet
from tests.advisor.building import snapshot, variables
from tests.advisor.ledger.outcomes import outcome as closed_outcome

RESEND = 60.0
NOON = 1_800_000_000.0


def finding(
    rule: str = "plain", setting: str | None = "innodb_old_blocks_pct", table: str = "", **keys: Any
) -> Recommendation:
    subject = {"schema": "shop", "table": table} if table else {}
    change = Change(
        setting=setting or "", from_=37, to=80, dynamic=True, apply=("SET x",), rollback=(), persist=(), config="x"
    )
    made: dict[str, Any] = {
        "rule": rule,
        "severity": Severity.WARNING,
        "confidence": 0.9,
        "fingerprint": fingerprint(rule, subject),
        "summary": "as it is",
        "subject": subject,
        "evidence": (Evidence(name="pages_read", value=1234, unit="pages", source="a table"),),
        "changes": (change,) if setting else (),
        "watched_seconds": 600.0,
        "references": (),
    }
    return Recommendation(**{**made, **keys})


class Clock:
    """A watch of a server: findings at moments, and what is sent then."""

    def __init__(self, rule: Rule) -> None:
        self.now = NOON
        self.began = NOON - 600
        self.set_back = 0.0
        self.settings: dict[str, str] = {}
        self.rule_set = RuleSet((rule,), {}, (), NOON)
        self.labels: dict[str, str] = {}
        self.alerts = ServerAlerts(
            "db1:3306",
            Links("http://a"),
            RESEND,
            clock=lambda: self.now - self.set_back,
            ticks=lambda: self.now,
        )

    def look(
        self, *findings: Recommendation, after: float = RESEND / 2, outcomes: Sequence[Outcome] = (), **keys: Any
    ) -> list[Alert]:
        self.now += after
        advice = Advice(
            server="a server",
            at=self.now,
            watched_seconds=self.now - self.began,
            recommendations=findings,
            **{"blind": (), **keys},
        )
        at = snapshot(self.now, booted=0.0, variables=variables(**self.settings))
        return self.alerts.update(Assessment(advice, {}, {}, at, self.rule_set), self.labels, outcomes)

    def see_nothing(self, after: float = RESEND / 2) -> list[Alert]:
        self.now += after
        return self.alerts.update(None, self.labels)

    def cut(self) -> None:
        """A new window begins after now."""
        self.began = self.now + 1

    def over(self, alerts: list[Alert]) -> list[bool]:
        return [alert.ends_at <= self.now for alert in alerts]


@pytest.fixture
def clock(make_rule: Callable[..., Rule]) -> Clock:
    return Clock(make_rule())


def test_what_holds_is_sent_again_in_time_and_keeps_its_start(clock: Clock) -> None:
    sent = [clock.look(finding()) for _ in range(9)]
    assert [len(alerts) for alerts in sent] == [1, 0, 1, 0, 1, 0, 1, 0, 1]
    alerts = [alert for alerts_of_look in sent for alert in alerts_of_look]
    assert {alert.starts_at for alert in alerts} == {NOON + 30}
    assert alerts[-1].ends_at == clock.now + LIFETIME * RESEND
    assert len({alert.key for alert in alerts}) == 1


def test_what_has_gone_is_ended_at_once_and_again_for_a_quarter_of_an_hour(clock: Clock) -> None:
    clock.look(finding())
    [ended] = clock.look()
    assert ended.ends_at == clock.now
    again = [alert for _ in range(40) for alert in clock.look()]
    assert {alert.ends_at for alert in again} == {ended.ends_at}
    assert len(again) == RETENTION_SECONDS / RESEND


def test_what_comes_back_is_ended_no_more(clock: Clock) -> None:
    clock.look(finding())
    [ended] = clock.look()
    [back] = clock.look(finding())
    assert back.key == ended.key
    assert back.starts_at > ended.ends_at
    assert clock.over(clock.look(finding()) + clock.look(finding()) + clock.look(finding())) == [False]


def test_two_subjects_are_two_alerts(clock: Clock) -> None:
    sent = clock.look(finding(table="orders"), finding(table="items"))
    assert len({alert.key for alert in sent}) == 2
    [ended] = clock.look(finding(table="items"))
    assert ended.labels["subject"] == "shop.orders"


def test_two_findings_whose_names_make_one_label_are_one_alert_that_ends_with_the_last(clock: Clock) -> None:
    first, second = (
        finding(subject=subject, fingerprint=fingerprint("plain", subject))
        for subject in ({"schema": "shop.eu", "table": "orders"}, {"schema": "shop", "table": "eu.orders"})
    )
    assert len({alert.key for alert in clock.look(first, second)}) == 1
    assert not any(clock.over([alert for _ in range(4) for alert in clock.look(second)]))
    assert clock.over(clock.look()) == [True]


@pytest.mark.parametrize(
    "unseen",
    [
        {"blind": (Blind(rule="plain", lacks="pools", reason="no PROCESS"),)},
        {"blind": (Blind(rule="plain", lacks="time", reason="3 of 9 took its 1 s"),)},
        {"failed": (Failed(rule="plain", reason="1 / 0"),)},
        None,
    ],
    ids=["a source is shut", "no time", "the rule broke", "the server is away"],
)
def test_what_cannot_be_seen_is_neither_ended_nor_sent_again(clock: Clock, unseen: dict[str, Any] | None) -> None:
    [first] = clock.look(finding())
    looks = [clock.see_nothing() if unseen is None else clock.look(**unseen) for _ in range(7)]
    assert not any(looks)
    [again] = clock.look(finding())
    assert (again.key, again.starts_at) == (first.key, first.starts_at)


def test_what_cannot_be_seen_for_long_is_over_and_begins_anew(clock: Clock) -> None:
    [first] = clock.look(finding())
    assert clock.see_nothing(after=LIFETIME * RESEND + 1) == []
    assert clock.look() == []
    [anew] = clock.look(finding())
    assert anew.starts_at > first.ends_at


def test_another_rule_that_is_blind_hides_nothing(clock: Clock) -> None:
    clock.look(finding())
    assert clock.over(clock.look(blind=(Blind(rule="other", lacks="pools", reason="no PROCESS"),))) == [True]


def test_a_new_window_ends_nothing_before_it_has_watched_as_long(clock: Clock) -> None:
    clock.look(finding())
    clock.cut()
    assert clock.look(blind=(Blind(rule="plain", lacks="window", reason="only one collection"),)) == []
    held = [clock.over(clock.look()) for _ in range(17)]
    assert held == [[False], []] * 8 + [[False]]  # it is sent again meanwhile
    assert clock.over(clock.look()) == [True]


def test_a_change_of_its_setting_ends_it_and_one_of_another_does_not(clock: Clock) -> None:
    clock.look(finding())
    clock.cut()
    clock.settings["innodb_old_blocks_time"] = "500"
    assert clock.over(clock.look() + clock.look()) == [False]
    clock.settings["innodb_old_blocks_pct"] = "80"
    assert clock.over(clock.look()) == [True]


def test_a_setting_that_is_changed_but_still_found_wrong_goes_on(clock: Clock) -> None:
    clock.look(finding())
    clock.cut()
    clock.settings["innodb_old_blocks_pct"] = "40"
    clock.look(blind=(Blind(rule="plain", lacks="window", reason="only one collection"),))
    assert clock.over(clock.look(finding()) + clock.look(finding())) == [False]


MEASURED = "followed: predicted 0, measured 12 pages read per pass"


def follow(clock: Clock, **keys: Any) -> Outcome:
    """The advised value is set: a new window begins, and an outcome is opened."""
    clock.cut()
    clock.settings = {"innodb_old_blocks_pct": "80"}
    return outcome_at(clock.now + 1, **{"result": Result.OPEN, "why": "the pool settles", "measured": None, **keys})


def outcome_at(at: float, **keys: Any) -> Outcome:
    changes = (Changed(setting="innodb_old_blocks_pct", before=37, after=80),)
    return closed_outcome(0, 12, at=at, changes=changes, fingerprint=finding().fingerprint, **keys)


def test_what_was_followed_is_ended_with_what_was_measured(clock: Clock) -> None:
    [alert] = clock.look(finding())
    opened = follow(clock)
    sent = [alert for _ in range(4) for alert in clock.look(outcomes=[opened])]
    assert not any(clock.over(sent))
    assert {alert.annotations["outcome"] for alert in sent} == {
        "followed: predicted 0 pages read per pass, not measured yet: the pool settles"
    }
    [ended] = clock.look(outcomes=[outcome_at(opened.at)])
    assert (ended.ends_at, ended.key) == (clock.now, alert.key)
    assert ended.annotations["outcome"] == MEASURED
    assert ended.annotations["description"] == f"outcome: {MEASURED}\n{alert.annotations['description']}"
    again = [alert for _ in range(4) for alert in clock.look(outcomes=[outcome_at(opened.at)])]
    assert {alert.annotations["outcome"] for alert in again} == {MEASURED}


def test_what_cannot_be_measured_is_ended_all_the_same(clock: Clock) -> None:
    clock.look(finding())
    opened = follow(clock)
    for _ in range(round(2 * LONGEST_MEASUREMENT / RESEND) + 1):
        assert not any(clock.over(clock.look(outcomes=[opened])))
    [ended] = clock.look(outcomes=[opened])
    assert ended.ends_at == clock.now
    assert "not measured yet" in ended.annotations["outcome"]


def test_what_was_followed_and_is_found_again_goes_on(clock: Clock) -> None:
    [first] = clock.look(finding())
    opened = follow(clock)
    clock.look(outcomes=[opened])
    sent = [alert for _ in range(3) for alert in clock.look(finding(), outcomes=[opened])]
    assert sent
    assert {(alert.starts_at, alert.annotations.get("outcome")) for alert in sent} == {(first.starts_at, None)}
    [ended] = clock.look(outcomes=[outcome_at(opened.at)])
    assert (ended.ends_at, ended.annotations["outcome"]) == (clock.now, MEASURED)


@pytest.mark.parametrize("of", ["another finding", "an earlier alert", "another value", "a change that was taken back"])
def test_an_outcome_of_something_else_keeps_no_alert_up(clock: Clock, of: str) -> None:
    before = outcome_at(clock.now, result=Result.OPEN)
    clock.look(finding())
    opened = follow(clock)
    match of:
        case "another finding":
            opened = opened.model_copy(update={"fingerprint": "another"})
        case "an earlier alert":
            opened = before
        case "another value":
            opened = opened.model_copy(update={"followed": False})
        case _:
            clock.settings = {"innodb_old_blocks_pct": "50"}
    [ended] = clock.look(outcomes=[opened])
    assert ended.ends_at == clock.now
    assert "outcome" not in ended.annotations


@pytest.mark.parametrize("aside", ["suppressed", "overruled"])
def test_what_is_set_aside_is_ended_and_not_sent(clock: Clock, aside: str) -> None:
    clock.look(finding())
    set_aside: dict[str, Any] = {aside: (SetAside(recommendation=finding(), reason="no"),)}
    assert clock.over(clock.look(**set_aside)) == [True]
    assert clock.over(clock.look(finding(table="orders", rule="plain"), **set_aside)) == [False]


def test_a_rule_that_is_rule_set_no_more_ends_its_findings(clock: Clock) -> None:
    clock.look(finding())
    clock.cut()
    clock.rule_set = RuleSet((), {}, (), NOON)
    assert clock.over(clock.look()) == [True]


def test_another_setting_of_the_rule_is_still_the_same_alert(clock: Clock) -> None:
    [first] = clock.look(finding())
    clock.look(finding(setting=None))
    [again] = clock.look(finding(setting="innodb_buffer_pool_size"))
    assert again.key == first.key
    assert "SET x" in again.annotations["description"]


def test_another_severity_or_label_ends_the_alert_and_begins_one(clock: Clock) -> None:
    clock.look(finding())
    both = clock.look(finding(severity=Severity.CRITICAL))
    assert clock.over(both) == [True, False]
    assert [alert.labels["severity"] for alert in both] == ["warning", "critical"]
    clock.labels["cluster"] = "eu1"
    assert clock.over(clock.look(finding(severity=Severity.CRITICAL))) == [True, False]


def test_a_clock_that_is_set_back_makes_no_alert_that_ends_before_it_starts(clock: Clock) -> None:
    clock.look(finding())
    clock.set_back = 7200.0  # the monotonic clock goes on
    alerts = [*clock.look(finding()), *clock.look(finding()), *clock.look()]
    assert len(alerts) == 2
    assert all(alert.starts_at <= alert.ends_at for alert in alerts)


def test_labels_hold_no_number_and_nothing_empty_and_all_is_text() -> None:
    odd = finding(table="orders\n", summary="\udcff", watched_seconds=1e9)
    labels = labels_of(odd, {"instance": "", "cluster": "eu1"})
    assert labels == {
        "alertname": "InnoDBAdvice",
        "rule": "plain",
        "severity": "warning",
        "subject": r"shop.orders\n",
        "cluster": "eu1",
    }
    annotations = annotations_of(odd, "x" * 2 * LONGEST, Links("http://a"))
    assert len(annotations["description"]) == LONGEST
    assert annotations["summary"] == r"\udcff"  # no text, as a name in it may be
    assert "- pages read: 1,234 pages (a table)" in annotations["description"]
