"""Watching a real server through the same parts as the sidecar."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from advisor import engine, rule
from advisor.recommendation import Advice
from advisor.window import Window
from exporter.sampler import Sampler
from exporter.target import from_dsn
from lab.servers import Server

RULES = rule.load(Path(__file__).parents[2] / "rules")

Watch = Callable[[Server, Callable[[], None], int], Advice]


@pytest.fixture
def watch() -> Watch:
    """Do a piece of work so many times, collecting before and after each; what the rules say of it."""

    async def look(server: Server, work: Callable[[], None], times: int) -> Advice:
        sampler = Sampler(from_dsn(server.dsn), interval=1.0)
        try:
            await sampler.collect()
            for _ in range(times):
                await asyncio.to_thread(work)
                await sampler.collect()
            return engine.advise(RULES, Window.of(sampler.history, longest=3600))
        finally:
            await sampler.close()

    return lambda server, work, times: asyncio.run(look(server, work, times))
