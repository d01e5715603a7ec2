"""One Alertmanager, and the alerts that wait for it."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import ssl
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

import httpx
from tenacity import AsyncRetrying, retry_if_exception_type, wait_random_exponential

from advisor.alerting.alert import Alert
from advisor.alerting.http_client import Way
from advisor.contract.templates import duration
from exporter import __version__

log = logging.getLogger(__name__)

PATH = "/api/v2/alerts"
CAPACITY = 1000
"""Alerts that may wait; an alert replaces an older one of the same labels."""
BATCH = 64
"""Alerts of a request."""
LONGEST_PAUSE = 30.0
"""Seconds between two attempts, at most, and half of it on average."""
_FIRST_PAUSE = 1.0
_REST = 5.0
"""Seconds after an error that nobody thought of."""
_TRY_AGAIN = (408, 425, 429)
_SAID_AT_MOST = 300  # characters of an answer that end up in the log


class _Failed(Exception):
    """It may go better the next time."""


class Alertmanager:
    """Sends what it is given, in the order it came, for as long as it takes; the others do not wait for it.

    Attributes:
        url: Of the Alertmanager, without ``/api/v2/alerts``.
        sent: Alerts that it took.
        errors: Alerts in attempts that failed.
        dropped: Alerts that it refused, or that found the queue full.
    """

    def __init__(self, url: str, way: Callable[[], Way], *, first_pause: float = _FIRST_PAUSE) -> None:
        """Nothing is sent before ``run``.

        Args:
            url: Where it is.
            way: How it is spoken to now.
            first_pause: Seconds after the first attempt that failed; later ones are longer.
        """
        self.url = url
        self.sent = self.errors = self.dropped = 0
        self._way = way
        self._first_pause = first_pause
        self._queue: dict[frozenset[tuple[str, str]], Alert] = {}
        self._filled = asyncio.Event()
        self._trouble: str | None = None  # what sort of
        self._since = 0.0
        self._client: tuple[Way, httpx.AsyncClient] | None = None

    @property
    def waiting(self) -> int:
        """Length of the queue."""
        return len(self._queue)

    def put(self, alerts: Iterable[Alert]) -> None:
        """Have these sent; where that are too many, the oldest are dropped."""
        for alert in alerts:
            self._queue[alert.key] = alert
        while len(self._queue) > CAPACITY:
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
                except Exception:  # whatever it is, what holds is sent again
                    log.exception("Alertmanager %s: an unexpected error", self.url)
                    await asyncio.sleep(_REST)
        finally:
            if self._client:
                await self._client[1].aclose()

    async def _empty(self, retrying: AsyncRetrying) -> None:
        taken = True
        while self._queue:
            taken = await retrying(self._send) and taken
        if taken and self._trouble is not None:
            log.info("Alertmanager %s takes alerts again, after %s", self.url, duration(time.monotonic() - self._since))
            self._trouble = None

    async def _send(self) -> bool:
        """Send the oldest ones; whether they were taken.

        Raises:
            _Failed: Neither taken nor refused.
        """
        batch = list(islice(self._queue.values(), BATCH))
        if not batch:
            return True
        status, said = await self._post(batch)
        if status is None or status in _TRY_AGAIN or status >= 500:
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
        """The status of the answer, None without one, and what is wrong, in words."""
        way = self._way()
        content = json.dumps([alert.body() for alert in batch], ensure_ascii=False).encode()
        extensions = {"sni_hostname": way.server_name} if way.server_name else {}
        try:
            # The client's own limit is one for each step, of which an answer that drips takes many.
            async with asyncio.timeout(2 * way.timeout):
                client = await self._speaking(way)
                async with client.stream("POST", self.url + PATH, content=content, extensions=extensions) as answer:
                    said = await _beginning(answer)
        except (TimeoutError, httpx.TimeoutException):
            return None, f"no answer within {way.timeout:g} s"
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            return None, _reason(error)
        if answer.is_redirect:
            said = "redirects are not followed"
        return answer.status_code, f"{answer.status_code} {answer.reason_phrase}" + (f": {said}" if said else "")

    async def _speaking(self, way: Way) -> httpx.AsyncClient:
        """A client for the way in force."""
        if self._client and self._client[0] is way:
            return self._client[1]
        if self._client:
            await self._client[1].aclose()
        headers = {"Content-Type": "application/json", "User-Agent": f"innodb-advisor/{__version__}"}
        if way.authorization:
            headers["Authorization"] = way.authorization
        # Neither proxies nor logins from the environment: what is spoken to is what was named.
        client = httpx.AsyncClient(verify=way.tls, headers=headers, timeout=way.timeout, trust_env=False)
        self._client = way, client
        return client

    def _say(self, trouble: str, message: str, said: str) -> None:
        """Log it once for each sort of trouble, until there is none."""
        if self._trouble is None:
            self._since = time.monotonic()
        if self._trouble != trouble:
            self._trouble = trouble
            log.warning(f"Alertmanager %s: {message}", self.url, said)  # noqa: G004 - a constant with the reason's place


async def _beginning(answer: httpx.Response) -> str:
    """The first words of an answer; all of it is read where it is short, so that the connection can be used again."""
    read = bytearray()
    async for part in answer.aiter_raw():
        read += part
        if len(read) > 4 * _SAID_AT_MOST:
            break
    said = " ".join(read.decode("utf-8", "replace").split()).strip('"')
    return "".join(each if each.isprintable() else "?" for each in said)[:_SAID_AT_MOST]


def _reason(error: BaseException) -> str:
    """Why no answer came: what the system or TLS says, which is behind what the libraries say."""
    seen: BaseException | None = error
    reason = str(error) or type(error).__name__
    while seen is not None:
        if isinstance(seen, BaseExceptionGroup):
            seen = seen.exceptions[0]
        if isinstance(seen, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {seen.verify_message}"
        if isinstance(seen, OSError) and seen.strerror:
            # asyncio puts the address where the words should be.
            reason = os.strerror(seen.errno) if isinstance(seen, ConnectionError) and seen.errno else seen.strerror
        seen = seen.__cause__ or seen.__context__
    return reason
