"""An observed stretch of time: snapshots between which nothing was cut, and what changed over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from exporter.snapshot import Snapshot

Key = TypeVar("Key")

LONGEST_GAP = 120.0
"""Seconds without a snapshot after which what happened in between is unknown."""
_CLOCK_SLACK = 5.0
"""Seconds by which the start of the server, Uptime before now, may seem to move without a restart."""


@dataclass(frozen=True, slots=True)
class Window:
    """Snapshots of one life of a server under the same settings, oldest first; at least one."""

    snapshots: tuple[Snapshot, ...]

    @classmethod
    def of(cls, history: Sequence[Snapshot], longest: float) -> Window:
        """The newest part of ``history`` without a restart, a gap, or a change of settings in it.

        Args:
            history: Snapshots, oldest first; not empty.
            longest: Seconds at most.
        """
        kept = [history[-1]]
        for before in reversed(list(history)[:-1]):
            if kept[0].at - before.at > LONGEST_GAP or history[-1].at - before.at > longest or _cut(before, kept[0]):
                break
            kept.insert(0, before)
        return cls(tuple(kept))

    @property
    def latest(self) -> Snapshot:
        """The newest snapshot."""
        return self.snapshots[-1]

    @property
    def seconds(self) -> float:
        """How long has been watched."""
        return self.latest.at - self.snapshots[0].at

    def delta(self, value: Callable[[Snapshot], float | None]) -> float | None:
        """How much a cumulative value grew.

        None when fewer than two snapshots know it, or when it fell: somebody reset it, and what it counted
        before is unknown.
        """
        known = [number for snapshot in self.snapshots if (number := value(snapshot)) is not None]
        return _grown(known[0], known[-1]) if len(known) > 1 else None

    def deltas(
        self, table: Callable[[Snapshot], Mapping[Key, Any] | None], value: Callable[[Any], float]
    ) -> dict[Key, float]:
        """How much each entry of a table of cumulative values grew; one that was not there yet began at 0."""
        known = [entries for snapshot in self.snapshots if (entries := table(snapshot)) is not None]
        if len(known) < 2:
            return {}
        first, last = known[0], known[-1]
        grown = {key: _grown(value(first[key]) if key in first else 0.0, value(last[key])) for key in last}
        return {key: growth for key, growth in grown.items() if growth is not None}

    def tail(self, enough: Callable[[Window], bool]) -> Window:
        """The shortest part at the end for which ``enough`` holds; all of it when none does."""
        for start in range(len(self.snapshots) - 2, 0, -1):
            part = Window(self.snapshots[start:])
            if enough(part):
                return part
        return self


def _grown(before: float, after: float) -> float | None:
    return after - before if after >= before else None


def _cut(before: Snapshot, after: Snapshot) -> bool:
    return before.server != after.server or _restarted(before, after) or _changed(before.variables, after.variables)


def _restarted(before: Snapshot, after: Snapshot) -> bool:
    if before.status is None or after.status is None:
        return False
    started = [snapshot.at - (snapshot.status or {})["uptime"] for snapshot in (before, after)]
    return abs(started[1] - started[0]) > _CLOCK_SLACK


def _changed(before: Mapping[str, str] | None, after: Mapping[str, str] | None) -> bool:
    return before is not None and after is not None and before is not after and before != after


def total(values: Iterable[float]) -> float:
    """The sum, as a float."""
    return float(sum(values))
