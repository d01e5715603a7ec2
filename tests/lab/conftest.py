"""Fixtures for the tests of the lab."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.lab.demo import Demo


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Callable[..., Demo]]:
    """Start `make run`: `demo(NAME="value of the environment")`."""
    with ExitStack() as stack:

        def start(**environment: str) -> Demo:
            started = Demo(tmp_path, environment)
            stack.callback(started.close)
            return started

        yield start
