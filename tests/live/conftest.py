"""Advice of the rules on a real server under load."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from advisor.advice import evaluation
from advisor.contract.recommendation import Advice
from lab.observation import observed_window, rules
from lab.servers import Server

Watch = Callable[[Server, Callable[[], None], int], Advice]


@pytest.fixture
def watch() -> Watch:
    """Repeat a piece of work, collect before and after each round, and return the advice."""
    return lambda server, work, times: evaluation.advise(rules(), observed_window(server, work, times))
