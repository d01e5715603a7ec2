"""Shared by the exporter's tests: direct statements, samplers, and an event loop whose time can be moved."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from hypothesis import settings

from exporter.connection.target import Target, from_dsn
from exporter.rows import Rows
from exporter.sampling.sampler import Sampler
from lab.servers import PrivateServer
from tests.waiting import DEADLINE

# The same examples in each run, however long they take.
settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")


@pytest.fixture(scope="session")
def ask() -> Callable[[PrivateServer, str], list[tuple[Any, ...]]]:
    """Run statements as root, without the exporter; the rows of the last statement."""

    def ask(server: PrivateServer, *statements: str) -> list[tuple[Any, ...]]:
        with server.connect(charset="utf8mb4") as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
                rows = cursor.fetchall()
        return list(rows)

    return ask


@pytest.fixture(scope="session")
def fetch() -> Callable[[PrivateServer, str], Rows]:
    """The result of a collector's statement, run as root with another driver."""

    def fetch(server: PrivateServer, sql: str) -> Rows:
        with server.connect(charset="utf8mb4") as connection, connection.cursor() as cursor:
            cursor.execute(sql)
            return Rows.of([column[0] for column in cursor.description or ()], cursor.fetchall())

    return fetch


@pytest.fixture
async def watch() -> AsyncIterator[Callable[..., Sampler]]:
    """Create samplers of a server or target; they are closed at the end."""
    samplers: list[Sampler] = []

    def make(whom: PrivateServer | Target, **options: Any) -> Sampler:
        target = whom if isinstance(whom, Target) else from_dsn(whom.dsn)
        samplers.append(Sampler(target, **{"statement_seconds": DEADLINE, **options}))
        return samplers[-1]

    yield make
    for sampler in samplers:
        await sampler.close()


@pytest.fixture
async def advance(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Move the event loop's time by so many seconds: what waits for less is due."""
    loop = asyncio.get_running_loop()
    time, ahead = loop.time, 0.0
    monkeypatch.setattr(loop, "time", lambda: time() + ahead)

    def advance(seconds: float) -> None:
        nonlocal ahead
        ahead += seconds

    return advance
