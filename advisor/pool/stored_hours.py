"""The memory of days over restarts: each hour is on the disk before the next one begins."""

from __future__ import annotations

import logging
from pathlib import Path

from pydantic import TypeAdapter

from advisor.files.stored import StoredItems, stored_items
from advisor.observe.window import Window
from advisor.pool.curve import Curve
from advisor.pool.memory import MOST_HOURS, Hour, Memory, hour
from exporter.state_file import StateFile

log = logging.getLogger(__name__)

_HOUR = TypeAdapter(Hour)


def read(path: Path) -> tuple[Memory, str | None]:
    """The memory in a state file, and why not all of it can be read. Raises as ``stored_items``."""
    hours, damage = stored_items(path, "hours", _HOUR)
    return _memory(hours), damage


class StoredHours:
    """The memory of a server, which is kept in its state file.

    Attributes:
        memory: As it is now, whether it could be written or not.
    """

    def __init__(self, state: StateFile) -> None:
        """Read what the last sidecar kept."""
        self._items = StoredItems(state, "hours", _HOUR)
        self.memory = _memory(self._items.load())
        if self.memory.hours:
            log.info("found a memory of %d hours", len(self.memory.hours))

    def remember(self, window: Window, curve: Curve | None) -> None:
        """Remember an hour. This waits for the disk.

        Args:
            window: What was watched, about an hour after the last one.
            curve: The miss curve of this window; None where it cannot be computed.
        """
        newest = hour(window, curve)
        if newest is not None:
            self.memory = self.memory.with_hour(newest)
            self._items.keep({repr(remembered.at): remembered for remembered in self.memory.hours})


def _memory(hours: list[Hour]) -> Memory:
    return Memory(tuple(sorted(hours, key=lambda remembered: remembered.at))[-MOST_HOURS:])
