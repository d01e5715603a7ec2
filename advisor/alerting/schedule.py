"""When which alert is sent.

It follows Prometheus' alerting rules (rules/alerting.go there): an active alert is sent again and again, each time with
an end in the future, when it expires unless it is sent again; a resolved alert is sent with its end for fifteen more
minutes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from advisor.alerting.alert import Alert

LIFETIME = 4
"""An alert that is not sent again expires after so many times the resend interval."""
RETENTION_SECONDS = 900.0
"""How long a resolved alert is sent."""
_DUE = 0.75
"""An alert is sent at the first look after this part of the resend interval: looks are never exactly on time."""

Key = TypeVar("Key", bound=Hashable)


@dataclass(slots=True)
class _Scheduled:
    """An alert. Times are of the monotonic clock.

    Attributes:
        alert: As it is now.
        sent_at: When it was sent last.
        resolved_at: When it was resolved.
        is_seen: Whether it was held since the last look.
    """

    alert: Alert
    sent_at: float = -math.inf
    resolved_at: float = 0.0
    is_seen: bool = False


class AlertSchedule(Generic[Key]):
    """The active alerts by what they are about, and the alerts that were resolved lately."""

    def __init__(
        self,
        resend_seconds: float,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin without an active alert.

        Args:
            resend_seconds: Time between two sendings of an active alert.
            clock: Unix seconds.
            ticks: Seconds, monotonic.
        """
        self._resend, self._clock, self._ticks = resend_seconds, clock, ticks
        self._active: dict[Key, _Scheduled] = {}
        self._resolved: dict[frozenset[tuple[str, str]], _Scheduled] = {}

    def __iter__(self) -> Iterator[Key]:
        """What the active alerts are about."""
        return iter(tuple(self._active))

    def __getitem__(self, key: Key) -> Alert:
        """An active alert, as it was held last."""
        return self._active[key].alert

    def hold(self, key: Key, labels: Mapping[str, str], annotations: Mapping[str, str], url: str) -> None:
        """It is active. Other labels make another alert, and end the one before."""
        now, active = self._clock(), self._active.get(key)
        if active and active.alert.labels != labels:
            self.resolve(key)
            active = None
        active = active or self._active.setdefault(key, _Scheduled(Alert(labels, annotations, now, now, url)))
        active.is_seen = True
        active.alert = Alert(
            labels,
            annotations,
            # The clock may be set back, and Alertmanager refuses an alert that starts after its end.
            starts_at=min(active.alert.starts_at, now),
            ends_at=now + LIFETIME * self._resend,
            generator_url=url,
        )

    def keep(self, key: Key, annotations: Mapping[str, str] | None = None) -> None:
        """It is still active, as it was held last but for these annotations."""
        alert = self._active[key].alert
        self.hold(key, alert.labels, {**alert.annotations, **(annotations or {})}, alert.generator_url)

    def resolve(self, key: Key, annotations: Mapping[str, str] | None = None) -> None:
        """It has ended, with these annotations beside its own."""
        now, alert = self._clock(), self._active.pop(key).alert
        ended = replace(
            alert,
            annotations={**alert.annotations, **(annotations or {})},
            starts_at=min(alert.starts_at, now),
            ends_at=now,
        )
        self._resolved[ended.key] = _Scheduled(ended, resolved_at=self._ticks())

    def due(self) -> list[Alert]:
        """The alerts to send now: of the resolved ones, and of those that were held since the last look.

        One that was not held for so long that Alertmanager has ended it is forgotten. A resolved one whose labels an
        active alert has too has not ended: names with dots in them can make two findings one alert.
        """
        tick = self._ticks()
        lifetime = LIFETIME * self._resend
        self._active = {
            key: active for key, active in self._active.items() if active.is_seen or tick - active.sent_at <= lifetime
        }
        active_keys = {active.alert.key for active in self._active.values()}
        self._resolved = {
            key: resolved
            for key, resolved in self._resolved.items()
            if key not in active_keys and tick - resolved.resolved_at <= RETENTION_SECONDS
        }
        seen = [active for active in self._active.values() if active.is_seen]
        sent = (*self._resolved.values(), *seen)
        due = [scheduled for scheduled in sent if tick - scheduled.sent_at >= _DUE * self._resend]
        for scheduled in seen:
            scheduled.is_seen = False
        for scheduled in due:
            scheduled.sent_at = tick
        return [scheduled.alert for scheduled in due]
