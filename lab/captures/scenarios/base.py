"""What a scenario is, and what they have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pymysql

from lab.captures.checks import Check
from lab.servers import NAMES, Server
from lab.workloads import make_table

MARIADB = tuple(name for name in NAMES if name.startswith("mariadb"))
MYSQL = tuple(name for name in NAMES if name.startswith("mysql"))

LITTLE = {"innodb-buffer-pool-size": "24M"}  # 1,536 pages
DEFAULT_POOL = {"innodb-buffer-pool-size": "128M"}
OBSERVABLE = DEFAULT_POOL | {"performance-schema": "ON"}  # off by default on MariaDB

Step = Callable[[], None]
"""What happens between two collections; it may return at once where the load runs in the background."""


@dataclass(frozen=True)
class CaptureScenario:
    """A workload, and the servers that are watched under it.

    Attributes:
        name: Its folder's name.
        options: The options of each server that it is captured from, over the lab's own.
        work: Prepares a server and yields the step between two collections. Its docstring is the workload in
            words, for the note.
        check: Key numbers of a capture, or a refusal.
        collections: How many.
        period: Seconds from one to the next.
        user: Who the sidecar logs in as.
        check_of: The checks for some of its servers, where they differ.
        attempts: How often it is tried until the check holds, where that is left to chance; the note counts them.
    """

    name: str
    options: Mapping[str, Mapping[str, str]]
    work: Callable[[Server], AbstractContextManager[Step]]
    check: Check
    collections: int = 7
    period: float = 1.0
    user: str = "root"
    check_of: Mapping[str, Check] = field(default_factory=dict)
    attempts: int = 1

    def checked_by(self, server: str) -> Check:
        """The check for one of its servers."""
        return self.check_of.get(server, self.check)


def nothing() -> None:
    """A step without work of its own."""


def execute_on(connection: pymysql.Connection[Any], sql: str) -> None:
    """Run a statement for its effect."""
    with connection.cursor() as cursor:
        cursor.execute(sql)


@contextmanager
def cold(server: Server, tables: Mapping[str, int]) -> Iterator[pymysql.Connection[Any]]:
    """A connection to the server with these tables, of so many pages a 128 MiB, and nothing of them in the pool."""
    times = int(server.options["innodb-buffer-pool-size"].removesuffix("M")) // 128
    with emptied(server, {table: pages * times for table, pages in tables.items()}) as connection:
        yield connection


@contextmanager
def emptied(server: Server, tables: Mapping[str, int]) -> Iterator[pymysql.Connection[Any]]:
    """A connection to the server with these tables, of so many pages, and nothing of them in the pool.

    A slow shutdown leaves nothing to purge: MariaDB's purge visits every inserted row and would fill the pool
    with their pages (row_purge_reset_trx_id in row0purge.cc).
    """
    with server.connect() as connection:
        for table, pages in tables.items():
            make_table(connection, table, pages)
        execute_on(connection, "SET GLOBAL innodb_fast_shutdown = 0")
    server.restart()
    with server.connect() as connection:
        yield connection
