"""Debian's sysbench, as the published experiments used it: it fills tables on a server and puts load on them.

It is unpacked privately and talks to the server over its Unix socket, as root. Options are sysbench's own and those
of its Lua scripts (``oltp_common.lua``), written as Python does: ``table_size=10_000, secondary=True``.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from dataclasses import dataclass

from lab.packages import debian
from lab.processes.program import ProgramFailed, beside, finish
from lab.servers import PrivateServer
from lab.servers.sql import execute

SUITE, PACKAGE = "bookworm", "sysbench"
SCHEMA = "sbtest"  # sysbench's own default
PREPARE_SECONDS = 900.0
PATIENCE_SECONDS = 60.0
"""How much longer than its time a run may take, to begin and to end."""
_SCRIPTS = "usr/share/sysbench"

Option = str | int | float | bool


@dataclass(frozen=True, slots=True)
class SysbenchReport:
    """The report at the end of a run.

    Attributes:
        seconds: Its duration.
        transactions: Events, each a round of the script's statements.
        ignored_errors: Transactions that were rolled back and began again, such as after a deadlock.
        latency_p95, latency_max: Of an event, milliseconds.
    """

    seconds: float
    transactions: int
    ignored_errors: int
    latency_p95: float
    latency_max: float

    @property
    def transactions_per_second(self) -> float:
        """Over the whole run."""
        return self.transactions / self.seconds


def prepare(server: PrivateServer, test: str, *, schema: str = SCHEMA, **options: Option) -> None:
    """Make a test's tables and fill them, in a schema that is created if it is absent.

    Args:
        server: A running one.
        test: A script of sysbench's, such as `oltp_write_only`.
        schema: For the tables.
        options: Such as `table_size` (rows; 10,000 by default), `tables`, `secondary`, `threads` (one a table).
    """
    execute(server, f"CREATE DATABASE IF NOT EXISTS {schema}")
    command, environment = _command(server, test, "prepare", mysql_db=schema, **options)
    finish(f"sysbench {test} prepare", command, PREPARE_SECONDS, environment)


def run(
    server: PrivateServer,
    test: str,
    *,
    threads: int = 1,
    seconds: int = 0,
    events: int = 0,
    schema: str = SCHEMA,
    **options: Option,
) -> SysbenchReport:
    """Put a test's load on the tables of `prepare`.

    Args:
        server: A running one.
        test: A script of sysbench's, such as `oltp_write_only`.
        threads: Connections that work at a time.
        seconds: Its duration; 0 for as long as the events take.
        events: The number of transactions; 0 for as many as there is time for.
        schema: Of the tables.
        options: Such as `table_size`: the rows under load, 10,000 by default.
    """
    bounds: dict[str, Option] = {"threads": threads, "time": seconds, "events": events, **options}
    command, environment = _command(server, test, "run", mysql_db=schema, **bounds)
    limit = (seconds or PREPARE_SECONDS) + PATIENCE_SECONDS
    return _report(finish(f"sysbench {test} run", command, limit, environment))


def running(
    server: PrivateServer, test: str, *, seconds: int, threads: int = 1, schema: str = SCHEMA, **options: Option
) -> AbstractContextManager[None]:
    """Put a test's load on its tables while the context lasts; it must end within ``seconds``.

    Args:
        server: A running one.
        test: A script of sysbench's, such as `oltp_write_only`.
        seconds: After which it ends in any case.
        threads: Connections that work at a time.
        schema: Of the tables.
        options: As of `run`, and `rate`: transactions a second at most.
    """
    command, environment = _command(
        server, test, "run", mysql_db=schema, threads=threads, time=seconds, events=0, **options
    )
    return beside(f"sysbench {test} run", command, environment)


def _report(output: str) -> SysbenchReport:
    def number(pattern: str) -> float:
        match = re.search(rf"^\s*{pattern}:\s+([\d.]+)", output, re.MULTILINE)
        if match is None:
            raise ProgramFailed(f"sysbench's report has no line {pattern!r}:\n{output}")
        return float(match[1])

    return SysbenchReport(
        seconds=number("total time"),
        transactions=int(number("transactions")),
        ignored_errors=int(number("ignored errors")),
        latency_p95=number("95th percentile"),
        latency_max=number("max"),
    )


def _command(server: PrivateServer, test: str, action: str, **options: Option) -> tuple[list[str], dict[str, str]]:
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
        action,
    ], environment


def _text(value: Option) -> str:
    return ("on" if value else "off") if isinstance(value, bool) else str(value)
