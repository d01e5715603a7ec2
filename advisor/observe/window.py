"""An observed stretch of time: snapshots between which nothing was cut, and what changed over them."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from advisor.contract.settings import SETTINGS
from advisor.observe.limits import LONGEST_GAP
from exporter.collectors.base import TOP
from exporter.collectors.status import STATUS
from exporter.collectors.variables import VARIABLES
from exporter.snapshot import Snapshot

Key = TypeVar("Key")
Item = TypeVar("Item")

_CLOCK_SLACK = 5.0
"""Seconds by which the start of the server, Uptime before now, may seem to move without a restart."""


@dataclass(frozen=True, slots=True)
class Window:
    """Snapshots of one life of a server under the same settings, oldest first; at least one."""

    snapshots: tuple[Snapshot, ...]

    @classmethod
    def of(cls, history: Sequence[Snapshot], longest: float) -> Window:
        """The newest part of ``history`` without a restart, a gap, a clock set back, or a change of settings in it.

        Args:
            history: Snapshots, oldest first; not empty.
            longest: Seconds at most.
        """
        kept = [history[-1]]  # newest first
        # The oldest of these that know the section: one that lacks it hides neither a restart nor a new setting.
        status = variables = history[-1]
        for before in reversed(list(history)[:-1]):
            if not 0 < kept[-1].at - before.at <= LONGEST_GAP or history[-1].at - before.at > longest:
                break
            if before.server != status.server or _restarted(before, status) or _changed(before, variables):
                break
            kept.append(before)
            status = status if before[STATUS] is None else before
            variables = variables if before[VARIABLES] is None else before
        return cls(tuple(reversed(kept)))

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
        return _grown(known) if len(known) > 1 else None

    def growth(
        self, table: Callable[[Snapshot], Mapping[Key, Item] | None], key: Key, value: Callable[[Item], float]
    ) -> float | None:
        """How much an entry of a table of cumulative values grew; one that was not there yet began at 0.

        None when fewer than two snapshots know the table, when the entry fell or went away, or when it came into a
        full table of the TOP largest: what it was before is unknown.
        """
        known = [entries for snapshot in self.snapshots if (entries := table(snapshot)) is not None]
        if len(known) < 2:
            return None
        if not any(key in entries for entries in known):
            return 0.0
        if key not in known[-1] or (key not in known[0] and len(known[0]) >= TOP):
            return None
        values = [value(entries[key]) for entries in known if key in entries]
        return _grown(values if key in known[0] else [0.0, *values])

    def tail(self, enough: Callable[[Window], bool]) -> Window:
        """The shortest part at the end for which ``enough`` holds; all of it when none does.

        What is enough must stay so for longer parts.
        """
        starts = range(len(self.snapshots) - 1)
        # bisect wants False before True: from the end on, the first start that is enough.
        found = bisect.bisect_left(starts, x=True, key=lambda n: enough(Window(self.snapshots[starts[-1 - n] :])))
        return Window(self.snapshots[starts[-1 - found] :]) if found < len(starts) else self


def _grown(values: Sequence[float]) -> float | None:
    fell = any(after < before for before, after in pairwise(values))
    return None if fell else float(values[-1] - values[0])


def _restarted(before: Snapshot, after: Snapshot) -> bool:
    if before[STATUS] is None or after[STATUS] is None:
        return False
    started = [snapshot.at - (snapshot[STATUS] or {})["uptime"] for snapshot in (before, after)]
    return abs(started[1] - started[0]) > _CLOCK_SLACK


def _changed(before: Snapshot, after: Snapshot) -> bool:
    then, now = before[VARIABLES], after[VARIABLES]
    if then is None or now is None or then is now:
        return False
    return any(before.setting(name) != after.setting(name) for name in SETTINGS)


def total(values: Iterable[float]) -> float:
    """The sum, as a float."""
    return float(sum(values))
