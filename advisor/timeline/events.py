"""Events: what changed between two snapshots, the rules that were loaded anew, and the server's absences."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from advisor.contract.recommendation import Frozen, Number
from advisor.contract.settings import setting_text
from advisor.contract.templates import duration
from advisor.observe.window import changed_settings, restarted, setting_value
from exporter.collectors.status import STATUS
from exporter.collectors.variables import VARIABLES
from exporter.snapshot import Snapshot

MOST_EVENTS = 1_000
"""Events that are remembered, the newest."""


class Event(Frozen):
    """Something that happened to the server, or to the rules."""

    at: float = Field(
        description="Unix seconds. A restart: when the server started. A setting: the first snapshot that shows it."
    )
    kind: Literal["restart", "setting", "rules", "away", "back"] = Field(
        description="The server was restarted; a setting was changed; the sidecar loaded its rules anew, or could not; "
        "the server went away; it came back."
    )
    text: str = Field(description="In words.")
    setting: str | None = Field(None, description="The setting that was changed; null for other events.")
    before: Number | str | None = Field(None, description="Its value before.")
    after: Number | str | None = Field(None, description="Its value since.")


class Timeline:
    """The newest events.

    Attributes:
        away_since: When the server was first seen to be away, Unix seconds; None while it is not.
    """

    def __init__(self) -> None:
        """Begin without an event."""
        self.away_since: float | None = None
        self._events: deque[Event] = deque(maxlen=MOST_EVENTS)
        self._loaded_at: float | None = None
        self._rules_problem: str | None = None
        self._last: Snapshot | None = None
        # A snapshot without a section hides neither a restart nor a new setting.
        self._status: Snapshot | None = None
        self._variables: Snapshot | None = None

    def look(
        self,
        history: Sequence[Snapshot],
        now: float,
        *,
        problem: str | None = None,
        rules: int = 0,
        loaded_at: float = 0.0,
        rules_problem: str | None = None,
    ) -> None:
        """Take in what is new since the last look; an event between two looks that left no trace is not seen.

        Args:
            history: Snapshots, oldest first. Only the first look reads more than the newest one.
            now: Unix seconds.
            problem: Why the server cannot be reached; None while it can.
            rules: Number of the rules in force.
            loaded_at: When they were loaded, Unix seconds.
            rules_problem: Why the last attempt to load the rules failed; None after a successful one.
        """
        events = [*self._changes(history), *self._absence(problem, now)]
        if self._loaded_at not in (None, loaded_at):
            events.append(Event(at=loaded_at, kind="rules", text=f"{rules} rules loaded anew"))
        if self._loaded_at is not None and rules_problem not in (None, self._rules_problem):
            text = f"rules not loaded, the old ones stay: {rules_problem}"
            events.append(Event(at=now, kind="rules", text=text))
        self._loaded_at, self._rules_problem = loaded_at, rules_problem
        self._events += sorted(events, key=lambda event: event.at)

    def events(self, since: float = 0.0) -> list[Event]:
        """The events at ``since`` or later, Unix seconds; oldest first."""
        return sorted((event for event in self._events if event.at >= since), key=lambda event: event.at)

    def _absence(self, problem: str | None, now: float) -> Iterator[Event]:
        if problem is not None and self.away_since is None:
            self.away_since = now
            yield Event(at=now, kind="away", text=f"the server is away: {problem}")
        elif problem is None and self.away_since is not None:
            yield Event(at=now, kind="back", text=f"the server is back after {duration(now - self.away_since)}")
            self.away_since = None

    def _changes(self, history: Sequence[Snapshot]) -> Iterator[Event]:
        """What changed from one snapshot to the next."""
        new: Sequence[Snapshot] = history if self._last is None else [history[-1]]
        for snapshot in new:
            if snapshot is self._last:
                continue
            self._last = snapshot
            if (status := snapshot[STATUS]) is not None:
                if self._status is not None and restarted(self._status, snapshot):
                    text = _restart(self._status, snapshot)
                    yield Event(at=snapshot.at - status["uptime"], kind="restart", text=text)
                self._status = snapshot
            if snapshot[VARIABLES] is not None:
                if self._variables is not None:
                    yield from _settings(self._variables, snapshot)
                self._variables = snapshot


def _restart(before: Snapshot, after: Snapshot) -> str:
    same = before.server == after.server
    return "the server was restarted" if same else f"{before.server} was restarted as {after.server}"


def _settings(before: Snapshot, after: Snapshot) -> Iterator[Event]:
    for name in changed_settings(before, after):
        old, new = setting_value(before, name), setting_value(after, name)
        text = f"{name}: {setting_text(name, old)} → {setting_text(name, new)}"
        yield Event(at=after.at, kind="setting", text=text, setting=name, before=old, after=new)
