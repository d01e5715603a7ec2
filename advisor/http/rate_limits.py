"""Rate limits for each client, and for all clients together: token buckets."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

_ADDRESSES = 1024
"""Clients that are remembered, the latest; the limit for all clients holds in any case."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A burst, and then so many a second."""

    burst: float
    per_second: float


class Bucket:
    """The tokens that are left of a rate."""

    __slots__ = ("_at", "_left", "_rate")

    def __init__(self, rate: Rate, now: float) -> None:
        self._rate = rate
        self._left = rate.burst
        self._at = now

    def wait(self, now: float) -> float:
        """Seconds until there is a token; 0 if there is one."""
        self._left = min(self._rate.burst, self._left + (now - self._at) * self._rate.per_second)
        self._at = now
        return 0.0 if self._left >= 1.0 else (1.0 - self._left) / self._rate.per_second

    def take(self, count: int = 1) -> None:
        """Take tokens; -1 returns one."""
        self._left = min(self._rate.burst, self._left - count)


class Limit:
    """A rate for each client address, and one for all of them together."""

    def __init__(self, each: Rate, overall: Rate, clock: Callable[[], float] = time.monotonic) -> None:
        self._each = each
        self._clock = clock
        self._overall = Bucket(overall, clock())
        self._by_address: OrderedDict[str, Bucket] = OrderedDict()

    def take(self, address: str) -> float:
        """Take a token and return 0; if there is none, return the seconds until there is one."""
        now = self._clock()
        own = self._by_address.setdefault(address, Bucket(self._each, now))
        self._by_address.move_to_end(address)
        while len(self._by_address) > _ADDRESSES:
            self._by_address.popitem(last=False)
        wait = max(own.wait(now), self._overall.wait(now))
        if not wait:
            own.take()
            self._overall.take()
        return wait

    def give_back(self, address: str) -> None:
        """Undo a ``take``, because the request was not even understood, and cost nothing."""
        self._overall.take(-1)
        if address in self._by_address:
            self._by_address[address].take(-1)


def retry_after(seconds: float) -> dict[str, str]:
    """The header Retry-After, in whole seconds."""
    return {"Retry-After": str(max(1, math.ceil(seconds)))}
