"""The type of a scenario, and server options and helpers that scenarios share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pymysql

from lab.captures.checks.base import CaptureCheck
from lab.harness.workloads import emptied
from lab.servers import NAMES, Server

MARIADB = tuple(name for name in NAMES if name.startswith("mariadb"))
MYSQL = tuple(name for name in NAMES if name.startswith("mysql"))

LITTLE = {"innodb-buffer-pool-size": "24M"}  # 1,536 pages
DEFAULT_POOL = {"innodb-buffer-pool-size": "128M"}
OBSERVABLE = DEFAULT_POOL | {"performance-schema": "ON"}  # off by default on MariaDB

Step = Callable[[], None]
"""The work between two collections. It may return at once if the load runs in the background."""


@dataclass(frozen=True)
class CaptureScenario:
    """A workload, and the servers that are captured under it.

    Attributes:
        name: Its folder's name.
        options: The options of each captured server; they win over the lab's own.
        work: Prepares a server and yields the step between two collections. Its docstring describes the workload in the
            note.
        check: Returns the key numbers of a capture, or refuses it.
        collections: The number of collections.
        period: Seconds between two collections.
        user: The sidecar's account.
        check_of: Different checks for some of the servers.
        attempts: The most attempts until the check holds, for checks that depend on chance. The note has their number.
    """

    name: str
    options: Mapping[str, Mapping[str, str]]
    work: Callable[[Server], AbstractContextManager[Step]]
    check: CaptureCheck
    collections: int = 7
    period: float = 1.0
    user: str = "root"
    check_of: Mapping[str, CaptureCheck] = field(default_factory=dict)
    attempts: int = 1

    def checked_by(self, server: str) -> CaptureCheck:
        """The check for one of its servers."""
        return self.check_of.get(server, self.check)


def nothing() -> None:
    """A step without work."""


def execute_on(connection: pymysql.Connection[Any], sql: str) -> None:
    """Run a statement for its effect."""
    with connection.cursor() as cursor:
        cursor.execute(sql)


@contextmanager
def cold(server: Server, tables: Mapping[str, int]) -> Iterator[pymysql.Connection[Any]]:
    """Create tables, of so many pages per 128 MiB of the pool, and empty the pool; yields a connection."""
    times = int(server.options["innodb-buffer-pool-size"].removesuffix("M")) // 128
    with emptied(server, {table: pages * times for table, pages in tables.items()}) as connection:
        yield connection
