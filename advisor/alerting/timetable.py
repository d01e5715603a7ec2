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
"""An alert is sent at the first update after this part of the resend interval: updates are never exactly on time."""

Key = TypeVar("Key", bound=Hashable)


@dataclass(slots=True)
class _Sent:
    """Times are of the monotonic clock."""

    alert: Alert
    sent_at: float
    resolved_at: float = 0.0


class Timetable(Generic[Key]):
    """The active alerts by what they are about, and the alerts that were resolved lately."""

    def __init__(
        self,
        resend_seconds: float,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        """No alert is active yet.

        Args:
            resend_seconds: Time between two sendings of an active alert.
            clock: Unix seconds.
            ticks: Seconds, monotonic.
        """
        self._resend, self._clock, self._ticks = resend_seconds, clock, ticks
        self._active: dict[Key, _Sent] = {}
        self._resolved: dict[frozenset[tuple[str, str]], _Sent] = {}

    def __iter__(self) -> Iterator[Key]:
        """What the active alerts are about."""
        return iter(tuple(self._active))

    def __contains__(self, key: Key) -> bool:
        return key in self._active

    def alert(self, key: Key) -> Alert:
        """An active alert, as it was told last."""
        return self._active[key].alert

    def hold(self, key: Key, labels: Mapping[str, str], annotations: Mapping[str, str], url: str) -> list[Alert]:
        """It is active; returns what to send now: nothing while it is not due. Other labels make another alert."""
        now, tick = self._clock(), self._ticks()
        active = self._active.get(key)
        alert = Alert(
            labels=labels,
            annotations=annotations,
            # The clock may be set back, and Alertmanager refuses an alert that starts after its end.
            starts_at=min(active.alert.starts_at, now) if active else now,
            ends_at=now + LIFETIME * self._resend,
            generator_url=url,
        )
        if active and active.alert.key != alert.key:
            self.resolve(key)
            active, alert = None, replace(alert, starts_at=now)
        if active is not None and not self._is_due(active, tick):
            active.alert = alert
            return []
        self._active[key] = _Sent(alert, tick)
        return [alert]

    def keep(self, key: Key) -> list[Alert]:
        """It is still active, as it was told last; returns what to send now."""
        alert = self._active[key].alert
        return self.hold(key, alert.labels, alert.annotations, alert.generator_url)

    def amend(self, key: Key, annotations: Mapping[str, str]) -> None:
        """Give an active alert other annotations; they are sent with the next sending."""
        active = self._active[key]
        active.alert = replace(active.alert, annotations=annotations)

    def resolve(self, key: Key) -> None:
        """It has ended; ``ended`` returns what to send."""
        now, tick, alert = self._clock(), self._ticks(), self._active.pop(key).alert
        ended = replace(alert, starts_at=min(alert.starts_at, now), ends_at=now)
        self._resolved[ended.key] = _Sent(ended, -math.inf, tick)

    def ended(self) -> list[Alert]:
        """Forget the alerts that have expired, and return the resolved alerts to send now, first or once more.

        One whose labels an active alert has too has not ended: names with dots in them can make two findings one alert.
        """
        tick = self._ticks()
        for key, active in list(self._active.items()):
            if tick - active.sent_at > LIFETIME * self._resend:
                del self._active[key]
        held = {each.alert.key for each in self._active.values()}
        self._resolved = kept = {
            key: each
            for key, each in self._resolved.items()
            if key not in held and tick - each.resolved_at <= RETENTION_SECONDS
        }
        due = [each for each in kept.values() if self._is_due(each, tick)]
        for each in due:
            each.sent_at = tick
        return [each.alert for each in due]

    def _is_due(self, sent: _Sent, tick: float) -> bool:
        return tick - sent.sent_at >= _DUE * self._resend
