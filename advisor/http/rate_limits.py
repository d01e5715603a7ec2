"""How often a client may do something, and all clients together: token buckets."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

_ADDRESSES = 1024
"""Of so many clients the latest are remembered; all together are bounded in any case."""


@dataclass(frozen=True, slots=True)
class Rate:
    """So many at once, and so many a second from then on."""

    burst: float
    per_second: float


class Bucket:
    """What one client has left of a rate."""

    __slots__ = ("_at", "_left", "_rate")

    def __init__(self, rate: Rate, now: float) -> None:
        self._rate = rate
        self._left = rate.burst
        self._at = now

    def wait(self, now: float) -> float:
        """Seconds until there is one; 0 when there is."""
        self._left = min(self._rate.burst, self._left + (now - self._at) * self._rate.per_second)
        self._at = now
        return 0.0 if self._left >= 1.0 else (1.0 - self._left) / self._rate.per_second

    def take(self, count: int = 1) -> None:
        """Take one; -1 gives it back."""
        self._left = min(self._rate.burst, self._left - count)


class Limit:
    """A rate for each client address, and one for all of them together."""

    def __init__(self, each: Rate, overall: Rate, clock: Callable[[], float] = time.monotonic) -> None:
        self._each = each
        self._clock = clock
        self._overall = Bucket(overall, clock())
        self._by_address: OrderedDict[str, Bucket] = OrderedDict()

    def take(self, address: str) -> float:
        """Take one. Returns 0, or without taking it the seconds after which there will be one."""
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
        """Undo a ``take``: what came of it cost nothing."""
        self._overall.take(-1)
        if address in self._by_address:
            self._by_address[address].take(-1)


def retry_after(seconds: float) -> dict[str, str]:
    """The header that says when to come again, in whole seconds."""
    return {"Retry-After": str(max(1, math.ceil(seconds)))}
