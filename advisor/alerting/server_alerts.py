"""The alerts of a server's findings: which are active, and which have ended.

Two things differ from Prometheus' alerting rules: a finding that is missing is not resolved at once, because it may be
out of sight only; and one that was followed is resolved once its outcome is measured, because Alertmanager notifies of
an end only once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from advisor.advice.judgement import Assessment
from advisor.advice.service import Service
from advisor.alerting.alert import Alert, annotations_of, labels_of, with_outcome
from advisor.alerting.schedule import AlertSchedule
from advisor.contract.links import Links
from advisor.contract.recommendation import Recommendation
from advisor.ledger.entry import Outcome, Result
from advisor.ledger.reading import WINDOW_SECONDS
from advisor.ledger.settling import LIMIT
from exporter.snapshot import Snapshot

_AS_LONG = 0.9
"""A missing finding is resolved once a new window is this part of the length of the one it was found in."""
LONGEST_MEASUREMENT = (LIMIT + 1) * WINDOW_SECONDS
"""Seconds that the alert of a finding that was followed stays active at most; until then its outcome is measured."""


@dataclass(slots=True)
class _Finding:
    """The finding of an active alert.

    Attributes:
        found_at: Time of the last advice with the finding, Unix seconds.
        seconds: Length of the shortest window with the finding.
        settings: Values of the settings that it changes, when it was last found.
        annotations: As the finding has them.
        followed_at: When it was gone, and what became of it was not measured yet; monotonic clock.
    """

    found_at: float
    seconds: float
    settings: Mapping[str, str | None]
    annotations: Mapping[str, str]
    followed_at: float | None = None


class ServerAlerts:
    """The active alerts by fingerprint.

    Attributes:
        instance: The label ``instance``, which names the server.
    """

    def __init__(
        self,
        instance: str,
        links: Links,
        resend_seconds: float,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin without an active alert.

        Args:
            instance: The label of all alerts.
            links: Of the sidecar.
            resend_seconds: Time between two sendings of an active alert.
            clock: Unix seconds.
            ticks: Seconds, monotonic.
        """
        self.instance, self._links, self._ticks = instance, links, ticks
        self._alerts: AlertSchedule[str] = AlertSchedule(resend_seconds, clock, ticks)
        self._findings: dict[str, _Finding] = {}

    async def look(self, service: Service, labels: Mapping[str, str]) -> tuple[list[Alert], bool]:
        """The alerts to send now, and whether every rule has seen enough to judge.

        Args:
            service: Has the advice.
            labels: The configured labels of all alerts.
        """
        assessment = service.verdict
        alerts = self.update(assessment, labels, service.ledger.outcomes.values())
        return alerts, bool(assessment and all(blind.lacks != "window" for blind in assessment.advice.blind))

    def update(
        self, assessment: Assessment | None, labels: Mapping[str, str], outcomes: Iterable[Outcome] = ()
    ) -> list[Alert]:
        """The alerts to send now.

        Args:
            assessment: None while the server cannot be seen.
            labels: The configured labels of all alerts.
            outcomes: What became of changes of settings, in any order.
        """
        if assessment is not None:
            for recommendation in assessment.advice.recommendations:
                self._hold(recommendation, assessment, labels)
            fingerprints = {recommendation.fingerprint for recommendation in assessment.advice.recommendations}
            missing = [fingerprint for fingerprint in self._alerts if fingerprint not in fingerprints]
            followed = _followed(outcomes, assessment.snapshot) if missing else {}
            for fingerprint in missing:
                outcome = followed.get(fingerprint)
                since = outcome is not None and outcome.at >= self._alerts[fingerprint].starts_at
                self._keep_or_resolve(fingerprint, assessment, outcome if since else None)
        due = self._alerts.due()
        self._findings = {fingerprint: self._findings[fingerprint] for fingerprint in self._alerts}
        return due

    def _hold(self, recommendation: Recommendation, assessment: Assessment, added: Mapping[str, str]) -> None:
        advice, fingerprint = assessment.advice, recommendation.fingerprint
        finding = self._findings.get(fingerprint)
        rule = assessment.rule_set.rule(recommendation.rule)
        labels = labels_of(recommendation, {**added, "instance": self.instance})
        annotations = annotations_of(recommendation, rule.file.why if rule else "", self._links)
        if finding and self._alerts[fingerprint].labels != labels:
            finding = None  # its severity, or the labels of all alerts, changed: it is another alert
        self._findings[fingerprint] = _Finding(
            found_at=advice.at,
            seconds=min(advice.watched_seconds, finding.seconds) if finding else advice.watched_seconds,
            settings={change.setting: assessment.snapshot.setting(change.setting) for change in recommendation.changes},
            annotations=annotations,
        )
        self._alerts.hold(fingerprint, labels, annotations, self._links.data(fingerprint))

    def _keep_or_resolve(self, fingerprint: str, assessment: Assessment, outcome: Outcome | None) -> None:
        finding, tick = self._findings[fingerprint], self._ticks()
        rule, annotations = self._alerts[fingerprint].labels["rule"], dict[str, str]()
        gone = _is_gone(fingerprint, rule, finding, assessment)
        if gone and outcome is not None:
            annotations = with_outcome(finding.annotations, outcome)
            finding.followed_at = tick if finding.followed_at is None else finding.followed_at
            gone = outcome.result is not Result.OPEN or tick - finding.followed_at > LONGEST_MEASUREMENT
        if gone:
            self._alerts.resolve(fingerprint, annotations)
        elif gone is False:
            self._alerts.keep(fingerprint, annotations)


def _followed(outcomes: Iterable[Outcome], latest: Snapshot) -> dict[str, Outcome]:
    """By fingerprint, what became of the newest change that followed the finding and was not taken back."""
    return {
        outcome.fingerprint: outcome
        for outcome in sorted(outcomes, key=lambda outcome: outcome.at)
        if outcome.fingerprint is not None
        and outcome.followed
        and all(change.is_in_force(latest) for change in outcome.changes)
    }


def _is_gone(fingerprint: str, rule: str, finding: _Finding, assessment: Assessment) -> bool | None:
    """Whether a missing finding is gone; False if it is too early to tell, None if it is out of sight.

    A restart of the server, a changed setting and a gap begin a new window, in which most rules must first see
    something happen often enough. So a finding is gone when it is missing in the window that had it, when a new window
    is as long as that one was, or when a setting that it changes has another value.
    """
    advice = assessment.advice
    if any(aside.recommendation.fingerprint == fingerprint for aside in (*advice.suppressed, *advice.overruled)):
        return True
    if assessment.rule_set.rule(rule) is None:
        return True
    lacks = {blind.lacks for blind in advice.blind if blind.rule == rule}
    if lacks - {"window"} or any(failed.rule == rule for failed in advice.failed):
        return None
    if lacks:
        return False
    began = round(advice.at - advice.watched_seconds, 2)
    return (
        began <= finding.found_at
        or advice.watched_seconds >= _AS_LONG * finding.seconds
        or any(assessment.snapshot.setting(name) != value for name, value in finding.settings.items())
    )
