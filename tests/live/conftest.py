"""What the rules say of a real server that is watched while it works."""

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
    """Do a piece of work so many times, collecting before and after each; what the rules say of it."""
    return lambda server, work, times: evaluation.advise(rules(), observed_window(server, work, times))
