"""Asks the service for advice again and again, and gives the alerts to each Alertmanager."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import Metric

from advisor.advice.service import Service
from advisor.alerting.active_alerts import ActiveAlerts
from advisor.alerting.alert import Alert
from advisor.alerting.deliveries import LOOKS, SOON, Deliveries
from advisor.contract.links import Links

RESEND_SECONDS = 60.0


class Notifier:
    """Findings of the sidecar's server on their way to Alertmanagers.

    Args:
        deliveries: To all Alertmanagers.
        instance: The label ``instance``, which names the server.
        links: Of the sidecar.
        resend_seconds: Time between two sendings of an active alert.
    """

    def __init__(
        self,
        deliveries: Deliveries,
        *,
        instance: str,
        links: Links,
        resend_seconds: float = RESEND_SECONDS,
    ) -> None:
        self._deliveries = deliveries
        self.instance = instance
        self.links = links
        self._look_seconds = resend_seconds / LOOKS
        self._active = ActiveAlerts(self._labels, links, resend_seconds)

    def families(self) -> Iterable[Metric]:
        """The metric families of the deliveries."""
        return self._deliveries.families()

    async def run(self, service: Service) -> None:
        """Look at the findings and send alerts until cancelled. Alerts that are active then expire."""
        await self._deliveries.run(lambda: self._look(service), self._look_seconds)

    async def _look(self, service: Service) -> tuple[list[Alert], float]:
        assessment = await service.assessment()
        alerts = self._active.update(assessment, service.books.ledger.outcomes.values())
        watched = assessment and all(blind.lacks != "window" for blind in assessment.advice.blind)
        return alerts, self._look_seconds if watched else min(SOON, self._look_seconds)

    def _labels(self) -> dict[str, str]:
        return {**self._deliveries.labels, "instance": self.instance}
