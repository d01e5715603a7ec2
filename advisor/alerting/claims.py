"""Who else tells an Alertmanager of the same alerts, and until when they hold by that.

Two sidecars on one server send alerts with the same labels, which are one alert to Alertmanager. An end counts there
whoever tells it, and the next sending of the other begins the alert anew (Merge in Alertmanager's types/types.go): one
finding would be notified of again and again. So each looks which end Alertmanager has before it sends. An end that it
never told, and that moves, is a claim of another; while one lasts, no end is told.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime

from pydantic import BaseModel, TypeAdapter

from advisor.alerting.alert import Alert
from advisor.alerting.timetable import RETENTION_SECONDS

_Key = frozenset[tuple[str, str]]


class _Known(BaseModel):
    """An active alert of Alertmanager (gettableAlert in api/v2/openapi.yaml there)."""

    labels: dict[str, str]
    endsAt: datetime  # noqa: N815 - Alertmanager's name


_ANSWER = TypeAdapter(list[_Known])


class Claims:
    """The claims at one Alertmanager."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """Nothing is known yet.

        Args:
            clock: Unix seconds.
        """
        self._clock = clock
        self._told: dict[_Key, int] = {}
        self._heard: dict[_Key, int] = {}
        self._others: dict[_Key, int] = {}

    def hear(self, answer: bytes) -> None:
        """Take what Alertmanager knows.

        Args:
            answer: Of GET /api/v2/alerts.

        Raises:
            ValueError: It is no such answer.
        """
        known = {
            frozenset(each.labels.items()): _milliseconds(each.endsAt.timestamp())
            for each in _ANSWER.validate_json(answer)
        }
        for key, end in known.items():
            if key in self._told and end not in (self._told[key], self._heard.get(key)):
                self._others[key] = end
        self._heard = known

    def tell(self, alerts: Sequence[Alert]) -> None:
        """These are told now, whether they are taken or not."""
        now = _milliseconds(self._clock())
        told = {each.key: _milliseconds(each.ends_at) for each in alerts}
        oldest = now - _milliseconds(RETENTION_SECONDS)
        self._told = {key: end for key, end in self._told.items() if end > oldest} | told
        self._others = {key: end for key, end in self._others.items() if end > now}

    def forbid(self, alert: Alert) -> bool:
        """Whether it is an end, and another says that the alert holds."""
        now = self._clock()
        return alert.ends_at <= now and self._others.get(alert.key, 0) > _milliseconds(now)


def _milliseconds(seconds: float) -> int:
    """As alerts are sent: no finer."""
    return int(round(seconds * 1000.0, 3))
