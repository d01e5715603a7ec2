"""The delivery of alerts to Alertmanagers: each has a queue, and gets batches until it takes or refuses them."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

import httpcore
from prometheus_client import Metric

from advisor.alerting.alert import Alert
from advisor.alerting.configuration import AlertSettings
from advisor.contract.templates import duration
from advisor.files.reloading import Reloader
from advisor.outgoing import connections
from advisor.outgoing.connections import Connections
from advisor.outgoing.settings import ClientSettings
from exporter.exposition import Sample, Spec, assemble

log = logging.getLogger(__name__)

PATH = "/api/v2/alerts"
CAPACITY, FLEET_CAPACITY = 1000, 50_000
"""Alerts in a queue at most: of a server, and ten for each of 5,000 servers."""
BATCH = 64
"""Alerts in a request at most, as Prometheus sends them."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Seconds after a failed attempt at most: twice as long each time. A resend interval has one attempt at least."""
_LOOKS = 2
"""Looks in a resend interval: a new finding waits half of it at most."""
_SOON = 2.0
"""Seconds until the next look while there is nothing to tell yet; such a look costs nothing."""
_RETRIED = (408, 425, 429)

SPECS = {
    spec.name: spec
    for spec in (
        Spec("innodb_advisor_notifications_sent_total", "counter", "Alerts that Alertmanager took.", ("alertmanager",)),
        Spec(
            "innodb_advisor_notifications_errors_total",
            "counter",
            "Alerts in failed attempts to send.",
            ("alertmanager",),
        ),
        Spec(
            "innodb_advisor_notifications_dropped_total",
            "counter",
            "Alerts that an Alertmanager refused, or that found its queue full; alerts that still hold are sent again.",
        ),
        Spec(
            "innodb_advisor_notifications_queue_length",
            "gauge",
            "Alerts that wait to be sent.",
            ("alertmanager",),
        ),
        Spec(
            "innodb_advisor_notifications_queue_capacity",
            "gauge",
            "Limit of waiting alerts for each Alertmanager.",
        ),
    )
}


class Alertmanager:
    """One Alertmanager and the queue of alerts for it. It sends in order, and does not hold up the others.

    Attributes:
        url: Without ``/api/v2/alerts``.
        capacity: Alerts in the queue at most.
        sent: Alerts that it took.
        errors: Alerts in failed attempts.
        dropped: Alerts that it refused, or that the queue had no room for.
    """

    def __init__(self, url: str, settings: Callable[[], ClientSettings], capacity: int = CAPACITY) -> None:
        """Nothing is sent before ``run``.

        Args:
            url: Without ``/api/v2/alerts``.
            settings: The settings in force.
            capacity: Alerts in the queue at most.
        """
        self.url, self.capacity = url, capacity
        self.sent = self.errors = self.dropped = 0
        self._settings, self._connections = settings, Connections(settings)
        self._queue: dict[frozenset[tuple[str, str]], Alert] = {}
        self._filled = asyncio.Event()
        self._trouble: str | None = None  # its kind
        self._since = 0.0

    @property
    def waiting(self) -> int:
        """Length of the queue."""
        return len(self._queue)

    def put(self, alerts: Iterable[Alert]) -> None:
        """Add alerts to the queue; each replaces one with the same labels. The oldest are dropped from a full queue."""
        for alert in alerts:
            self._queue[alert.key] = alert
        while len(self._queue) > self.capacity:
            del self._queue[next(iter(self._queue))]
            self.dropped += 1
        if self._queue:
            self._filled.set()

    async def run(self) -> None:
        """Send until cancelled."""
        pause = FIRST_PAUSE
        try:
            while True:
                await self._filled.wait()
                if await self._send():
                    pause = FIRST_PAUSE
                else:
                    # By chance shorter: a hundred sidecars do not come all at once.
                    await asyncio.sleep(random.uniform(0, pause))  # noqa: S311 - no secret
                    pause = min(2 * pause, LONGEST_PAUSE)
        finally:
            await self._connections.aclose()

    async def _send(self) -> bool:
        """Send the oldest alerts, and return whether they were taken or refused."""
        batch = list(islice(self._queue.values(), BATCH))
        try:
            status, reason = await self._post(batch)
        except Exception:  # whatever it is, the next attempt may go well
            log.exception("Alertmanager %s: an unexpected error", self.url)
            return False
        if status is None or status in _RETRIED or status >= 500:
            self.errors += len(batch)
            self._log_trouble(str(status), "%s; it is tried again and again", reason)
            return False
        for alert in batch:
            if self._queue.get(alert.key) is alert:
                del self._queue[alert.key]
        if not self._queue:
            self._filled.clear()
        if 200 <= status < 300:
            self.sent += len(batch)
            self._log_recovery()
        else:
            self.errors += len(batch)
            self.dropped += len(batch)
            self._log_trouble(str(status), "it refuses alerts: %s", reason)
        return True

    async def _post(self, batch: Sequence[Alert]) -> tuple[int | None, str]:
        """The status of the answer, None if there is none, and in words what is wrong."""
        content = json.dumps([alert.body() for alert in batch], ensure_ascii=False).encode()
        headers, timeout = (("Content-Type", "application/json"),), self._settings().timeout
        try:
            # A timeout limits each step, and an answer that drips has many steps.
            async with (
                asyncio.timeout(2 * timeout),
                self._connections.request("POST", self.url + PATH, headers, content) as answer,
            ):
                text = await connections.beginning(answer)
        except (TimeoutError, httpcore.TimeoutException):
            return None, f"no answer within {timeout:g} s"
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
            return None, connections.reason(error)
        if answer.status in connections.REDIRECTS:
            text = "redirects are not followed"
        status = connections.status_line(answer)
        return answer.status, status + (f": {text}" if text else "")

    def _log_trouble(self, trouble: str, message: str, reason: str) -> None:
        """Log each kind of trouble once, until an attempt succeeds."""
        if self._trouble is None:
            self._since = time.monotonic()
        if self._trouble != trouble:
            self._trouble = trouble
            log.warning(f"Alertmanager %s: {message}", self.url, reason)  # noqa: G004 - a constant with a place for the reason

    def _log_recovery(self) -> None:
        if self._trouble is not None and not self._queue:
            log.info("Alertmanager %s takes alerts again, after %s", self.url, duration(time.monotonic() - self._since))
            self._trouble = None


