"""Looks at the last report of the fleet, and gives its alerts to each Alertmanager."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from prometheus_client import Metric

from advisor.alerting.alert import Alert
from advisor.alerting.deliveries import LOOKS, SOON, Deliveries
from advisor.alerting.fleet_alerts import FleetAlerts
from advisor.contract.links import Links
from advisor.fleet.watch import Watch
from advisor.rules.rulebook import Rulebook

CAPACITY = 50_000
"""Alerts that may wait for an Alertmanager: ten for each of 5,000 servers."""


class FleetNotifier:
    """Findings of a fleet on their way to Alertmanagers.

    Args:
        deliveries: To all Alertmanagers.
        watch: Has the last report.
        book: Has the texts of the rules.
        links: Of the service.
        resend_seconds: Time between two sendings of an active alert.
    """

    def __init__(
        self, deliveries: Deliveries, watch: Watch, book: Rulebook, links: Links, resend_seconds: float
    ) -> None:
        self._deliveries, self._watch, self._book = deliveries, watch, book
        self._look_seconds = resend_seconds / LOOKS
        self._alerts = FleetAlerts(lambda: deliveries.labels, links, self._why, resend_seconds)

    def families(self) -> Iterable[Metric]:
        """The metric families of the deliveries."""
        return self._deliveries.families()

    async def run(self) -> None:
        """Look and send until cancelled. Alerts that are active then expire."""
        await self._deliveries.run(self._look, self._look_seconds)

    async def _look(self) -> tuple[list[Alert], float]:
        watch = self._watch
        # In a thread: the texts of thousands of findings take a second.
        alerts = await asyncio.to_thread(self._alerts.update, watch.report, watch.stale)
        return alerts, self._look_seconds if watch.report else min(SOON, self._look_seconds)

    def _why(self, rule: str) -> str:
        known = self._book.rule_set.rule(rule)
        return known.file.why if known else ""
