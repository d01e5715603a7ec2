"""A window: snapshots without an interruption, and the growth of counters over them."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from advisor.contract.recommendation import Number, tidy
from advisor.contract.settings import SETTINGS
from advisor.observe.limits import LEAST_SECONDS, LONGEST_GAP
from exporter.collectors.base import TOP
from exporter.collectors.status import STATUS
from exporter.collectors.variables import VARIABLES
from exporter.snapshot import Snapshot

Key = TypeVar("Key")
Item = TypeVar("Item")

SLICES = 8
"""Most slices of a window."""
_CLOCK_SLACK = 5.0
"""Seconds by which the server's start, computed from Uptime, may seem to move without a restart."""


@dataclass(frozen=True, slots=True)
class Window:
    """At least one snapshot of a server, oldest first, without a restart or a change of settings."""

    snapshots: tuple[Snapshot, ...]

    @classmethod
    def of(cls, history: Sequence[Snapshot], longest: float) -> Window:
        """The newest part of ``history`` without a restart, a gap, a clock set back, or a change of settings.

        Args:
            history: Snapshots, oldest first; not empty.
            longest: Limit, seconds.
        """
        snapshots = [history[-1]]  # newest first
        # The oldest snapshots that have the section: a snapshot without it hides neither a restart nor a new setting.
        status = variables = history[-1]
        for before in reversed(list(history)[:-1]):
            if not 0 < snapshots[-1].at - before.at <= LONGEST_GAP or history[-1].at - before.at > longest:
                break
            if before.server != status.server or restarted(before, status) or changed_settings(before, variables):
                break
            snapshots.append(before)
            status = status if before[STATUS] is None else before
            variables = variables if before[VARIABLES] is None else before
        return cls(tuple(reversed(snapshots)))

    @property
    def latest(self) -> Snapshot:
        """The newest snapshot."""
        return self.snapshots[-1]

    @property
    def seconds(self) -> float:
        """Length of the window."""
        return self.latest.at - self.snapshots[0].at

    def delta(self, value: Callable[[Snapshot], float | None]) -> float | None:
        """Growth of a cumulative value.

        None when fewer than two snapshots have the value. None when it fell: a reset hides what it counted before.
        """
        known = [number for snapshot in self.snapshots if (number := value(snapshot)) is not None]
        return _growth(known) if len(known) > 1 else None

    def growth(
        self, table: Callable[[Snapshot], Mapping[Key, Item] | None], key: Key, value: Callable[[Item], float | None]
    ) -> float | None:
        """Growth of an entry in a table of cumulative values. A new entry began at 0.

        None when fewer than two snapshots have the table, when the value is not known in one that has the entry, and
        when the entry fell or went away. None when it is new in a full table of the TOP largest entries: its earlier
        value is unknown.
        """
        known = [entries for snapshot in self.snapshots if (entries := table(snapshot)) is not None]
        if len(known) < 2:
            return None
        items = [entries.get(key) for entries in known]
        present = [item for item in items if item is not None]
        if not present:
            return 0.0
        if items[-1] is None or (items[0] is None and len(known[0]) >= TOP):
            return None
        values = [number for item in present if (number := value(item)) is not None]
        if len(values) < len(present):
            return None
        return _growth(values if items[0] is not None else [0.0, *values])

    def recent(self, seconds: float) -> Window:
        """The newest part, of at most ``seconds``."""
        first = bisect.bisect_left(self.snapshots, self.latest.at - seconds, key=lambda snapshot: snapshot.at)
        return Window(self.snapshots[first:])


def slices(window: Window) -> Iterator[Window]:
    """A window in up to SLICES slices, oldest first.

    Each has at least two snapshots and LEAST_SECONDS, or is the whole window. It shares its ends with its neighbours.
    """
    steps = len(window.snapshots) - 1
    count = max(1, min(SLICES, steps))
    marks = [0]
    for mark in (round(steps * number / count) for number in range(1, count + 1)):
        if window.snapshots[mark].at - window.snapshots[marks[-1]].at >= LEAST_SECONDS:
            marks.append(mark)
    marks[1:] = [*marks[1:-1], steps]  # what is left at the end belongs to the last slice
    for first, last in pairwise(marks):
        yield Window(window.snapshots[first : last + 1])


def _growth(values: Sequence[float]) -> float | None:
    fell = any(after < before for before, after in pairwise(values))
    return None if fell else float(values[-1] - values[0])


def restarted(before: Snapshot, after: Snapshot, slack: float = _CLOCK_SLACK) -> bool:
    """Whether the server was started anew between two snapshots; False where one of them has no status.

    Args:
        before: The earlier one.
        after: The later one.
        slack: Seconds by which the server's start may seem to move without a restart.
    """
    if before[STATUS] is None or after[STATUS] is None:
        return False
    uptimes = [(snapshot[STATUS] or {})["uptime"] for snapshot in (before, after)]
    started = [snapshot.at - uptime for snapshot, uptime in zip((before, after), uptimes, strict=True)]
    return uptimes[1] < uptimes[0] or abs(started[1] - started[0]) > slack


def changed_settings(before: Snapshot, after: Snapshot) -> list[str]:
    """The settings with other values, of those that rules know; none where a snapshot has no variables."""
    then, now = before[VARIABLES], after[VARIABLES]
    if then is None or now is None or then is now:
        return []
    return [name for name in SETTINGS if before.setting(name) != after.setting(name)]


def setting_value(snapshot: Snapshot, name: str) -> Number | str | None:
    """A setting's value, with its number as people read it; None where it is unknown."""
    value = SETTINGS[name].read(snapshot.setting(name))
    if isinstance(value, float):
        return tidy(value) if math.isfinite(value) else str(value)
    return value


def total(values: Iterable[float]) -> float:
    """The sum, as a float."""
    return float(sum(values))


def known_total(values: Iterable[float | None]) -> float | None:
    """The sum, as a float; None where one of the values is not known."""
    known = tuple(values)
    return None if None in known else total(value for value in known if value is not None)
