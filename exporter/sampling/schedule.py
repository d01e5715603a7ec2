"""When a collector is due: by its own period, by what it costs, and after it took too long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exporter.collectors.base import Collector
from exporter.snapshot import Failure

FIRST_REST, LONGEST_REST = 60.0, 600.0
"""Seconds that a collector rests after it missed its deadline: each time in a row twice as long."""
SHARE = 0.05
"""A collector with a period takes at most this share of the time: it comes less often where it takes long."""
_LASTING: frozenset[Failure] = frozenset({"absent", "disabled"})
"""Failures of which a next attempt at once would make nothing better."""


class Schedule:
    """When each collector may run again."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Everything is due.

        Args:
            clock: Seconds that only go forward.
        """
        self._clock = clock
        self._due: dict[str, float] = {}
        self._rest: dict[str, float] = {}
        self._rare: set[str] = set()

    def due(self, collector: Collector[Any]) -> bool:
        """Whether it may run now."""
        return self._clock() >= self._due.get(collector.name, 0.0)

    def ran(self, collector: Collector[Any], seconds: float, failure: Failure | None) -> None:
        """It began ``seconds`` ago and has ended."""
        name, began = collector.name, self._clock() - seconds
        if collector.every >= LONGEST_REST:
            self._rare.add(name)
        if failure == "deadline":
            self._rest[name] = min(self._rest.get(name, FIRST_REST / 2) * 2, LONGEST_REST)
            self._due[name] = began + max(self._rest[name], collector.every)
            return
        self._rest.pop(name, None)
        pause = max(collector.every, seconds / SHARE) if collector.every else 0.0
        keeps = failure is None or failure in _LASTING or collector.every >= LONGEST_REST
        self._due[name] = began + (pause if keeps else 0.0)

    def clear(self) -> None:
        """Forget it, but for what holds up a server: the server, or what the account may do, is not what it was."""
        self._due = {name: due for name, due in self._due.items() if name in self._rare}
        self._rest.clear()
