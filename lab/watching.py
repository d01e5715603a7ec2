"""Watching a real server through the same parts as the sidecar, and what is asked and told it meanwhile."""

from __future__ import annotations

import asyncio
import functools
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from advisor.contract.recommendation import Advice, Recommendation
from advisor.observe.window import Window
from advisor.rules.check import Rule, load
from exporter.connection.target import from_dsn
from exporter.sampling.sampler import Sampler
from exporter.snapshot import ConfiguredMachine, Snapshot
from lab.servers import Server

RULES_FOLDER = Path(__file__).parent.parent / "rules"


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
    """Do a piece of work so many times, collecting before and after each."""

    async def look() -> tuple[Snapshot, ...]:
        sampler = Sampler(replace(from_dsn(server.dsn), user=user), interval=1.0, machine=machine)
        try:
            await sampler.collect()
            for _ in range(times):
                await asyncio.to_thread(work)
                await sampler.collect()
            return tuple(sampler.history)
        finally:
            await sampler.close()

    return asyncio.run(look())


def watched(server: Server, work: Callable[[], None], times: int, user: str = "root") -> Window:
    """The window that they make."""
    return Window.of(snapshots(server, work, times, user=user), longest=3600)


def by_rule(advice: Advice, rule: str) -> list[Recommendation]:
    """What one rule says in some advice."""
    return [found for found in advice.recommendations if found.rule == rule]


def execute(server: Server, *statements: str) -> None:
    """Run statements for their effect, in a session of their own."""
    with server.connect() as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def asked(server: Server, sql: str) -> float:
    """The one number that a query returns."""
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(sql)
        return float(cursor.fetchall()[0][0])


def pages_read(server: Server) -> int:
    """By all instances of the buffer pool since the start."""
    return int(asked(server, "SELECT SUM(NUMBER_PAGES_READ) FROM information_schema.INNODB_BUFFER_POOL_STATS"))


def reads(server: Server, work: Callable[[], None], times: int = 1) -> float:
    """Pages that a piece of work reads each time, on average."""
    before = pages_read(server)
    for _ in range(times):
        work()
    return (pages_read(server) - before) / times


def seconds(work: Callable[[], None], times: int = 3) -> float:
    """How long a piece of work takes: the median."""
    took = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return statistics.median(took)
