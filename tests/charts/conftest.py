from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab.programs.prometheus import NEWEST, Prometheus, running
from tests.unavailable import or_give_up


@pytest.fixture(scope="session")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A Prometheus without targets, which parses expressions."""
    with or_give_up(running(tmp_path_factory.mktemp("prometheus"), [], suite=NEWEST)) as started:
        yield started
