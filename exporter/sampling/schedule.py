"""The schedule of the collectors: by their own period, by their cost, and after a missed deadline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from exporter.collectors.base import Collector
from exporter.snapshot import Failure

FIRST_REST, LONGEST_REST = 60.0, 600.0
"""Seconds that a collector rests after a missed deadline; each further one in a row doubles them."""
SHARE = 0.05
"""Maximum share of the time for a collector with a period: a slow one runs less often."""
_LASTING: frozenset[Failure] = frozenset({"absent", "disabled"})
"""Failures that an immediate new attempt would not change."""


class Schedule:
    """The times when the collectors may run again."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Every collector is due.

        Args:
            clock: Monotonic seconds.
        """
        self._clock = clock
        self._due: dict[str, float] = {}
        self._rest: dict[str, float] = {}
        self._seldom: set[str] = set()

    def due(self, collector: Collector[Any]) -> bool:
        """Whether it may run now."""
        return self._clock() >= self._due.get(collector.name, 0.0)

    def ran(self, collector: Collector[Any], seconds: float, failure: Failure | None) -> None:
        """A run that began ``seconds`` ago has ended."""
        name, began = collector.name, self._clock() - seconds
        if collector.every >= LONGEST_REST:
            self._seldom.add(name)
        if failure == "deadline":
            self._rest[name] = min(self._rest.get(name, FIRST_REST / 2) * 2, LONGEST_REST)
            self._due[name] = began + max(self._rest[name], collector.every)
            return
        self._rest.pop(name, None)
        pause = max(collector.every, seconds / SHARE) if collector.every else 0.0
        periodic = failure is None or failure in _LASTING or collector.every >= LONGEST_REST
        self._due[name] = began + (pause if periodic else 0.0)

    def clear(self) -> None:
        """Every collector is due again, as after a restart or a GRANT; rare ones are not, as they burden the server."""
        self._due = {name: due for name, due in self._due.items() if name in self._seldom}
        self._rest.clear()
