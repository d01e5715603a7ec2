"""The two sessions of a sampler: opened once and kept, and both of one server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from exporter.connection.errors import ConnectionLost, ServerError, Unreachable
from exporter.connection.session import Session
from exporter.connection.target import Target, TargetError

_RETRY_SECONDS = 60.0
"""A second session that could not be had is asked for again after this."""


class SessionPair:
    """The first is for what is quick, the second for the rest: a slow statement holds up no scrape.

    Attributes:
        first: Open, or lost; None before it was ever opened.
        opened_at: When it was opened, by the monotonic clock.
    """

    def __init__(self, target: Callable[[], Target], statement_seconds: float) -> None:
        """Open nothing yet.

        Args:
            target: Asked whenever a session is opened: a password may have been changed meanwhile.
            statement_seconds: Limit for a statement.
        """
        self.first: Session | None = None
        self.opened_at = 0.0
        self._second: Session | None = None
        self._target = target
        self._statement_seconds = statement_seconds
        self._opening = asyncio.Lock()
        self._retry_at = 0.0

    @property
    def open(self) -> list[Session]:
        """Those that are."""
        return [session for session in (self.first, self._second) if session is not None and not session.closed]

    async def renew(self) -> Session:
        """A new first session; what there was is closed.

        Raises:
            ServerError: It cannot be had.
        """
        async with self._opening:
            await self.close()
            self.first = await self._open()
            self.opened_at, self._retry_at = time.monotonic(), 0.0
            return self.first

    async def second(self) -> Session:
        """The second session; the first where another is refused, or where one reaches another server.

        Raises:
            ConnectionLost: The first one is gone, and with it the worth of what was collected.
        """
        async with self._opening:
            first = self.first
            if first is None or first.closed:
                raise ConnectionLost("the connection to the server is gone")
            if (self._second is None or self._second.closed) and time.monotonic() >= self._retry_at:
                self._second = await self._another(first)
                if self._second is None:
                    self._retry_at = time.monotonic() + _RETRY_SECONDS
            return first if self._second is None or self._second.closed else self._second

    async def _another(self, first: Session) -> Session | None:
        try:
            found = await self._open()
        except ServerError:
            return None
        if found.instance == first.instance:
            return found
        await found.close()  # several servers behind one address: what they count does not add up
        return None

    async def _open(self) -> Session:
        try:
            target = self._target()
        except TargetError as error:
            raise Unreachable(str(error)) from error
        return await Session.open(target, statement_seconds=self._statement_seconds)

    async def close(self) -> None:
        """End both."""
        for session in self.open:
            await session.close()
        self._second = None
