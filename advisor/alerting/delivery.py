"""The delivery of alerts to one Alertmanager: a queue, batches, and attempts until it takes or refuses them."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

import httpcore
from tenacity import AsyncRetrying, retry_if_exception_type, wait_random_exponential

from advisor.alerting.alert import Alert
from advisor.contract.templates import duration
from advisor.outgoing import connections
from advisor.outgoing.client_settings import ClientSettings
from advisor.outgoing.connections import Connections

log = logging.getLogger(__name__)

PATH = "/api/v2/alerts"
CAPACITY = 1000
"""Alerts in the queue of a sidecar at most. An alert replaces a waiting one with the same labels."""
BATCH = 64
"""Alerts in a request at most."""
LONGEST_PAUSE = 30.0
"""Seconds between two attempts at most, and half of it on average."""
_FIRST_PAUSE = 1.0
_ERROR_PAUSE = 5.0
"""Seconds after an unexpected error."""
_RETRIED = (408, 425, 429)


class _Failed(Exception):
    """An attempt that is worth repeating."""


class Alertmanager:
    """One Alertmanager and the queue of alerts for it. It sends in order, and does not hold up the others.

    Attributes:
        url: Without ``/api/v2/alerts``.
        capacity: Alerts in the queue at most.
        sent: Alerts that it took.
        errors: Alerts in failed attempts.
        dropped: Alerts that it refused, or that the queue had no room for.
    """

    def __init__(
        self,
        url: str,
        settings: Callable[[], ClientSettings],
        *,
        capacity: int = CAPACITY,
        first_pause: float = _FIRST_PAUSE,
        error_pause: float = _ERROR_PAUSE,
    ) -> None:
        """Nothing is sent before ``run``.

        Args:
            url: Without ``/api/v2/alerts``.
            settings: The settings in force.
            capacity: Alerts in the queue at most.
            first_pause: Seconds after the first failed attempt; later pauses are longer.
            error_pause: Seconds after an unexpected error.
        """
        self.url, self.capacity = url, capacity
        self.sent = self.errors = self.dropped = 0
        self._connections = Connections(settings)
        self._first_pause, self._error_pause = first_pause, error_pause
        self._queue: dict[frozenset[tuple[str, str]], Alert] = {}
        self._filled = asyncio.Event()
        self._trouble: str | None = None  # its kind
        self._since = 0.0

    @property
    def waiting(self) -> int:
        """Length of the queue."""
        return len(self._queue)

    def put(self, alerts: Iterable[Alert]) -> None:
        """Add alerts to the queue. Where it is full, the oldest alerts are dropped."""
        for alert in alerts:
            self._queue[alert.key] = alert
        while len(self._queue) > self.capacity:
            del self._queue[next(iter(self._queue))]
            self.dropped += 1
        if self._queue:
            self._filled.set()

    async def run(self) -> None:
        """Send until cancelled."""
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(_Failed),
            wait=wait_random_exponential(multiplier=self._first_pause, max=LONGEST_PAUSE),
        )
        try:
            while True:
                await self._filled.wait()
                self._filled.clear()
                try:
                    await self._empty(retrying)
                except Exception:  # whatever it is, active alerts are sent again
                    log.exception("Alertmanager %s: an unexpected error", self.url)
                    await asyncio.sleep(self._error_pause)
        finally:
            await self._connections.aclose()

    async def _empty(self, retrying: AsyncRetrying) -> None:
        taken = True
        while self._queue:
            taken = await retrying(self._send) and taken
        if taken and self._trouble is not None:
            log.info("Alertmanager %s takes alerts again, after %s", self.url, duration(time.monotonic() - self._since))
            self._trouble = None

    async def _send(self) -> bool:
        """Send the oldest alerts, and return whether they were taken.

        Raises:
            _Failed: They were neither taken nor refused.
        """
        batch = list(islice(self._queue.values(), BATCH))
        status, said = await self._post(batch)
        if status is None or status in _RETRIED or status >= 500:
            self.errors += len(batch)
            self._say(str(status), "%s; it is tried again and again", said)
            raise _Failed
        for alert in batch:
            if self._queue.get(alert.key) is alert:
                del self._queue[alert.key]
        if 200 <= status < 300:
            self.sent += len(batch)
            return True
        self.errors += len(batch)
        self.dropped += len(batch)
        self._say(str(status), "it refuses alerts: %s", said)
        return False

    async def _post(self, batch: Sequence[Alert]) -> tuple[int | None, str]:
        """The status of the answer, None if there is none, and in words what is wrong."""
        content = json.dumps([alert.body() for alert in batch], ensure_ascii=False).encode()
        settings, pool = await self._connections.pool()
        head, more = connections.headers(settings, "application/json"), connections.extensions(settings)
        try:
            # httpcore's timeout limits each step, and an answer that drips has many steps.
            async with (
                asyncio.timeout(2 * settings.timeout),
                pool.stream("POST", self.url + PATH, headers=head, content=content, extensions=more) as answer,
            ):
                said = await connections.beginning(answer)
        except (TimeoutError, httpcore.TimeoutException):
            return None, f"no answer within {settings.timeout:g} s"
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
            return None, connections.reason(error)
        if answer.status in connections.REDIRECTS:
            said = "redirects are not followed"
        status = connections.status_line(answer)
        return answer.status, status + (f": {said}" if said else "")

    def _say(self, trouble: str, message: str, said: str) -> None:
        """Log each kind of trouble once, until an attempt succeeds."""
        if self._trouble is None:
            self._since = time.monotonic()
        if self._trouble != trouble:
            self._trouble = trouble
            log.warning(f"Alertmanager %s: {message}", self.url, said)  # noqa: G004 - a constant with a place for the reason
