"""Snapshots of a real server, collected by the sidecar's own sampler, and the rules that judge them."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from dataclasses import replace

from advisor.contract.recommendation import Advice, Recommendation
from advisor.observe.limits import LEAST_SECONDS
from advisor.observe.window import Window
from advisor.rules.check import Rule, load
from exporter.connection.target import from_dsn
from exporter.sampling.sampler import Sampler
from exporter.snapshot import ConfiguredMachine, Snapshot
from lab.packages.cache import REPOSITORY
from lab.servers import Server

RULES_FOLDER = REPOSITORY / "rules"


@functools.cache
def rules() -> tuple[Rule, ...]:
    """The built-in rules."""
    return load(RULES_FOLDER)


def snapshots(
    server: Server,
    work: Callable[[], None],
    times: int,
    *,
    user: str = "root",
    machine: ConfiguredMachine | None = None,
) -> tuple[Snapshot, ...]:
    """Run the work several times, with a collection before the first and after each.

    Where the work is done in less than LEAST_SECONDS, a last collection follows.
    """

    async def look() -> tuple[Snapshot, ...]:
        sampler = Sampler(replace(from_dsn(server.dsn), user=user), interval=1.0, machine=machine)
        try:
            await sampler.collect()
            for _ in range(times):
                await asyncio.to_thread(work)
                await sampler.collect()
            missing = LEAST_SECONDS - (sampler.history[-1].at - sampler.history[0].at)
            if missing > 0:  # no rule judges a shorter window
                await asyncio.sleep(missing)
                await sampler.collect()
            return tuple(sampler.history)
        finally:
            await sampler.close()

    return asyncio.run(look())


def observed_window(server: Server, work: Callable[[], None], times: int, user: str = "root") -> Window:
    """The window of these snapshots."""
    return Window.of(snapshots(server, work, times, user=user), longest=3600)


def by_rule(advice: Advice, rule: str) -> list[Recommendation]:
    """The recommendations of one rule."""
    return [found for found in advice.recommendations if found.rule == rule]
