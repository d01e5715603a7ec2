"""A data folder with many tables, created once and cached: 10,000 CREATE TABLE take minutes."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lab import servers
from lab.packages import cache
from lab.servers import Server, programs

SERVER = "mysql-9.7"
SCHEMAS = 10
"""The tables are spread over this many schemas."""
SESSIONS = 2
"""How many sessions create and read the tables at a time."""
OPTIONS = {
    "innodb-buffer-pool-size": "512M",
    "innodb-doublewrite": "OFF",
    "innodb-redo-log-capacity": "256M",
    "innodb-fast-shutdown": "0",
    "innodb-stats-auto-recalc": "OFF",
}
_COLUMNS = "(id INT NOT NULL PRIMARY KEY, k INT NOT NULL, filler VARCHAR(100) NOT NULL, KEY k (k))"


def kept(tables: int) -> Path:
    """The cached folder of a server with this many tables; created when absent.

    Raises:
        Unavailable, StartError: As `servers.start`.
    """
    name = f"bench/{tables}-tables-{programs.find(SERVER).version}"
    return cache.kept(name, lambda folder: make(folder, tables))


@contextlib.contextmanager
def started(folder: Path, tables: int) -> Iterator[Server]:
    """A server on a copy of `make`'s folder. Every table was read once since its start.

    Raises:
        Unavailable, StartError: As `servers.start`.
    """
    with tempfile.TemporaryDirectory(prefix="innodb-advisor-bench-", dir=folder.parent) as copy:
        data = Path(copy) / "data"
        # cp shares what the file system can share, and keeps holes; shutil does neither.
        subprocess.run(["cp", "-a", "--reflink=auto", "--sparse=always", str(folder / "data"), str(data)], check=True)
        with servers.start(SERVER, OPTIONS, data) as server:
            for_each_table(server, tables, "SELECT k FROM {table}")
            yield server


def for_each_table(server: Server, tables: int, *statements: str) -> None:
    """Run statements for every table, in several sessions."""

    def work(first: int) -> None:
        with server.connect() as connection, connection.cursor() as cursor:
            for number in range(first, tables, SESSIONS):
                for statement in statements:
                    cursor.execute(statement.format(table=f"many_{number % SCHEMAS}.t{number}"))
                    cursor.fetchall()

    with ThreadPoolExecutor(SESSIONS) as threads:
        list(threads.map(work, range(SESSIONS)))  # raises what one of them raised


def make(folder: Path, tables: int) -> None:
    """Fill a folder with the data of a server with this many tables. Raises as `servers.start` does."""
    with servers.start(SERVER, OPTIONS, folder / "data") as server:
        with server.connect() as connection, connection.cursor() as cursor:
            for number in range(SCHEMAS):
                cursor.execute(f"CREATE DATABASE many_{number}")
            cursor.execute("ALTER INSTANCE DISABLE INNODB REDO_LOG")
        for_each_table(
            server,
            tables,
            f"CREATE TABLE {{table}} {_COLUMNS} ENGINE=InnoDB",
            "INSERT INTO {table} VALUES (1, 1, 'x')",
            "ANALYZE TABLE {table}",
        )
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute("ALTER INSTANCE ENABLE INNODB REDO_LOG")
    shutil.rmtree(folder / "data" / "#innodb_temp", ignore_errors=True)
    (folder / "data" / "auto.cnf").unlink(missing_ok=True)
