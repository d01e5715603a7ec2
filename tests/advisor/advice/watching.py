"""A source that tests hold in their hands: it shows snapshots one by one, goes away and comes back."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

from advisor.advice.service import Service
from advisor.observe.source import Replay
from advisor.rules.rulebook import Rulebook
from exporter.collectors.base import Collector
from exporter.connection.errors import ServerError
from exporter.sampling.assembly import Answer
from exporter.snapshot import Snapshot
from tests.advisor.building import RECORDING, RULES_FOLDER, capture


class Watched:
    """A server with the snapshots of RECORDING, as far as they are shown."""

    def __init__(self, shown: int = 0) -> None:
        self.all = Replay(capture(RECORDING)).history
        self.history: list[Snapshot] = list(self.all[:shown])
        self.problem: ServerError | None = None
        self.interval: float | None = 10.0
        self.collections = 0
        self.asked = 0

    @property
    def latest(self) -> Snapshot | None:
        return self.history[-1] if self.history and self.problem is None else None

    def show(self, count: int = 1) -> None:
        """So many snapshots more."""
        self.history += self.all[len(self.history) : len(self.history) + count]

    async def collect(self, max_age: float = 0.0) -> Snapshot:  # noqa: ARG002 - as a source has it
        self.collections += 1
        if self.problem is not None or not self.history:
            raise self.problem or ServerError("nothing")
        return self.history[-1]

    async def glance(self, max_age: float = 0.0) -> Snapshot:
        return await self.collect(max_age)

    async def ask(self, collector: Collector[Any]) -> Answer:
        self.asked += 1
        return Answer(collector.name, 0.0, failure="absent", reason="nothing")

    async def run(self) -> None:
        """Nothing happens by itself."""


@functools.cache
def rulebook() -> Rulebook:
    """The built-in rules, which take a second to load."""
    return Rulebook(RULES_FOLDER)


def service_of(source: Watched, now: Callable[[], float] = time.time) -> Service:
    """A service of db1:3306 with the built-in rules."""
    return Service(source, rulebook(), target="db1:3306", now=now)
