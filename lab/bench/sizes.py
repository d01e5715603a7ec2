"""A scrape of a large server beside one of a small server: a full pool of gigabytes, and 10,000 tables.

No statement of the sidecar may walk the pages of the pool.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lab import servers
from lab.bench import rig
from lab.bench.exporters import Cost, Exporter, Meter, put_costs, scrape_in_turn, settle, sidecar
from lab.bench.figures import Benchmark, BenchRun, Figure
from lab.bench.rig import SERVER
from lab.harness.measure import pool_statistic
from lab.harness.workloads import make_table
from lab.packages import cache
from lab.packages.cache import UnavailableHere
from lab.servers import PrivateServer, programs
from lab.servers.sql import execute

SMALL, LARGE, LARGE_SHORT = "256M", "6G", "1G"
PAGES = {"256M": 16_384, "1G": 65_536, "6G": 393_216}
FULL = 0.9
"""Share of a full pool that holds pages: the page cleaner keeps innodb_lru_scan_depth free (1,024 of 16,384)."""
POOL_OPTIONS = {"innodb-doublewrite": "OFF", "innodb-redo-log-capacity": "1G"}
POOL_PERIOD, CATALOGUE_PERIOD = 15.0, 60.0
"""Seconds without a scrape; the catalogue's slowest collectors run once a minute."""
FEW, MANY, MANY_SHORT = 10, 10_000, 2_500
"""Tables; the short form still exceeds table_definition_cache (2,000)."""
SCHEMAS = 10
"""The tables are spread over this many schemas."""
SESSIONS = 2
"""How many sessions create and read the tables at a time."""
CATALOGUE_OPTIONS = {
    "innodb-buffer-pool-size": "512M",
    "innodb-doublewrite": "OFF",
    "innodb-redo-log-capacity": "256M",
    "innodb-fast-shutdown": "0",
    "innodb-stats-auto-recalc": "OFF",
}
_COLUMNS = "(id INT NOT NULL PRIMARY KEY, k INT NOT NULL, filler VARCHAR(100) NOT NULL, KEY k (k))"


@contextlib.contextmanager
def _compared(
    run: BenchRun, small: PrivateServer, large: PrivateServer, seconds: float, *keys: str
) -> Iterator[tuple[tuple[Exporter, Cost], tuple[Exporter, Cost]]]:
    """Watch both servers at the same time: first without a scrape, then with scrapes in turn.

    Puts these keys of a scrape's cost into the run. Yields the sidecar of the large and of the small server, and their
    cost without a scrape.
    """
    with sidecar(small) as of_small, sidecar(large) as of_large:
        settle(of_small, of_large)
        run.say("the sidecar's work between scrapes")
        meters = Meter(small, of_small), Meter(large, of_large)
        time.sleep(seconds)
        idle = [meter.read() for meter in meters]
        put_costs(run, keys, scrape_in_turn(run, (large, of_large), (small, of_small)))
        yield (of_large, idle[1]), (of_small, idle[0])


def measure_pool(run: BenchRun) -> None:
    """A full pool of gigabytes beside a full pool of 256 MiB."""
    pool = LARGE_SHORT if run.short else LARGE
    with (
        _full(SMALL, run) as small,
        _full(pool, run) as large,
        _compared(run, small, large, POOL_PERIOD, "latency", "server") as idle,
    ):
        run.put("period", *(cost["server"] for _, cost in idle))
        run.versions["pool"] = pool


@contextlib.contextmanager
def _full(pool: str, run: BenchRun) -> Iterator[PrivateServer]:
    """A server whose buffer pool is full of a table's pages."""
    run.say(f"filling a pool of {pool}")
    with rig.started(run, {**POOL_OPTIONS, "innodb-buffer-pool-size": pool}) as server:
        execute(server, "ALTER INSTANCE DISABLE INNODB REDO_LOG")
        with server.connect() as connection:
            make_table(connection, "filler", PAGES[pool])
        pages = pool_statistic(server, "DATABASE_PAGES")
        if pages < FULL * PAGES[pool]:
            raise UnavailableHere(f"the pool of {pool} holds only {pages:,.0f} pages")
        yield server


def measure_catalogue(run: BenchRun) -> None:
    """Thousands of tables beside ten."""
    tables = MANY_SHORT if run.short else MANY
    run.say(f"{tables:,} tables (creating them takes minutes; then they are cached)")
    seconds = CATALOGUE_PERIOD / (4 if run.short else 1)
    with (
        _with_tables(FEW, run) as small,
        _with_tables(tables, run) as large,
        _compared(run, small, large, seconds, "latency", "samples") as idle,
    ):
        run.put("period", *(cost["server"] * CATALOGUE_PERIOD / cost["seconds"] for _, cost in idle))
        run.put("period_cpu", *(cost["cpu"] * CATALOGUE_PERIOD / cost["seconds"] for _, cost in idle))
        run.put("rss", *(exporter.memory_mib() for exporter, _ in idle))
        run.versions["tables"] = f"{tables:,}"


