"""Event loops whose time stands still until a test lets it pass."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack

import pytest

from tests.advisor.building import capture
from tests.advisor.http.standing import StandingLoop
from tests.advisor.in_process import InProcess


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"standing": StandingLoop}


@pytest.fixture
def compose() -> Iterator[Callable[..., InProcess]]:
    """Start a sidecar in this process; it ends with the test."""
    with ExitStack() as stack:
        yield lambda *arguments, **options: stack.enter_context(InProcess(*arguments, **options))


@pytest.fixture(scope="session")
def without_sources() -> Iterator[InProcess]:
    """A sidecar on a server with performance_schema OFF."""
    with InProcess("--recording", capture("mariadb-11.8/idle")) as sidecar:
        yield sidecar


@pytest.fixture(scope="session")
def away() -> Iterator[InProcess]:
    """One whose server cannot be reached."""
    with InProcess("--dsn", "mysql://root@127.0.0.1:1") as sidecar:
        yield sidecar
