"""Alerts of a fleet: only of servers without a sidecar, with their labels, and ended only where that is known."""

from __future__ import annotations

from typing import Any

import pytest

from advisor.alerting.alert import Alert
from advisor.alerting.fleet_alerts import ABSENT_REPORTS, FleetAlerts
from advisor.alerting.schedule import LIFETIME
from advisor.contract.fleet import FleetReport, NotAsked, Source, Vanished
from advisor.contract.links import Links
from advisor.rules.rulebook import Rulebook
from tests.advisor.building import RULES_FOLDER
from tests.advisor.fleet import reports

RESEND = 60.0
RULES = Rulebook(RULES_FOLDER)
REPORT = reports.of("mysql-9.7/repeated-scan", "mysql-9.7/hot-set-exceeds-pool")
"""The first has mysqld_exporter alone, the second has a sidecar."""
PEER, JUDGED = REPORT.servers
FOUND = [finding for finding in REPORT.findings if finding.server == PEER.name]


class Time:
    """Reports at moments, and what is sent then."""

    def __init__(self) -> None:
        self.now = reports.AT
        self.alerts = FleetAlerts(
            Links("http://fleet"),
            RULES,
            RESEND,
            clock=lambda: self.now,
            ticks=lambda: self.now,
        )

    def see(self, report: FleetReport | None, away: str = "", after: float = RESEND) -> list[Alert]:
        self.now += after
        return self.alerts.update(report, {"team": "dba", "cluster": "configured"}, away)

    def ended(self, alerts: list[Alert]) -> list[bool]:
        return [alert.ends_at <= self.now for alert in alerts]


@pytest.fixture
def time() -> Time:
    return Time()


def without(report: FleetReport = REPORT, **others: Any) -> FleetReport:
    """A report without findings of the server that has no sidecar."""
    left = tuple(finding for finding in report.findings if finding.server != PEER.name)
    return report.model_copy(update={"findings": left, **others})


def test_only_servers_without_a_sidecar_alert_with_their_own_labels(time: Time) -> None:
    alerts = time.see(REPORT)
    assert len(alerts) == len(FOUND) > 0
    assert any(finding.server == JUDGED.name for finding in REPORT.findings)
    labels = alerts[0].labels
    assert {
        "alertname": "InnoDBAdvice",
        "rule": FOUND[0].rule,
        "severity": FOUND[0].severity.value,
    }.items() <= labels.items()
    assert {**PEER.identity, "team": "dba"}.items() <= labels.items()
    assert labels.get("subject", "") == ".".join(FOUND[0].subject.values())
    annotations = alerts[0].annotations
    assert annotations["summary"] == f"{FOUND[0].summary} ({PEER.name})"
    assert annotations["page_url"].startswith("http://fleet/advise?server=eu%2Fmysql-9.7%2Frepeated-scan%2F0&rule=")
    assert annotations["runbook_url"] == f"http://fleet/rules/{FOUND[0].rule}"
    assert annotations["source"] == "peer"
    rule = RULES.rule_set.rule(FOUND[0].rule)
    assert rule
    why = rule.file.why.partition("\n")[0]
    for expected in (*FOUND[0].notes, FOUND[0].evidence[0].source, why, FOUND[0].fingerprint):
        assert expected in annotations["description"]


def test_an_alert_is_sent_again_and_again_while_it_holds(time: Time) -> None:
    sent = [time.see(REPORT, after=RESEND / 2) for _ in range(6)]
    assert [len(alerts) for alerts in sent] == [len(FOUND), 0] * 3
    assert {alert.starts_at for alerts in sent for alert in alerts} == {reports.AT + 30}


def test_what_is_gone_is_resolved(time: Time) -> None:
    time.see(REPORT)
    ended = time.see(without())
    assert time.ended(ended) == [True] * len(FOUND)
    assert [alert.key for alert in time.see(REPORT)] == [alert.key for alert in ended]


def test_nothing_is_resolved_while_prometheus_is_away_however_long(time: Time) -> None:
    first = {alert.key for alert in time.see(REPORT)}
    for _ in range(5 * LIFETIME):
        alerts = time.see(REPORT, "no new report since noon: Connection refused")
        assert {alert.key for alert in alerts} == first
        assert not any(time.ended(alerts))
        assert {alert.annotations["unseen"] for alert in alerts} == {"no new report since noon: Connection refused"}
    back = time.see(REPORT.model_copy())
    assert {alert.key for alert in back} == first
    assert not any("unseen" in alert.annotations for alert in back)


@pytest.mark.parametrize(
    ("others", "reason"),
    [
        ({"not_asked": (NotAsked(servers=(PEER.name,), reason="too many samples"),)}, "not asked: too many samples"),
        (
            {"servers": (JUDGED,), "not_asked": (NotAsked(servers=(PEER.name,), reason="timeout"),)},
            "not asked: timeout",
        ),
        (
            {"servers": (PEER.model_copy(update={"undecided": tuple(finding.rule for finding in FOUND)}), JUDGED)},
            "the rule cannot be judged now",
        ),
        ({"servers": (JUDGED,)}, "no series is of the server now"),
    ],
    ids=["not asked", "not known and not asked", "undecided", "absent"],
)
def test_what_cannot_be_seen_is_not_resolved(time: Time, others: dict[str, Any], reason: str) -> None:
    time.see(REPORT)
    alerts = time.see(without(**others))
    assert time.ended(alerts) == [False] * len(FOUND)
    assert {alert.annotations["unseen"] for alert in alerts} == {reason}


def test_a_server_that_vanished_or_stays_absent_is_resolved(time: Time) -> None:
    time.see(REPORT)
    gone = without(servers=(JUDGED,), vanished=(Vanished(server=PEER.name, at=time.now),))
    assert all(time.ended(time.see(gone)))
    time.see(REPORT)
    ended = [any(time.ended(time.see(without(servers=(JUDGED,))))) for _ in range(ABSENT_REPORTS)]
    assert ended == [*[False] * (ABSENT_REPORTS - 1), True]


def test_a_server_that_got_a_sidecar_is_left_to_it(time: Time) -> None:
    time.see(REPORT)
    own = PEER.model_copy(update={"source": Source.VERDICT})
    verdicts = tuple(finding.model_copy(update={"source": Source.VERDICT}) for finding in REPORT.findings)
    now = REPORT.model_copy(update={"servers": (own, JUDGED), "findings": verdicts})
    assert all(time.ended(time.see(now)))


def test_servers_with_the_same_finding_have_alerts_of_their_own(time: Time) -> None:
    many = reports.of("mysql-9.7/repeated-scan", "mariadb-11.8/idle", copies=3)
    alerts = time.see(many)
    assert len({alert.key for alert in alerts}) == len(alerts) == 3 * len(FOUND)


def test_another_setting_is_still_the_same_alert(time: Time) -> None:
    of = "mysql-9.7/hot-set-exceeds-pool"
    report = reports.of(of)
    changed = [finding for finding in report.findings if finding.changes]
    assert changed
    first = {alert.key for alert in time.see(report)}
    other = report.model_copy(
        update={
            "findings": tuple(
                finding.model_copy(
                    update={
                        "changes": tuple(
                            one.model_copy(update={"setting": "innodb_old_blocks_pct"}) for one in finding.changes
                        )
                    }
                )
                for finding in report.findings
            )
        }
    )
    assert {alert.key for alert in time.see(other)} == first


def test_before_the_first_report_there_is_nothing_to_send(time: Time) -> None:
    assert time.see(None) == []
    assert time.see(None, "no new report since noon") == []
