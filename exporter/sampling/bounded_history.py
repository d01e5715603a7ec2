"""The history of snapshots, bounded in time and in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from exporter.sampling.shared_columns import weight
from exporter.snapshot import Snapshot

MOST_BYTES = 32 << 20
"""Four times what the busiest server takes in an hour. One with other names in each answer would take gigabytes."""
_PART = 8
"""Of a container's memory, if that is less: in 64 MiB there is room for what the busiest server takes."""


def affordable_bytes(memory_bytes: int | None) -> int:
    """What a history may take.

    Args:
        memory_bytes: What the container or machine may hold; None where not known.
    """
    return MOST_BYTES if memory_bytes is None else min(MOST_BYTES, memory_bytes // _PART)


class BoundedHistory(deque[Snapshot]):
    """Snapshots, oldest first. A new one drops the oldest where there are too many, or where they take too much."""

    def __init__(self, past: Iterable[Snapshot], length: int, most_bytes: int = MOST_BYTES) -> None:
        """It begins with the past.

        Args:
            past: Earlier snapshots, oldest first.
            length: The most snapshots.
            most_bytes: What they take together at most, roughly; two are kept in any case.
        """
        super().__init__(maxlen=length)
        self._weights: deque[int] = deque(maxlen=length)
        self._most_bytes = most_bytes
        for snapshot in past:
            self.append(snapshot)

    def append(self, snapshot: Snapshot) -> None:
        """Add the newest."""
        self._weights.append(weight(snapshot.sections, self[-1].sections if self else None))
        super().append(snapshot)
        while len(self) > 2 and sum(self._weights) > self._most_bytes:
            self._weights.popleft()
            self.popleft()

    def pop(self) -> Snapshot:  # type: ignore[override]  # of an index: a deque takes none
        """Drop the newest."""
        self._weights.pop()
        return super().pop()
