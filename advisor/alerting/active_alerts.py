"""Which findings stand, and which have gone: what is to be sent when. Pure, but for the clocks.

As Prometheus has it for the alerts of its rules (rules/alerting.go there): what stands is sent again, each time with an
end in the future, past which it is over by itself; what has gone is sent with its end for fifteen minutes more. Unlike
there, something that is not found is not gone yet: it may be that it cannot be seen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from advisor.alerting.alert import Alert
from advisor.contract.recommendation import Advice, Recommendation
from advisor.rules.rulebook import InForce
from exporter.snapshot import Snapshot

LIFETIME = 4
"""Times the time between two sendings, until an alert that is not sent again is over."""
RETENTION_SECONDS = 900.0
"""For so long the end of an alert is sent again and again."""
_DUE = 0.75
"""Part of the time between two sendings after which one is due: looks, two of which come in it, are never on time."""
_AS_LONG = 0.9
"""Part of the window that a finding was found in, which has to be watched anew before it is gone."""


class Given(Protocol):
    """Advice, and what it was made of and by."""

    @property
    def advice(self) -> Advice:
        """What the rules said."""

    @property
    def snapshot(self) -> Snapshot:
        """The newest one that they looked at."""

    @property
    def by(self) -> InForce:
        """The rules."""


class Dress(Protocol):
    """Makes an alert of a finding; ``setting`` is the one that it is known by."""

    def __call__(
        self, found: Recommendation, by: InForce, setting: str | None, starts_at: float, ends_at: float
    ) -> Alert:
        """Make it."""


@dataclass(slots=True)
class _Held:
    """A finding that stands.

    Attributes:
        alert: As it was sent last.
        setting: The first one to change when it was found first: should the rule come to advise another one, it is
            still the same alert.
        found_at: Time of the last advice that made it, Unix seconds.
        seconds: The shortest window that it was found in.
        settings: Values, when it was last found, of those that it would change.
        renewed: When it was last known to stand and sent, monotonic clock.
    """

    alert: Alert
    setting: str | None
    found_at: float
    seconds: float
    settings: Mapping[str, str | None]
    rule: str
    renewed: float


@dataclass(slots=True)
class _Ended:
    alert: Alert
    since: float
    sent: float


class Standing:
    """What stands, by fingerprint, and what has ended lately."""

    def __init__(
        self,
        dress: Dress,
        resend_seconds: float,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing stands yet.

        Args:
            dress: Makes alerts.
            resend_seconds: Time between two sendings of one.
            clock: Unix seconds.
            ticks: Seconds, monotonic.
        """
        self._dress, self._resend, self._clock, self._ticks = dress, resend_seconds, clock, ticks
        self._held: dict[str, _Held] = {}
        self._ended: dict[frozenset[tuple[str, str]], _Ended] = {}

    def look(self, given: Given | None) -> list[Alert]:
        """What is to be sent now that this is known; None where nothing is, for the server cannot be seen."""
        now, tick = self._clock(), self._ticks()
        due: list[Alert] = []
        if given is not None:
            for found in given.advice.recommendations:
                due += self._stands(found, given, now, tick)
            found_now = {found.fingerprint for found in given.advice.recommendations}
            for fingerprint in [each for each in self._held if each not in found_now]:
                due += self._missing(fingerprint, given, now, tick)
        for fingerprint, held in list(self._held.items()):
            if tick - held.renewed > LIFETIME * self._resend:
                del self._held[fingerprint]  # over by itself by now
        return [*due, *self._ends(tick)]

    def _stands(self, found: Recommendation, given: Given, now: float, tick: float) -> list[Alert]:
        advice, due = given.advice, []
        held = self._held.get(found.fingerprint)
        names = [change.setting for change in found.changes]
        setting = held.setting if held else next(iter(names), None)
        # A clock may be set back; what starts after it ends is refused.
        starts_at = min(held.alert.starts_at, now) if held else now
        alert = self._dress(found, given.by, setting, starts_at, now + LIFETIME * self._resend)
        if held and held.alert.key != alert.key:  # its severity, or the labels of all, have changed
            due += self._end(held, now, tick)
            held, alert = None, replace(alert, starts_at=now)
        fresh = held is None or self._is_due(held.renewed, tick)
        self._ended.pop(alert.key, None)
        self._held[found.fingerprint] = _Held(
            alert=alert,
            setting=setting,
            found_at=advice.at,
            seconds=min(advice.watched_seconds, held.seconds) if held else advice.watched_seconds,
            settings={name: given.snapshot.setting(name) for name in names},
            rule=found.rule,
            renewed=tick if fresh or held is None else held.renewed,
        )
        return [*due, alert] if fresh else due

    def _missing(self, fingerprint: str, given: Given, now: float, tick: float) -> list[Alert]:
        held = self._held[fingerprint]
        gone = _gone(fingerprint, held, given)
        if gone:
            del self._held[fingerprint]
            return self._end(held, now, tick)
        if gone is None or not self._is_due(held.renewed, tick):
            return []
        held.alert = replace(
            held.alert, starts_at=min(held.alert.starts_at, now), ends_at=now + LIFETIME * self._resend
        )
        held.renewed = tick
        return [held.alert]

    def _end(self, held: _Held, now: float, tick: float) -> list[Alert]:
        ended = replace(held.alert, starts_at=min(held.alert.starts_at, now), ends_at=now)
        self._ended[ended.key] = _Ended(ended, tick, tick)
        return [ended]

    def _ends(self, tick: float) -> list[Alert]:
        """Ends that are to be sent once more."""
        self._ended = {key: each for key, each in self._ended.items() if tick - each.since <= RETENTION_SECONDS}
        again = [each for each in self._ended.values() if self._is_due(each.sent, tick)]
        for each in again:
            each.sent = tick
        return [each.alert for each in again]

    def _is_due(self, last: float, tick: float) -> bool:
        return tick - last >= _DUE * self._resend


def _gone(fingerprint: str, held: _Held, given: Given) -> bool | None:
    """Whether a finding that is not made has gone; False where it can't be told yet, None where it can't be seen.

    A restart of the server, a change of any setting and a gap begin a new window, in which most rules first have to see
    something happen often enough. A finding has gone where the window that it was made in no longer makes it, or a new
    one that has watched as long, or where a setting that it was about has another value.
    """
    advice = given.advice
    if any(aside.recommendation.fingerprint == fingerprint for aside in (*advice.suppressed, *advice.overruled)):
        return True
    if all(rule.id != held.rule for rule in given.by.rules):
        return True
    lacks = {blind.lacks for blind in advice.blind if blind.rule == held.rule}
    if lacks - {"window"} or any(failed.rule == held.rule for failed in advice.failed):
        return None
    if lacks:
        return False
    began = round(advice.at - advice.watched_seconds, 2)
    return (
        began <= held.found_at
        or advice.watched_seconds >= _AS_LONG * held.seconds
        or any(given.snapshot.setting(name) != value for name, value in held.settings.items())
    )
