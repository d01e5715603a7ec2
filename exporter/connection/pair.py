"""The two sessions of a sampler, both with the same server: opened once and kept."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from exporter.connection.errors import ConnectionLost, ServerError
from exporter.connection.session import Session
from exporter.connection.target import Target, TargetError

_RETRY_SECONDS = 60.0
"""Seconds until the next attempt to open a second session that was refused."""


class SessionPair:
    """The first session runs quick statements, the second one the others: a slow statement delays no scrape.

    Attributes:
        first: The first session, open or lost; None before it was opened once.
        opened_at: When it was opened, by ``monotonic``.
    """

    def __init__(
        self, target: Callable[[], Target], statement_seconds: float, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Open nothing yet.

        Args:
            target: Called for each new session: the password may have changed.
            statement_seconds: Limit for a statement.
            monotonic: Seconds.
        """
        self.first: Session | None = None
        self.opened_at = 0.0
        self._second: Session | None = None
        self._target = target
        self._statement_seconds = statement_seconds
        self._monotonic = monotonic
        self._opening = asyncio.Lock()
        self._retry_at = 0.0

    @property
    def open(self) -> list[Session]:
        """The open sessions."""
        return [session for session in (self.first, self._second) if session is not None and not session.closed]

    async def renew(self) -> Session:
        """Open a new first session; both old ones are closed.

        Raises:
            ServerError: It cannot be opened.
        """
        async with self._opening:
            await self.close()
            self.first = await self._open()
            self.opened_at, self._retry_at = self._monotonic(), 0.0
            return self.first

    async def second(self) -> Session:
        """The second session; the first one if a second is refused or reaches another server.

        Raises:
            ConnectionLost: The first session is lost, so that what was collected may be outdated.
        """
        async with self._opening:
            first = self.first
            if first is None or first.closed:
                raise ConnectionLost("the connection to the server is gone")
            if (self._second is None or self._second.closed) and self._monotonic() >= self._retry_at:
                self._second = await self._open_second(first)
                if self._second is None:
                    self._retry_at = self._monotonic() + _RETRY_SECONDS
            return first if self._second is None or self._second.closed else self._second

    async def _open_second(self, first: Session) -> Session | None:
        try:
            second = await self._open()
        except ServerError:
            return None
        if second.instance == first.instance:
            return second
        await second.close()  # several servers behind one address: their counts do not belong together
        return None

    async def _open(self) -> Session:
        try:
            target = self._target()
        except TargetError as error:
            raise ServerError(str(error)) from error
        return await Session.open(target, statement_seconds=self._statement_seconds)

    async def close(self) -> None:
        """Close both sessions."""
        for session in self.open:
            await session.close()
        self._second = None
