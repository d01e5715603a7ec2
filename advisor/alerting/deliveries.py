"""Looks again and again for alerts to send, and gives them to each Alertmanager."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from prometheus_client import Metric

from advisor.alerting import metrics
from advisor.alerting.alert import Alert
from advisor.alerting.configuration import AlertSettings
from advisor.alerting.delivery import Alertmanager
from advisor.files.reloading import Reloader

log = logging.getLogger(__name__)

LOOKS = 2
"""Looks in a resend interval: a new finding waits half of it at most."""
SOON = 2.0
"""Seconds until the next look while there is nothing to see, or nothing to tell yet; such a look costs nothing."""


class Deliveries:
    """Alerts on their way to all Alertmanagers.

    Args:
        alertmanagers: Each of them gets all alerts.
        settings: Has the labels of all alerts. It is refreshed at each look.
    """

    def __init__(self, alertmanagers: Sequence[Alertmanager], settings: Reloader[AlertSettings]) -> None:
        self._alertmanagers = alertmanagers
        self._settings = settings

    @property
    def labels(self) -> Mapping[str, str]:
        """The configured labels of all alerts."""
        return self._settings.content.labels

    def families(self) -> Iterable[Metric]:
        """The metric families of all of them."""
        return metrics.families(self._alertmanagers)

    async def run(self, look: Callable[[], Awaitable[tuple[Sequence[Alert], float]]], pause: float) -> None:
        """Look for alerts and send them until cancelled.

        Args:
            look: Returns the alerts to send now, and the seconds until the next look.
            pause: Seconds until the next look after one that failed.
        """
        async with asyncio.TaskGroup() as tasks:
            for each in self._alertmanagers:
                tasks.create_task(each.run())
            while True:
                until_next = await self._once(look, pause)
                await asyncio.sleep(until_next)

    async def _once(self, look: Callable[[], Awaitable[tuple[Sequence[Alert], float]]], pause: float) -> float:
        try:
            await asyncio.to_thread(self._settings.refresh)
            alerts, until_next = await look()
        except Exception:  # whatever it is, the next look may go well
            log.exception("cannot tell what to send to Alertmanager")
            return pause
        for each in self._alertmanagers:
            each.put(alerts)
        return until_next
