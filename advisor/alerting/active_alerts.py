"""The alerts of a server's findings: which are active, and which have ended.

Two things differ from Prometheus' alerting rules: a finding that is missing is not resolved at once, because it may be
out of sight only; and one that was followed is resolved once its outcome is measured, because Alertmanager notifies of
an end only once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from advisor.advice.assessment import Assessment
from advisor.alerting.alert import Alert, annotations_of, labels_of, with_outcome
from advisor.alerting.timetable import Timetable
from advisor.contract.links import Links
from advisor.contract.recommendation import Recommendation
from advisor.ledger.entry import Outcome, Result
from advisor.ledger.reading import WINDOW_SECONDS
from advisor.ledger.settling import LIMIT
from exporter.snapshot import Snapshot

_AS_LONG = 0.9
"""A missing finding is resolved once a new window is this part of the length of the one it was found in."""
LONGEST_MEASUREMENT = (LIMIT + 1) * WINDOW_SECONDS
"""Seconds that the alert of a finding that was followed is kept up at most; until then its outcome is measured."""


@dataclass(slots=True)
class _Active:
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
    rule: str
    followed_at: float | None = None


class ActiveAlerts:
    """The active alerts by fingerprint."""

    def __init__(
        self,
        labels: Callable[[], Mapping[str, str]],
        links: Links,
        resend_seconds: float,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        """No alert is active yet.

        Args:
            labels: The labels of all alerts now, ``instance`` among them.
            links: Of the sidecar.
            resend_seconds: Time between two sendings of an active alert.
            clock: Unix seconds.
            ticks: Seconds, monotonic.
        """
        self._labels, self._links, self._ticks = labels, links, ticks
        self._alerts: Timetable[str] = Timetable(resend_seconds, clock, ticks)
        self._active: dict[str, _Active] = {}

    def update(self, assessment: Assessment | None, outcomes: Iterable[Outcome] = ()) -> list[Alert]:
        """The alerts to send now.

        Args:
            assessment: None while the server cannot be seen.
            outcomes: What became of changes of settings, in any order.
        """
        due: list[Alert] = []
        if assessment is not None:
            for found in assessment.advice.recommendations:
                due += self._found(found, assessment)
            found_now = {found.fingerprint for found in assessment.advice.recommendations}
            missing = [each for each in self._alerts if each not in found_now]
            followed = _followed(outcomes, assessment.snapshot) if missing else {}
            for fingerprint in missing:
                outcome = followed.get(fingerprint)
                since = outcome is not None and outcome.at >= self._alerts.alert(fingerprint).starts_at
                due += self._missing(fingerprint, assessment, outcome if since else None)
        ended = self._alerts.ended()
        self._active = {each: self._active[each] for each in self._alerts}
        return [*ended, *due]

    def _found(self, found: Recommendation, assessment: Assessment) -> list[Alert]:
        advice, fingerprint = assessment.advice, found.fingerprint
        active = self._active.get(fingerprint)
        names = [change.setting for change in found.changes]
        rule = assessment.rule_set.rule(found.rule)
        labels = labels_of(found, self._labels())
        annotations = annotations_of(found, rule.file.why if rule else "", self._links)
        if active and self._alerts.alert(fingerprint).labels != labels:
            active = None  # its severity, or the labels of all alerts, changed: it is another alert
        self._active[fingerprint] = _Active(
            found_at=advice.at,
            seconds=min(advice.watched_seconds, active.seconds) if active else advice.watched_seconds,
            settings={name: assessment.snapshot.setting(name) for name in names},
            annotations=annotations,
            rule=found.rule,
        )
        return self._alerts.hold(fingerprint, labels, annotations, self._links.data(fingerprint))

    def _missing(self, fingerprint: str, assessment: Assessment, outcome: Outcome | None) -> list[Alert]:
        active, tick = self._active[fingerprint], self._ticks()
        gone = _is_gone(fingerprint, active, assessment)
        if gone and outcome is not None:
            self._alerts.amend(fingerprint, with_outcome(active.annotations, outcome))
            active.followed_at = tick if active.followed_at is None else active.followed_at
            gone = outcome.result is not Result.OPEN or tick - active.followed_at > LONGEST_MEASUREMENT
        if gone:
            self._alerts.resolve(fingerprint)
        return self._alerts.keep(fingerprint) if gone is False else []


def _followed(outcomes: Iterable[Outcome], latest: Snapshot) -> dict[str, Outcome]:
    """By fingerprint, what became of the newest change that followed the finding and was not taken back."""
    return {
        each.fingerprint: each
        for each in sorted(outcomes, key=lambda each: each.at)
        if each.fingerprint is not None and each.followed and all(change.is_in_force(latest) for change in each.changes)
    }


def _is_gone(fingerprint: str, active: _Active, assessment: Assessment) -> bool | None:
    """Whether a missing finding is gone; False if it is too early to tell, None if it is out of sight.

    A restart of the server, a changed setting and a gap begin a new window, in which most rules must first see
    something happen often enough. So a finding is gone when it is missing in the window that had it, when a new window
    is as long as that one was, or when a setting that it changes has another value.
    """
    advice = assessment.advice
    if any(aside.recommendation.fingerprint == fingerprint for aside in (*advice.suppressed, *advice.overruled)):
        return True
    if assessment.rule_set.rule(active.rule) is None:
        return True
    lacks = {blind.lacks for blind in advice.blind if blind.rule == active.rule}
    if lacks - {"window"} or any(failed.rule == active.rule for failed in advice.failed):
        return None
    if lacks:
        return False
    began = round(advice.at - advice.watched_seconds, 2)
    return (
        began <= active.found_at
        or advice.watched_seconds >= _AS_LONG * active.seconds
        or any(assessment.snapshot.setting(name) != value for name, value in active.settings.items())
    )
