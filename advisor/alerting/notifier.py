"""Looks at the findings now and then, whoever else does, and has each Alertmanager told."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence

from prometheus_client.core import Metric

from advisor.alerting import metrics
from advisor.alerting.active_alerts import Given, Standing
from advisor.alerting.alert import Alert, annotations_of, labels_of
from advisor.alerting.client import Alertmanager
from advisor.alerting.http_client import Ways
from advisor.contract.recommendation import Recommendation
from advisor.rules.rulebook import InForce

log = logging.getLogger(__name__)

RESEND_SECONDS = 60.0
_LOOKS = 2
"""Looks between two sendings of an alert: a new finding waits half as long at most."""
_SOON = 2.0
"""Seconds until the next look while nothing can be seen, or nothing be told yet: a look costs nothing then."""


class Notifier:
    """Findings on their way to Alertmanagers.

    Args:
        alertmanagers: Each of which gets all alerts.
        ways: How they are spoken to, with labels for all alerts.
        instance: The label that says which server is meant.
        external_url: Where people reach the sidecar.
        resend_seconds: Time between two sendings of an alert that holds.
    """

    def __init__(
        self,
        alertmanagers: Sequence[Alertmanager],
        ways: Ways,
        *,
        instance: str,
        external_url: str,
        resend_seconds: float = RESEND_SECONDS,
    ) -> None:
        self._alertmanagers = alertmanagers
        self._ways = ways
        self.instance = instance
        self.external_url = external_url
        self._look_seconds = resend_seconds / _LOOKS
        self._standing = Standing(self._dress, resend_seconds)

    def families(self) -> Iterable[Metric]:
        """The metric families of what is sent."""
        return metrics.families(self._alertmanagers)

    async def run(self, judge: Callable[[], Awaitable[Given | None]]) -> None:
        """Look and send until cancelled, which ends it at once; what stands is not ended by that.

        Args:
            judge: What is found now; None while the server cannot be seen.
        """
        async with asyncio.TaskGroup() as tasks:
            for each in self._alertmanagers:
                tasks.create_task(each.run())
            await self._keep_looking(judge)

    async def _keep_looking(self, judge: Callable[[], Awaitable[Given | None]]) -> None:
        while True:
            pause = await self._look(judge)
            await asyncio.sleep(pause)

    async def _look(self, judge: Callable[[], Awaitable[Given | None]]) -> float:
        """Seconds until the next look."""
        given: Given | None = None
        try:
            await asyncio.to_thread(self._ways.renew)
            given = await judge()
            alerts = self._standing.look(given)
        except Exception:  # whatever it is, the next look may go well
            log.exception("cannot tell what to send to Alertmanager")
            return self._look_seconds
        for each in self._alertmanagers:
            each.put(alerts)
        watched = given and all(blind.lacks != "window" for blind in given.advice.blind)
        return self._look_seconds if watched else min(_SOON, self._look_seconds)

    def _dress(
        self, found: Recommendation, by: InForce, setting: str | None, starts_at: float, ends_at: float
    ) -> Alert:
        added = {**self._ways.now.labels, "instance": self.instance}
        why = next((rule.file.why for rule in by.rules if rule.id == found.rule), "")
        return Alert(
            labels=labels_of(found, setting, added),
            annotations=annotations_of(found, why),
            starts_at=starts_at,
            ends_at=ends_at,
            generator_url=f"{self.external_url}/advise/{found.fingerprint}",
        )
