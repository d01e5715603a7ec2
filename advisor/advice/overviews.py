"""Overviews that are kept: made once for each snapshot at most, in a thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from advisor.observe.source import SnapshotSource
from advisor.observe.window import Window
from advisor.overview.overview import Overview, overview

_SHARE = 0.005
"""Part of a core that the overviews of one length take at most, while somebody looks."""
_FREE_SECONDS = 1.0
"""Shorter rests are left out: with a hundred tables an overview takes some milliseconds."""
_WINDOWS = 3
"""Lengths of windows whose last overview is kept."""


@dataclass(frozen=True, slots=True)
class _Kept:
    found: Overview
    rests_until: float
    """By the monotonic clock."""


class Overviews:
    """The last overviews of a server, by length of the window."""

    def __init__(
        self,
        source: SnapshotSource,
        *,
        make: Callable[[Window], Overview] = overview,
        clock: Callable[[], float] = time.monotonic,
        core: Callable[[], float] = time.thread_time,
    ) -> None:
        """Nothing is made yet.

        Args:
            source: The server, or a recording.
            make: Makes an overview of a window.
            clock: Seconds, monotonic.
            core: Seconds of the core that a thread took.
        """
        self._source, self._make, self._clock, self._core = source, make, clock, core
        self._kept: dict[float, _Kept] = {}
        self._making = asyncio.Lock()

    async def newest(self, longest: float) -> Overview | None:
        """The overview of the newest snapshot, or of one some seconds older where an overview takes long.

        While the server is away, it is of the last snapshot. None before the first one.

        Args:
            longest: Seconds that rates look back at most.
        """
        async with self._making:
            history = self._source.history
            if not history:
                return None
            kept = self._kept.pop(longest, None)
            if kept is None or (kept.found.at != history[-1].at and self._clock() >= kept.rests_until):
                found, spent = await asyncio.to_thread(self._timed, Window.of(history, longest))
                kept = _Kept(found, self._clock() + spent / _SHARE - _FREE_SECONDS)
            self._kept[longest] = kept
            for old in list(self._kept)[:-_WINDOWS]:
                del self._kept[old]
            return kept.found

    def _timed(self, window: Window) -> tuple[Overview, float]:
        began = self._core()
        return self._make(window), self._core() - began
