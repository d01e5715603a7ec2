"""A plan that is carried out on a server in a real memory cgroup, under load, there and back."""

from __future__ import annotations

from collections.abc import Callable

from lab.plans import memory
from lab.plans.record import MemoryRecord
from lab.servers import PrivateServer
from tests.unavailable import if_available


def test_a_pool_grows_and_shrinks_under_its_limit_without_a_kill(start_server: Callable[..., PrivateServer]) -> None:
    """The checks are PromQL at a real Prometheus; in the other order the limit is refused, or the server killed."""
    server = start_server("mariadb-11.8", **memory.OPTIONS)
    record = MemoryRecord.model_validate(if_available(memory.resize, server, lambda _: None))
    assert list(record.broken()) == []