Look = Callable[[Mapping[str, str]], Awaitable[tuple[Sequence[Alert], bool]]]
"""By the configured labels of all alerts: the alerts to send now, and whether there is something to tell at all."""


class Notifier:
    """Looks again and again for alerts to send, and gives them to each Alertmanager."""

    def __init__(
        self, alertmanagers: Sequence[Alertmanager], settings: Reloader[AlertSettings], resend_seconds: float
    ) -> None:
        """Nothing is sent before ``run``.

        Args:
            alertmanagers: Each of them gets all alerts.
            settings: Has the labels of all alerts. It is refreshed at each look.
            resend_seconds: Time between two sendings of an active alert.
        """
        self._alertmanagers, self._settings = alertmanagers, settings
        self._pause = resend_seconds / _LOOKS

    async def run(self, look: Look) -> None:
        """Look and send until cancelled. Alerts that are active then expire."""
        async with asyncio.TaskGroup() as tasks:
            for alertmanager in self._alertmanagers:
                tasks.create_task(alertmanager.run())
            while True:
                pause = await self._look(look)
                await asyncio.sleep(pause)

    async def _look(self, look: Look) -> float:
        """Look once; returns the seconds until the next look."""
        try:
            await asyncio.to_thread(self._settings.refresh)
            alerts, tells = await look(self._settings.content.labels)
        except Exception:  # whatever it is, the next look may go well
            log.exception("cannot tell what to send to Alertmanager")
            return self._pause
        for alertmanager in self._alertmanagers:
            alertmanager.put(alerts)
        return self._pause if tells else min(_SOON, self._pause)

    def families(self) -> Iterable[Metric]:
        """The metric families of all of them, named and counted as Prometheus' own notifier does."""
        return assemble(SPECS, self._samples())

    def _samples(self) -> Iterator[Sample]:
        for alertmanager in self._alertmanagers:
            labels = (alertmanager.url,)
            yield "innodb_advisor_notifications_sent_total", labels, alertmanager.sent
            yield "innodb_advisor_notifications_errors_total", labels, alertmanager.errors
            yield "innodb_advisor_notifications_queue_length", labels, alertmanager.waiting
        dropped = sum(alertmanager.dropped for alertmanager in self._alertmanagers)
        yield "innodb_advisor_notifications_dropped_total", (), dropped
        capacity = max(alertmanager.capacity for alertmanager in self._alertmanagers)
        yield "innodb_advisor_notifications_queue_capacity", (), capacity
