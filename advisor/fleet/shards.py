"""Servers in shards: a part of the fleet for each replica, and a few servers for each query."""

from __future__ import annotations

import asyncio
import hashlib
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Generic, TypeVar

from advisor.fleet.client import ErrorKind, QueryError
from advisor.fleet.identity import ServerKey

Item = TypeVar("Item")
Shard = tuple[ServerKey, ...]
LeftOut = Mapping[str, list[str]]
"""Names of the servers that have no answer, by reason."""

SIZE = 200
"""Servers in a shard at most: 200 names make a query of some 12 KiB."""
_LONGEST = 10_000
"""Characters of the names in a shard at most, some more with escapes: VictoriaMetrics refuses queries beyond 16 KiB."""
AT_ONCE = 2
"""Shards that are asked for at the same time, with a query each: the Prometheus has other readers."""
ATTEMPTS = 3
_PAUSE_SECONDS = 0.5
_GIVEN_UP: Mapping[ErrorKind, int] = {"unreachable": 2, "slow": 8}
"""After so many shards in a row that failed so the others are not tried. A shard that is too slow is of one server
here: without an end a Prometheus that hangs would be waited for once for each of thousands."""


def mine(server: str, i: int, n: int) -> bool:
    """Whether a server belongs to shard i of n (--shard i/n, i from 0): replicas need not talk to each other."""
    return int.from_bytes(hashlib.sha256(server.encode()).digest()[:8]) % n == i


async def patiently(ask: Callable[[], Awaitable[Item]], pause: float = _PAUSE_SECONDS) -> Item:
    """Ask until there is an answer, three times at most; once where asking again would not help.

    Raises:
        QueryError: The last attempt failed.
    """
    for attempt in range(1, ATTEMPTS):
        try:
            return await ask()
        except QueryError as error:
            if not error.passing:
                raise
            await asyncio.sleep(pause * attempt)
    return await ask()


async def over(
    keys: Iterable[ServerKey],
    ask: Callable[[Shard], Awaitable[Mapping[ServerKey, Item]]],
    *,
    size: int = SIZE,
    pause: float = _PAUSE_SECONDS,
    done: Callable[[int], None] = lambda _: None,
) -> tuple[dict[ServerKey, Item], LeftOut]:
    """Ask for all servers, in shards of servers with the same labels, two at a time.

    A shard that breaks a limit is halved, down to one server; shards grow again after answers. A shard that fails three
    times is left out. Where two shards in a row could not be reached, or eight servers in a row took too long, the rest
    is left out too.

    Args:
        keys: The servers.
        ask: Asks for some of them. Raises QueryError.
        size: Servers in a shard at most.
        pause: Seconds after the first failure; twice that after the second.
        done: Gets the number of servers that were just asked or left out.

    Returns:
        The answers by server, and the servers without one.
    """
    ordered = sorted(keys, key=lambda key: (tuple(key.labels), key.name))
    shards = _Shards(deque(ordered), ask, size, pause, done)
    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(shards.work())
    return shards.answers, shards.left_out


class _Shards(Generic[Item]):
    def __init__(
        self,
        waiting: deque[ServerKey],
        ask: Callable[[Shard], Awaitable[Mapping[ServerKey, Item]]],
        size: int,
        pause: float,
        done: Callable[[int], None],
    ) -> None:
        self._waiting, self._ask, self._done = waiting, ask, done
        self._most = self._size = size
        self._pause = pause
        self._in_a_row = 0
        self.answers: dict[ServerKey, Item] = {}
        self.left_out: defaultdict[str, list[str]] = defaultdict(list)

    async def work(self) -> None:
        while shard := self._next():
            try:
                answers = await patiently(lambda shard=shard: self._ask(shard), self._pause)  # type: ignore[misc]
            except QueryError as error:
                if error.kind in ("limit", "slow"):
                    self._size = max(1, min(self._size, len(shard) // 2))
                    if len(shard) > 1:
                        self._waiting.extendleft(reversed(shard))
                        continue
                self._failed(shard, error)
            else:
                self.answers |= answers
                self._in_a_row = 0
                self._size = min(self._most, 2 * self._size)
                self._done(len(shard))

    def _failed(self, shard: Shard, error: QueryError) -> None:
        enough = _GIVEN_UP.get(error.kind)
        self._in_a_row = 0 if enough is None else self._in_a_row + 1
        if enough is not None and self._in_a_row >= enough:
            shard += tuple(self._waiting)
            self._waiting.clear()
        self.left_out[str(error)] += (key.name for key in shard)
        self._done(len(shard))

    def _next(self) -> Shard:
        """The next shard: as many servers as it may have, all with the same labels."""
        shard: list[ServerKey] = []
        length = 0
        while self._waiting and len(shard) < self._size:
            key = self._waiting[0]
            length += sum(map(len, key.instances)) or len(key.name)  # as the matchers name it
            if shard and (length > _LONGEST or key.labels.keys() != shard[0].labels.keys()):
                break
            shard.append(self._waiting.popleft())
        return tuple(shard)
