"""Active and resolved alerts, and which of them to send when.

It follows Prometheus' alerting rules (rules/alerting.go there): an active alert is sent again and again, each time with
an end in the future, when it expires unless it is sent again; a resolved alert is sent with its end for fifteen more
minutes. Two things differ: a finding that is missing is not resolved at once, because it may be out of sight only; and
one that was followed is resolved once its outcome is measured, because Alertmanager notifies of an end only once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from advisor.advice.assessment import Assessment
from advisor.alerting.alert import Alert, annotations_of, labels_of, with_outcome
from advisor.contract.links import Links
from advisor.contract.recommendation import Recommendation
from advisor.ledger.entry import Outcome, Result
from advisor.ledger.reading import WINDOW_SECONDS
from advisor.ledger.settling import LIMIT
from exporter.snapshot import Snapshot

LIFETIME = 4
"""An alert that is not sent again expires after so many times the resend interval."""
RETENTION_SECONDS = 900.0
"""How long a resolved alert is sent."""
_DUE = 0.75
"""An alert is sent at the first update after this part of the resend interval: updates are never exactly on time."""
_AS_LONG = 0.9
"""A missing finding is resolved once a new window is this part of the length of the one it was found in."""
LONGEST_MEASUREMENT = (LIMIT + 1) * WINDOW_SECONDS
"""Seconds that the alert of a finding that was followed is kept up at most; until then its outcome is measured."""


@dataclass(slots=True)
class _Active:
    """The alert of a finding that holds.

    Attributes:
        alert: As it was sent last.
        setting: The first setting that the finding changed at first. It stays in the labels even if the rule comes to
            advise another setting: the alert is still the same.
        found_at: Time of the last advice with the finding, Unix seconds.
        seconds: Length of the shortest window with the finding.
        settings: Values of the settings that it changes, when it was last found.
        annotations: As the finding has them.
        sent_at: Monotonic clock.
        followed_at: When it was gone, and what became of it was not measured yet; monotonic clock.
    """

    alert: Alert
    setting: str | None
    found_at: float
    seconds: float
    settings: Mapping[str, str | None]
    annotations: Mapping[str, str]
    rule: str
    sent_at: float
    followed_at: float | None = None


@dataclass(slots=True)
class _Resolved:
    """Times are of the monotonic clock."""

    alert: Alert
    resolved_at: float
    sent_at: float


class ActiveAlerts:
    """The active alerts by fingerprint, and the alerts that were resolved lately."""

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
        self._labels, self._links = labels, links
        self._resend, self._clock, self._ticks = resend_seconds, clock, ticks
        self._active: dict[str, _Active] = {}
        self._resolved: dict[frozenset[tuple[str, str]], _Resolved] = {}

    def update(self, assessment: Assessment | None, outcomes: Iterable[Outcome] = ()) -> list[Alert]:
        """The alerts to send now.

        Args:
            assessment: None while the server cannot be seen.
            outcomes: What became of changes of settings, in any order.
        """
        now, tick = self._clock(), self._ticks()
        due: list[Alert] = []
        if assessment is not None:
            for found in assessment.advice.recommendations:
                due += self._found(found, assessment, now, tick)
            found_now = {found.fingerprint for found in assessment.advice.recommendations}
            missing = [each for each in self._active if each not in found_now]
            followed = _followed(outcomes, assessment.snapshot) if missing else {}
            for fingerprint in missing:
                outcome = followed.get(fingerprint)
                since = outcome is not None and outcome.at >= self._active[fingerprint].alert.starts_at
                due += self._missing(fingerprint, assessment, outcome if since else None, now, tick)
        for fingerprint, active in list(self._active.items()):
            if tick - active.sent_at > LIFETIME * self._resend:
                del self._active[fingerprint]  # it has expired
        return [*due, *self._resolved_again(tick)]

    def _found(self, found: Recommendation, assessment: Assessment, now: float, tick: float) -> list[Alert]:
        advice, due = assessment.advice, []
        active = self._active.get(found.fingerprint)
        names = [change.setting for change in found.changes]
        setting = active.setting if active else next(iter(names), None)
        rule = assessment.rule_set.rule(found.rule)
        alert = Alert(
            labels=labels_of(found, setting, self._labels()),
            annotations=annotations_of(found, rule.file.why if rule else "", self._links),
            # The clock may be set back, and Alertmanager refuses an alert that starts after its end.
            starts_at=min(active.alert.starts_at, now) if active else now,
            ends_at=now + LIFETIME * self._resend,
            generator_url=self._links.data(found.fingerprint),
        )
        if active and active.alert.key != alert.key:  # its severity, or the labels of all alerts, changed
            due += self._resolve(active, now, tick)
            active, alert = None, replace(alert, starts_at=now)
        send = active is None or self._is_due(active.sent_at, tick)
        self._resolved.pop(alert.key, None)
        self._active[found.fingerprint] = _Active(
            alert=alert,
            setting=setting,
            found_at=advice.at,
            seconds=min(advice.watched_seconds, active.seconds) if active else advice.watched_seconds,
            settings={name: assessment.snapshot.setting(name) for name in names},
            annotations=alert.annotations,
            rule=found.rule,
            sent_at=tick if send or active is None else active.sent_at,
        )
        return [*due, alert] if send else due

    def _missing(
        self, fingerprint: str, assessment: Assessment, outcome: Outcome | None, now: float, tick: float
    ) -> list[Alert]:
        active = self._active[fingerprint]
        gone = _is_gone(fingerprint, active, assessment)
        if gone and outcome is not None:
            active.alert = replace(active.alert, annotations=with_outcome(active.annotations, outcome))
            active.followed_at = tick if active.followed_at is None else active.followed_at
            gone = outcome.result is not Result.OPEN or tick - active.followed_at > LONGEST_MEASUREMENT
        if gone:
            del self._active[fingerprint]
            return self._resolve(active, now, tick)
        if gone is None or not self._is_due(active.sent_at, tick):
            return []
        active.alert = replace(
            active.alert, starts_at=min(active.alert.starts_at, now), ends_at=now + LIFETIME * self._resend
        )
        active.sent_at = tick
        return [active.alert]

    def _resolve(self, active: _Active, now: float, tick: float) -> list[Alert]:
        alert = replace(active.alert, starts_at=min(active.alert.starts_at, now), ends_at=now)
        self._resolved[alert.key] = _Resolved(alert, tick, tick)
        return [alert]

    def _resolved_again(self, tick: float) -> list[Alert]:
        """The resolved alerts to send once more."""
        kept = {key: each for key, each in self._resolved.items() if tick - each.resolved_at <= RETENTION_SECONDS}
        self._resolved = kept
        due = [each for each in kept.values() if self._is_due(each.sent_at, tick)]
        for each in due:
            each.sent_at = tick
        return [each.alert for each in due]

    def _is_due(self, sent_at: float, tick: float) -> bool:
        return tick - sent_at >= _DUE * self._resend


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
