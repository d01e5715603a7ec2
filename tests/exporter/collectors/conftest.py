"""The shared servers are left as they were found."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab.harness.workloads import SCHEMA
from lab.servers.sql import execute


@pytest.fixture(autouse=True)
def _leave_no_tables(request: pytest.FixtureRequest) -> Iterator[None]:
    """Remove the schema of lab/harness/workloads.py after each test that has a shared server."""
    server = request.getfixturevalue("server") if "server" in request.fixturenames else None
    yield
    if server is not None:
        execute(server, f"DROP DATABASE IF EXISTS {SCHEMA}")
