"""Asks the service for advice again and again, and gives the alerts to each Alertmanager."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence

from prometheus_client.core import Metric

from advisor.advice.assessment import Assessment
from advisor.advice.service import Service
from advisor.alerting import metrics
from advisor.alerting.active_alerts import ActiveAlerts
from advisor.alerting.client import ClientSettings
from advisor.alerting.delivery import Alertmanager
from advisor.contract.links import Links
from advisor.files.reloading import Reloader

log = logging.getLogger(__name__)

RESEND_SECONDS = 60.0
_LOOKS = 2
"""Looks in a resend interval: a new finding waits half of it at most."""
_SOON = 2.0
"""Seconds until the next look while there is nothing to see, or nothing to tell yet; such a look costs nothing."""


class Notifier:
    """Findings on their way to Alertmanagers.

    Args:
        alertmanagers: Each of them gets all alerts.
        settings: Has the labels of all alerts. It is refreshed at each look.
        instance: The label ``instance``, which names the server.
        links: Of the sidecar.
        resend_seconds: Time between two sendings of an active alert.
    """

    def __init__(
        self,
        alertmanagers: Sequence[Alertmanager],
        settings: Reloader[ClientSettings],
        *,
        instance: str,
        links: Links,
        resend_seconds: float = RESEND_SECONDS,
    ) -> None:
        self._alertmanagers = alertmanagers
        self._settings = settings
        self.instance = instance
        self.links = links
        self._look_seconds = resend_seconds / _LOOKS
        self._active = ActiveAlerts(self._labels, links, resend_seconds)

    def families(self) -> Iterable[Metric]:
        """The metric families of the deliveries."""
        return metrics.families(self._alertmanagers)

    async def run(self, service: Service) -> None:
        """Look at the findings and send alerts until cancelled. Alerts that are active then expire."""
        async with asyncio.TaskGroup() as tasks:
            for each in self._alertmanagers:
                tasks.create_task(each.run())
            await self._keep_looking(service)

    async def _keep_looking(self, service: Service) -> None:
        while True:
            pause = await self._look(service)
            await asyncio.sleep(pause)

    async def _look(self, service: Service) -> float:
        """Seconds until the next look."""
        assessment: Assessment | None = None
        try:
            await asyncio.to_thread(self._settings.refresh)
            assessment = await service.assessment()
            alerts = self._active.update(assessment, service.books.ledger.outcomes.values())
        except Exception:  # whatever it is, the next look may go well
            log.exception("cannot tell what to send to Alertmanager")
            return self._look_seconds
        for each in self._alertmanagers:
            each.put(alerts)
        watched = assessment and all(blind.lacks != "window" for blind in assessment.advice.blind)
        return self._look_seconds if watched else min(_SOON, self._look_seconds)

    def _labels(self) -> dict[str, str]:
        return {**self._settings.content.labels, "instance": self.instance}
