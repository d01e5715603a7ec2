"""Scenarios of idle servers, and of an account without privileges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from lab.captures.checks import quiet
from lab.captures.scenarios.base import CaptureScenario, Step, execute_on, nothing
from lab.servers import NAMES, Server

UNPRIVILEGED = "nobody"


@contextmanager
def idle(_server: Server) -> Iterator[Step]:
    """None: nobody but the sidecar is connected. The settings that the lab changes are at the server's own defaults."""
    yield nothing


@contextmanager
def unprivileged(server: Server) -> Iterator[Step]:
    """None. The sidecar's account has no privilege at all (USAGE)."""
    with server.connect() as connection:
        execute_on(connection, f"CREATE USER '{UNPRIVILEGED}'@'%'")
    yield nothing


def _own_defaults(server: str) -> Mapping[str, str]:
    """The server's own defaults of the settings that lab.servers changes and that the advisor may look at."""
    dump = "OFF" if server == "mysql-5.6" else "ON"
    return {
        "innodb-buffer-pool-size": "128M",
        "innodb-buffer-pool-dump-at-shutdown": dump,
        "innodb-buffer-pool-load-at-startup": dump,
        "innodb-flush-log-at-trx-commit": "1",
    }


SCENARIOS = (
    CaptureScenario("idle", {name: _own_defaults(name) for name in NAMES}, idle, quiet.idle, collections=6),
    CaptureScenario(
        "unprivileged",
        {"mysql-9.7": {}, "mariadb-10.11": {"performance-schema": "ON"}},
        unprivileged,
        quiet.refused,
        collections=6,
        user=UNPRIVILEGED,
    ),
)
