"""Attempts to log in, one after the other: addresses and users take turns, so that none keeps another out."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from advisor.http.rate_limits import Bucket, Rate

RATE = Rate(30, 5)
"""Attempts of all together: a burst, and then so many a second."""
SHARE = 0.25
"""Part of a core that bcrypt takes at most, once the burst is over."""
MOST_OF_ONE = 64
"""Attempts of an address and user that wait at most, of clients that are still there."""
MOST = 1024
"""The same of all."""


@dataclass(slots=True)
class _Attempt:
    verify: Callable[[], Awaitable[bool]]
    gone: Callable[[], bool]
    verified: asyncio.Future[bool]


class Crowded(Exception):
    """So many attempts wait already."""


class Logins:
    """The attempts that wait. A right password is heard in its turn, however many wrong ones come from elsewhere."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """None waits.

        Args:
            clock: Seconds, monotonic.
        """
        self._clock, self._bucket = clock, Bucket(RATE, clock())
        self._waiting: OrderedDict[str, deque[_Attempt]] = OrderedDict()
        self._serving: asyncio.Task[None] | None = None

    async def verified(self, who: str, verify: Callable[[], Awaitable[bool]], gone: Callable[[], bool]) -> bool:
        """Verify in turn.

        Args:
            who: Who takes turns with others: an address and a user.
            verify: Whether the password is right.
            gone: Whether the client has gone; then nothing is verified.

        Raises:
            Crowded: Too many wait.
        """
        if self._is_full(who):
            self._drop_gone()
            if self._is_full(who):
                raise Crowded
        attempt = _Attempt(verify, gone, asyncio.get_running_loop().create_future())
        self._waiting.setdefault(who, deque()).append(attempt)
        if self._serving is None or self._serving.done():
            self._serving = asyncio.create_task(self._serve())
        return await attempt.verified

    def _is_full(self, who: str) -> bool:
        return len(self._waiting.get(who, ())) >= MOST_OF_ONE or sum(map(len, self._waiting.values())) >= MOST

    def _drop_gone(self) -> None:
        for who, waiting in list(self._waiting.items()):
            for attempt in waiting:
                if attempt.gone() and not attempt.verified.done():
                    attempt.verified.set_result(False)
            kept = deque(each for each in waiting if not each.verified.done())
            if kept:
                self._waiting[who] = kept
            else:
                del self._waiting[who]

    async def _serve(self) -> None:
        while self._waiting:
            who, waiting = self._waiting.popitem(last=False)
            attempt = waiting.popleft()
            if waiting:
                self._waiting[who] = waiting  # behind the others
            if attempt.verified.done():
                continue
            if attempt.gone():
                attempt.verified.set_result(False)
                continue
            await self._verify(attempt)

    async def _verify(self, attempt: _Attempt) -> None:
        hurried = wait = self._bucket.wait(self._clock())
        while wait:
            await asyncio.sleep(wait)
            wait = self._bucket.wait(self._clock())
        self._bucket.take()
        began = self._clock()
        try:
            found = await attempt.verify()
        except Exception as error:  # noqa: BLE001 - raised where it is waited for
            if not attempt.verified.done():
                attempt.verified.set_exception(error)
            return
        if not attempt.verified.done():
            attempt.verified.set_result(found)
        if hurried:
            await asyncio.sleep((self._clock() - began) * (1 / SHARE - 1))