@contextlib.contextmanager
def _with_tables(tables: int, run: BenchRun) -> Iterator[PrivateServer]:
    """A server with this many tables, each read once since the start. Raises as `servers.start` does.

    10,000 CREATE TABLE take minutes: the data folder is cached, and the server runs on a copy of it.
    """
    name = f"bench/{tables}-tables-{programs.find(SERVER).version}"
    folder = cache.entry(name, lambda empty: _make_tables(empty / "data", tables))
    with tempfile.TemporaryDirectory(prefix="innodb-advisor-bench-", dir=folder.parent) as copy:
        data = Path(copy) / "data"
        # cp shares what the file system can share, and keeps holes; shutil does neither.
        subprocess.run(["cp", "-a", "--reflink=auto", "--sparse=always", str(folder / "data"), str(data)], check=True)
        with rig.started(run, CATALOGUE_OPTIONS, data) as server:
            _for_each_table(server, tables, "SELECT k FROM {table}")
            yield server


def _make_tables(data: Path, tables: int) -> None:
    with servers.start(SERVER, CATALOGUE_OPTIONS, data) as server:
        schemas = (f"CREATE DATABASE many_{number}" for number in range(SCHEMAS))
        execute(server, *schemas, "ALTER INSTANCE DISABLE INNODB REDO_LOG")
        _for_each_table(
            server,
            tables,
            f"CREATE TABLE {{table}} {_COLUMNS} ENGINE=InnoDB",
            "INSERT INTO {table} VALUES (1, 1, 'x')",
            "ANALYZE TABLE {table}",
        )
        execute(server, "ALTER INSTANCE ENABLE INNODB REDO_LOG")
    shutil.rmtree(data / "#innodb_temp", ignore_errors=True)
    (data / "auto.cnf").unlink(missing_ok=True)


def _for_each_table(server: PrivateServer, tables: int, *statements: str) -> None:
    """Run statements for every table, in several sessions."""

    def work(first: int) -> None:
        with server.connect() as connection, connection.cursor() as cursor:
            for number in range(first, tables, SESSIONS):
                for statement in statements:
                    cursor.execute(statement.format(table=f"many_{number % SCHEMAS}.t{number}"))
                    cursor.fetchall()

    with ThreadPoolExecutor(SESSIONS) as threads:
        list(threads.map(work, range(SESSIONS)))  # raises what one of them raised


_FULL, _SMALL = f"full pool of 6 GiB (short: {LARGE_SHORT[:-1]})", f"a full pool of {SMALL}"
_TABLES, _FEW = f"{MANY:,} tables (short: {MANY_SHORT:,})", f"{FEW} tables"
POOL = Benchmark(
    name="pool",
    title="The size of the buffer pool",
    method=(
        f"Two servers run at the same time, one with a pool of {SMALL}, one of {LARGE} ({LARGE_SHORT} in the short"
        " form). Both pools are full of a table's pages. Each server has its own sidecar; the sidecars are scraped in"
        " turn."
    ),
    figures={
        "latency": Figure(f"{_FULL}: latency of a scrape", "ms", _SMALL, most_ratio=1.2),
        "server": Figure(f"{_FULL}: server time of a scrape", "ms", _SMALL),
        "period": Figure(f"{_FULL}: server time of {POOL_PERIOD:g} s without a scrape", "ms", _SMALL),
    },
    measure=measure_pool,
    seconds=(300.0, 70.0),
)
CATALOGUE = Benchmark(
    name="catalogue",
    title="The number of tables",
    method=(
        f"Two servers run at the same time, one with {FEW} tables, one with {MANY:,} ({MANY_SHORT:,} in the short"
        " form) in ten schemas. Each table has one row, a secondary index and statistics, and was read once since the"
        " server's start. Each server has its own sidecar; the sidecars are scraped in turn."
    ),
    figures={
        "latency": Figure(f"{_TABLES}: latency of a scrape", "ms", _FEW, most_ratio=3.0),
        "samples": Figure(f"{_TABLES}: samples", "", _FEW, most=2000),
        "period": Figure(f"{_TABLES}: server time of a minute without a scrape", "ms", _FEW),
        "period_cpu": Figure(f"{_TABLES}: CPU of the sidecar in such a minute", "ms", _FEW),
        "rss": Figure(f"{_TABLES}: resident memory", "MiB", _FEW),
    },
    measure=measure_catalogue,
    seconds=(300.0, 80.0),
)
