"""The statements behind tables: queried on request, and compared with earlier queries."""

from __future__ import annotations

import asyncio
import functools
import time
from collections import deque
from collections.abc import Callable

from advisor.observe.source import SnapshotSource
from advisor.overview.statements import TableStatements, earlier, statements, unknown
from exporter.collectors.instrumentation import INSTRUMENTATION
from exporter.collectors.table_digests import TableDigests, not_in_digests, table_digests
from exporter.connection.errors import ServerError
from exporter.refreshed import Refreshed
from exporter.snapshot import Table

FRESH_SECONDS = 10.0
"""An answer of this age is the answer to a request, too: a page left open costs the server little."""
_LOOKS = 61
"""Looks of a table that stay: an hour's, a minute apart."""
_LOOK_SECONDS = 60.0
_LONGEST = 3600.0
_TABLES = 50
"""Tables whose answers and looks stay."""


class Statements:
    """The last answers, and the looks at the digests that rates are taken from."""

    def __init__(self, source: SnapshotSource, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin without an answer.

        Args:
            source: The server, or a recording.
            clock: Seconds, monotonic.
        """
        self._source, self._clock = source, clock
        self._answers = functools.lru_cache(_TABLES)(self._answer)
        self._asking = asyncio.Lock()

    async def behind(self, table: Table) -> TableStatements:
        """The statements that name a table; at most FRESH_SECONDS old."""
        return await self._answers(table).get(FRESH_SECONDS)

    def _answer(self, table: Table) -> Refreshed[TableStatements]:
        looks: deque[TableDigests] = deque(maxlen=_LOOKS)
        return Refreshed(lambda: self._ask(table, looks), clock=self._clock)

    async def _ask(self, table: Table, looks: deque[TableDigests]) -> TableStatements:
        hidden = not_in_digests(table)
        if hidden is not None:
            return unknown(hidden)
        collector, latest = table_digests(table), self._source.latest
        if latest is None:
            return unknown(str(self._source.problem or "nothing has been collected yet"))
        for name in collector.instruments:
            if (cure := (latest[INSTRUMENTATION] or {}).get(name)) is not None:
                return unknown(f"{name} is off in performance_schema: {cure}")
        try:
            async with self._asking:
                answer = await self._source.ask(collector)
            if answer.failure is not None:
                return unknown(answer.reason if answer.cure is None else f"{answer.reason}: {answer.cure}")
            now = collector.parse(answer.results)
        except ServerError as error:
            return unknown(str(error))
        except (ValueError, LookupError) as error:
            return unknown(f"cannot parse the answer: {type(error).__name__}: {error}")
        return statements(now, None if now is None else _earlier(looks, now))


def _earlier(looks: deque[TableDigests], now: TableDigests) -> TableDigests | None:
    """The look to compare with; this one joins the looks where it is a minute later than the last."""
    look = earlier(looks, now.now, _LONGEST)
    if not looks or not 0 <= now.now - looks[-1].now < _LOOK_SECONDS:
        looks.append(now)
    return look
