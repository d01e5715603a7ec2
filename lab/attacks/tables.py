"""Crowds of tables that come and go, and a server that cuts its sessions again and again."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

import httpx
import pymysql

from lab.attacks import probe
from lab.attacks.attack import Attack, Line, Sidecar, Stage
from lab.bench.exporters import OURS
from lab.processes.service import PLAIN
from lab.processes.usage import anonymous_mib
from lab.servers import Server

TABLES, SHORT_TABLES = 50_000, 300
AT_ONCE = 500
"""Tables that are there at a time."""
CONNECTIONS = 4
MOST_SERIES = 10_000
"""Of /metrics: tables have series for the hundred largest."""
RECONNECTS, SHORT_RECONNECTS = 1_000, 25
CROWDED_MIB = 112.0
"""Anonymous memory beside a crowd: 48, and twice the 32 of a history that is full of other names, counted roughly."""
GROWTH_MIB = 8.0
"""Anonymous memory that the second half of an attack may add to the first."""
SCHEMA = "crowd"


def _crowd(stage: Stage) -> Iterator[Line]:
    count = SHORT_TABLES if stage.short else TABLES
    with stage.sidecar("--interval", "1s") as sidecar:
        before = probe.idle(sidecar, 5.0)
        with probe.probing(sidecar) as measured:
            _come_and_go(stage.server, count)
            mib = _memory(sidecar)
        yield from probe.lines(before, measured.latencies, short=stage.short)
        yield Line("anonymous memory after them", f"≤ {CROWDED_MIB:g} MiB", f"{mib:.1f} MiB", mib <= CROWDED_MIB)
        series, left = _series(sidecar)
        yield Line("series of /metrics", f"≤ {MOST_SERIES:,}", f"{series:,}", series <= MOST_SERIES)
        yield Line("series of tables that are gone", "0", f"{left}", left == 0)


def _come_and_go(server: Server, count: int) -> None:
    """Make tables and drop them, some hundred at a time."""
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE IF NOT EXISTS {SCHEMA}")

    def some(number: int) -> None:
        with server.connect() as connection, connection.cursor() as cursor:
            share = range(number, count, CONNECTIONS)
            for at in range(0, len(share), AT_ONCE // CONNECTIONS):
                names = [f"{SCHEMA}.t{each}" for each in share[at : at + AT_ONCE // CONNECTIONS]]
                for name in names:
                    cursor.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY, n INT, KEY (n)) SELECT 1 AS id, 2 AS n")
                    cursor.execute(f"SELECT COUNT(*) FROM {name} WHERE n + 0 = 2")
                    cursor.fetchall()
                cursor.execute(f"DROP TABLE {', '.join(names)}")

    _side_by_side([lambda number=number: some(number) for number in range(CONNECTIONS)])  # type: ignore[misc]
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE {SCHEMA}")


def _reconnects(stage: Stage) -> Iterator[Line]:
    count = SHORT_RECONNECTS if stage.short else RECONNECTS
    with stage.sidecar("--interval", "1s") as sidecar:
        before = probe.idle(sidecar, 5.0)
        done = _cut(stage.server, sidecar, count // 5)  # what a first reconnection leaves is no growth
        with probe.probing(sidecar) as measured:
            done += _cut(stage.server, sidecar, 2 * count // 5)
            half = _memory(sidecar)
            done += _cut(stage.server, sidecar, 2 * count // 5)
            full = _memory(sidecar)
        yield probe.latency(before, measured.latencies, "/healthz", short=stage.short)
        yield Line("reconnections", f"≥ {count}", f"{done}", done >= count)
        yield from _growth(half, full)


def _cut(server: Server, sidecar: Sidecar, count: int) -> int:
    """End the sidecar's sessions in the server, and wait until it has new ones; how often."""
    done = 0
    with server.connect() as connection, connection.cursor() as cursor:
        until = time.monotonic() + 2.0 * count + 30
        while done < count and time.monotonic() < until:
            cursor.execute("SELECT ID FROM information_schema.PROCESSLIST WHERE USER = %s", (OURS,))
            for (session,) in cursor.fetchall():
                with contextlib.suppress(pymysql.MySQLError):  # it may have gone by itself
                    cursor.execute(f"KILL {session}")
                    done += 1
            httpx.get(f"{sidecar.url}/metrics", timeout=30, **PLAIN)  # it reconnects for a scrape
    return done


def _growth(half: float, full: float) -> Iterator[Line]:
    found = f"{half:.1f} MiB, then {full:.1f} MiB"
    yield Line("anonymous memory after half and all of it", f"+ {GROWTH_MIB:g} MiB", found, full <= half + GROWTH_MIB)


def _memory(sidecar: Sidecar) -> float:
    time.sleep(3.0)  # what is under way ends
    return anonymous_mib(sidecar.pid)


def _series(sidecar: Sidecar) -> tuple[int, int]:
    """How many series there are, and how many are about tables of the crowd."""
    time.sleep(15.0)
    lines = httpx.get(f"{sidecar.url}/metrics", timeout=30, **PLAIN).text.splitlines()
    series = [line for line in lines if line and not line.startswith("#")]
    return len(series), sum(f'schema="{SCHEMA}"' in line for line in series)


def _side_by_side(work: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=each) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


ATTACKS = (
    Attack("crowd-of-tables", "50,000 tables are created, read and dropped", _crowd, (900.0, 60.0)),
    Attack("database-reconnects", "the server ends the sidecar's sessions 1,000 times", _reconnects, (300.0, 30.0)),
)
