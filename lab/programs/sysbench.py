"""Debian's sysbench, as the published experiments used it: it fills tables on a server and puts load on them.

It is unpacked privately and talks to the server over its Unix socket, as root. Options are sysbench's own and those
of its Lua scripts (``oltp_common.lua``), written as Python does: ``table_size=10_000, secondary=True``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from lab.packages import debian
from lab.processes import work
from lab.processes.work import WorkFailed
from lab.servers import Server
from lab.servers.sql import execute

SUITE, PACKAGE = "bookworm", "sysbench"
SCHEMA = "sbtest"  # sysbench's own default
PREPARE_SECONDS = 900.0
PATIENCE_SECONDS = 60.0
"""How much longer than it was told to run it may take to begin and to end."""
_SCRIPTS = "usr/share/sysbench"
_SAID_AT_MOST = 4000  # characters

Option = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Result:
    """What sysbench says of a run.

    Attributes:
        seconds: How long it ran.
        transactions: Events that were done, each a round of the script's statements.
        queries: Statements of these, BEGIN and COMMIT too.
        reads, writes: Of the queries, those that it counts as such.
        ignored_errors: Transactions that it rolled back and began again: deadlocks, for one.
        latency_min, latency_avg, latency_p95, latency_max: Of an event, milliseconds.
    """

    seconds: float
    transactions: int
    queries: int
    reads: int
    writes: int
    ignored_errors: int
    latency_min: float
    latency_avg: float
    latency_p95: float
    latency_max: float

    @property
    def transactions_per_second(self) -> float:
        """Over the whole run."""
        return self.transactions / self.seconds

    @property
    def queries_per_second(self) -> float:
        """Over the whole run."""
        return self.queries / self.seconds


def prepare(server: Server, test: str, *, schema: str = SCHEMA, **options: Option) -> None:
    """Make a test's tables and fill them, in a schema that is made when it isn't there.

    Args:
        server: A running one.
        test: A script of sysbench's, such as `oltp_write_only`.
        schema: Where the tables go.
        options: Such as `table_size` (rows; 10,000 unless told), `tables`, `secondary`, `threads` (one a table).

    Raises:
        Unavailable: sysbench can't be had here.
        WorkFailed: It failed, as when the tables are there already.
    """
    execute(server, f"CREATE DATABASE IF NOT EXISTS {schema}")
    command, environment = _command(server, test, "prepare", {"mysql_db": schema} | options)
    work.finish(f"sysbench {test} prepare", command, PREPARE_SECONDS, environment)


def run(
    server: Server,
    test: str,
    *,
    threads: int = 1,
    seconds: int = 0,
    events: int = 0,
    schema: str = SCHEMA,
    **options: Option,
) -> Result:
    """Put a test's load on tables that `prepare` has made.

    Args:
        server: A running one.
        test: A script of sysbench's, such as `oltp_write_only`.
        threads: Connections that work at a time.
        seconds: How long; 0 for as long as the events take.
        events: How many transactions; 0 for as many as there is time for.
        schema: Where the tables are.
        options: Such as `table_size`: rows that the load goes to, 10,000 unless told, however many the table has.

    Raises:
        ValueError: Neither seconds nor events bound it.
        Unavailable: sysbench can't be had here.
        WorkFailed: It failed, or it took much longer than it was told to.
    """
    if not seconds and not events:
        raise ValueError("a run without an end: give seconds or events")
    bounds: dict[str, Option] = {"mysql_db": schema, "threads": threads, "time": seconds, "events": events}
    command, environment = _command(server, test, "run", bounds | options)
    limit = (seconds or PREPARE_SECONDS) + PATIENCE_SECONDS
    return parsed(work.finish(f"sysbench {test} run", command, limit, environment))


def running(
    server: Server, test: str, *, seconds: int, threads: int = 1, schema: str = SCHEMA, **options: Option
) -> AbstractContextManager[None]:
    """Put a test's load on its tables while the context lasts, which must be less than so many seconds.

    Args:
        server: A running one.
        test: A script of sysbench's, such as `oltp_write_only`.
        seconds: After which it ends in any case.
        threads: Connections that work at a time.
        schema: Where the tables are.
        options: As of `run`, and `rate`: transactions a second at most.

    Raises:
        Unavailable: sysbench can't be had here.
        WorkFailed: It ended before the context.
    """
    bounds: dict[str, Option] = {"mysql_db": schema, "threads": threads, "time": seconds, "events": 0}
    command, environment = _command(server, test, "run", bounds | options)
    return work.running(f"sysbench {test} run", command, environment)


def parsed(said: str) -> Result:
    """The report at the end of a run.

    Raises:
        WorkFailed: A number is missing.
    """

    def number(pattern: str) -> float:
        found = re.search(rf"^\s*{pattern}", said, re.MULTILINE)
        if found is None:
            raise WorkFailed(f"sysbench's report has no line {pattern!r}:\n{said[-_SAID_AT_MOST:]}")
        return float(found[1])

    whole = r":\s+(\d+)"
    exact = r":\s+([\d.]+)"
    return Result(
        seconds=number(f"total time{exact}s"),
        transactions=int(number(f"transactions{whole}")),
        queries=int(number(f"queries{whole}")),
        reads=int(number(f"read{whole}")),
        writes=int(number(f"write{whole}")),
        ignored_errors=int(number(f"ignored errors{whole}")),
        latency_min=number(f"min{exact}"),
        latency_avg=number(f"avg{exact}"),
        latency_p95=number(f"95th percentile{exact}"),
        latency_max=number(f"max{exact}"),
    )


def _command(
    server: Server, test: str, command: str, options: Mapping[str, Option]
) -> tuple[list[str], dict[str, str]]:
    """A command line, and its environment."""
    root = debian.unpacked(SUITE, PACKAGE)
    scripts = root / _SCRIPTS
    arguments = {"db_driver": "mysql", "mysql_socket": str(server.socket), "mysql_user": "root", **options}
    environment = {
        "LUA_PATH": f"{scripts}/?.lua;;",  # it looks for oltp_common in the folder it was built for
        # caching_sha2_password, which MySQL's accounts have, is a plugin of this client library.
        "MARIADB_PLUGIN_DIR": str(next(root.glob("usr/lib/*/libmariadb3/plugin"))),
    }
    return [
        *debian.command(root, "usr/bin/sysbench"),
        *(f"--{name.replace('_', '-')}={_text(value)}" for name, value in arguments.items()),
        str(scripts / f"{test}.lua"),
        command,
    ], environment


def _text(value: Option) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)
