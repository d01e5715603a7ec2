"""The memory of days over restarts: each hour is on the disk before the next one begins."""

from __future__ import annotations

import logging

from pydantic import TypeAdapter

from advisor.files.stored import StoredItems
from advisor.observe.window import Window
from advisor.pool.curve import MissCurve
from advisor.pool.hours import Hour, hour, with_hour
from exporter.state_file import StateFile

log = logging.getLogger(__name__)

HOUR = TypeAdapter(Hour)


class StoredHours:
    """The hours of a server, which are kept in its state file.

    Attributes:
        hours: As they are now, oldest first, whether they could be written or not.
    """

    def __init__(self, state: StateFile) -> None:
        """Read what the last sidecar kept."""
        self._items = StoredItems(state, "hours", HOUR)
        self.hours = tuple(self._items.load())
        if self.hours:
            log.info("found a memory of %d hours", len(self.hours))

    def remember(self, window: Window, curve: MissCurve | None) -> None:
        """Remember an hour. This waits for the disk.

        Args:
            window: What was watched, about an hour after the last one.
            curve: The miss curve of this window; None where it cannot be computed.
        """
        newest = hour(window, curve)
        if newest is not None:
            self.hours = with_hour(self.hours, newest)
            self._items.keep({repr(remembered.at): remembered for remembered in self.hours})
