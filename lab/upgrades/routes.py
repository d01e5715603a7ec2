"""Ways from one version of a server to another, each with the servers that it passes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pymysql
from pymysql.cursors import SSCursor

from advisor.contract.settings import SETTINGS
from advisor.pool.settings import POOL_SIZE
from advisor.upgrade.defaults import ServerStart
from exporter.server import identify
from lab.harness.workloads import ask
from lab.servers import PrivateServer, start
from lab.servers.sql import execute, query_column

_ROWS = 500
"""Of an INSERT of the load."""
_SECONDARY_KEY = re.compile(r"\s+(UNIQUE )?KEY ")
_SCHEMAS = (
    "SELECT schema_name FROM information_schema.schemata"
    " WHERE schema_name NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema', 'test')"
)


@dataclass(frozen=True)
class RouteStage:
    """A server on the way.

    Attributes:
        server: One of `lab.servers.NAMES`.
        version: The version as which it counts, where its settings were set by hand to the defaults of another one;
            empty for its own.
        defaults: The options that set it to these defaults.
        options: Its options beside these and those of the workload.
    """

    server: str
    version: str = ""
    defaults: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """In a table."""
        return f"{self.server} with the defaults of {self.version}" if self.version else self.server


Upgrading = Callable[[PrivateServer, str, Mapping[str, str]], AbstractContextManager[PrivateServer]]
"""From the running server to the server of a name, with these options, that has its data."""


@dataclass(frozen=True)
class Route:
    """An upgrade over one or more servers.

    Attributes:
        name: In kebab case.
        about: In words, for the reader.
        upgrade: From each of the servers to the next.
        stages: The servers.
        loads: The names of the loads that are measured on it; none for all.
    """

    name: str
    about: str
    upgrade: Upgrading
    stages: Sequence[RouteStage]
    loads: tuple[str, ...] = ()


@contextmanager
def in_place(old: PrivateServer, name: str, options: Mapping[str, str]) -> Iterator[PrivateServer]:
    """The new program on the data folder, after a slow shutdown of the old one."""
    execute(old, "SET GLOBAL innodb_fast_shutdown = 0", "SHUTDOWN")
    old.wait()
    with start(name, options, old.datadir) as new:
        yield new


@contextmanager
def by_options(old: PrivateServer, _: str, options: Mapping[str, str]) -> Iterator[PrivateServer]:
    """The same server with other options."""
    old.restart(options)
    yield old


@contextmanager
def dump_and_load(old: PrivateServer, name: str, options: Mapping[str, str]) -> Iterator[PrivateServer]:
    """A new server with the schemas of the old one: rows in the order of the primary key, then secondary indexes."""
    with start(name, options) as new, old.connect(cursorclass=SSCursor) as source, new.connect() as target:
        for schema in query_column(old, _SCHEMAS):
            ask(target, f"CREATE DATABASE {schema}", f"USE {schema}")
            source.select_db(schema)
            for table in query_column(old, f"SHOW TABLES FROM {schema}"):
                _copy(source, target, table)
        yield new


def _copy(source: pymysql.Connection[Any], target: pymysql.Connection[Any], table: str) -> None:
    [(_, statement)] = ask(source, f"SHOW CREATE TABLE {table}")
    *definitions, last = statement.splitlines()
    keys = [line.strip().rstrip(",") for line in definitions if _SECONDARY_KEY.match(line)]
    columns = [line.rstrip(",") for line in definitions[1:] if not _SECONDARY_KEY.match(line)]
    ask(target, "\n".join([definitions[0], ",\n".join(columns), last]), "SET autocommit = 0")
    with source.cursor() as rows, target.cursor() as load:
        rows.execute(f"SELECT * FROM {table}")
        while batch := rows.fetchmany(_ROWS):
            load.executemany(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * len(batch[0]))})", batch)
    ask(target, "COMMIT", "SET autocommit = 1")
    if keys:
        ask(target, f"ALTER TABLE {table} " + ", ".join(f"ADD {key}" for key in keys))
    ask(target, f"ANALYZE TABLE {table}")


def defaults(*versions: str) -> list[dict[str, str]]:
    """Options of a MySQL server that has one of these versions' defaults: where they are not the same in all."""
    starts = [
        ServerStart(identify({"version": version}), {POOL_SIZE: _POOL_BYTES}, os.cpu_count()) for version in versions
    ]
    options: list[dict[str, str]] = [{} for _ in versions]
    for name in SETTINGS:
        values = [start.default(name) for start in starts]
        if None not in values and len({*values}) > 1:
            for of_version, value in zip(options, values, strict=True):
                of_version[name.replace("_", "-")] = value if isinstance(value, str) else f"{value:.0f}"
    return options


_POOL_BYTES = 2.0**25
_WHOLE_DUMP = {"innodb-buffer-pool-dump-pct": "100"}
"""Set by hand on all, so that a load of the dump takes long enough."""
_OLD, _LTS, _OWN = defaults("8.0.43", "8.4.6", "9.7.4")
"""The newest server's own are written down too: a restart adds options, and takes none back."""

ROUTES = (
    Route(
        "mariadb-in-place",
        "The data folder of 10.5, after a slow shutdown, is started by 10.11, and then by 11.8.",
        in_place,
        (RouteStage("mariadb-10.5"), RouteStage("mariadb-10.11"), RouteStage("mariadb-11.8")),
    ),
    Route(
        "mariadb-change-buffer",
        "The same from 10.11 with `innodb_change_buffering = all` to 11.8, which has no change buffer.",
        in_place,
        (RouteStage("mariadb-10.11", options={"innodb-change-buffering": "all"}), RouteStage("mariadb-11.8")),
        ("inserts", "tpcc"),
    ),
    Route(
        "mysql-dump-and-load",
        "Schemas of 5.6 are loaded into 9.7: rows in the order of the primary key, then the secondary indexes.",
        dump_and_load,
        (RouteStage("mysql-5.6"), RouteStage("mysql-9.7")),
    ),
    Route(
        "mysql-defaults",
        "9.7 with the defaults of 8.0, then with those of 8.4, then with its own.",
        by_options,
        (
            RouteStage("mysql-9.7", "8.0.43", _OLD, _WHOLE_DUMP),
            RouteStage("mysql-9.7", "8.4.6", _LTS, _WHOLE_DUMP),
            RouteStage("mysql-9.7", "", _OWN, _WHOLE_DUMP),
        ),
    ),
)
