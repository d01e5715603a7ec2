"""Crowds: many scrapers, many idle connections, slow clients, and clients that come back again and again."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from lab.attacks import clients, probe
from lab.attacks.attack import Attack, Line, Sidecar, Stage
from lab.processes.usage import anonymous_mib

SECONDS, SHORT_SECONDS = 20.0, 6.0
SCRAPERS, SHORT_SCRAPERS = 500, 200
WAVE_SECONDS = 5.0
"""Between the begins of two waves: a third of Prometheus' usual interval."""
IDLE, SHORT_IDLE = 10_000, 1_500
SLOW = 100
RECONNECTS, SHORT_RECONNECTS = 1_000, 300
MOST_FILES = 600
"""Of the sidecar: 512 connections, and what it has open itself."""
MOST_GROWTH_MIB, MOST_AFTER_CROWD_MIB = 4.0, 8.0
"""A crowd leaves more of the heap free than it gives back at once."""
SCRAPE = clients.request("GET", "/metrics", headers={"Accept-Encoding": "gzip"})


def _scrapers(stage: Stage) -> Iterator[Line]:
    count = SHORT_SCRAPERS if stage.short else SCRAPERS
    with stage.sidecar() as sidecar:
        seconds = SHORT_SECONDS if stage.short else SECONDS
        before = probe.idle(sidecar, seconds)
        statuses: Counter[int | None] = Counter()
        with probe.probing(sidecar) as measured, ThreadPoolExecutor(count) as pool:
            until = time.monotonic() + seconds
            while (wave := time.monotonic()) < until:
                statuses.update(pool.map(lambda n: clients.status(sidecar, SCRAPE, 1 + n % 50), range(count)))
                time.sleep(max(0.0, wave + WAVE_SECONDS - time.monotonic()))
        yield from probe.lines(before, measured.latencies, short=stage.short)
        asked = statuses.total()
        yield Line(
            f"of {asked} scrapes answered, {count} at once", f"{asked}", f"{statuses[200]}", statuses[200] == asked
        )


def _idle(stage: Stage) -> Iterator[Line]:
    count = SHORT_IDLE if stage.short else IDLE
    with stage.sidecar() as sidecar, clients.many_files() as files, contextlib.ExitStack() as opened:
        seconds = SHORT_SECONDS if stage.short else SECONDS
        before, mib = probe.idle(sidecar, seconds), _mib(sidecar)
        with probe.probing(sidecar) as measured:
            for number in range(min(count, files - 200)):
                with contextlib.suppress(OSError):
                    opened.enter_context(clients.connect(sidecar, 1 + number % 1000))
            time.sleep(seconds / 2)
            most = _files(sidecar)
        yield from probe.lines(before, measured.latencies, short=stage.short)
        yield Line(f"files of the sidecar after {count} connections", f"≤ {MOST_FILES}", f"{most}", most <= MOST_FILES)
        opened.close()
        time.sleep(1.0)
        yield _growth("anonymous memory once they are gone", _mib(sidecar) - mib, MOST_AFTER_CROWD_MIB)


def _slow(stage: Stage) -> Iterator[Line]:
    """Half send their headers byte by byte, half never read the answer to many requests."""
    with stage.sidecar() as sidecar, contextlib.ExitStack() as opened:
        seconds = SHORT_SECONDS if stage.short else SECONDS
        before = probe.idle(sidecar, seconds)
        with probe.probing(sidecar) as measured:
            slow: list[socket.socket] = []
            for number in range(SLOW):
                with contextlib.suppress(OSError):
                    connection = opened.enter_context(clients.connect(sidecar, 1 + number % 20))
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                    if number % 2:
                        connection.sendall(clients.request("GET", "/snapshot") * 3)
                    else:
                        slow.append(connection)
            until = time.monotonic() + seconds
            for each in (SCRAPE[n : n + 1] for n in range(len(SCRAPE) - 1)):
                for connection in slow:
                    with contextlib.suppress(OSError):
                        connection.sendall(each)
                time.sleep(0.3)
                if time.monotonic() > until:
                    break
        yield from probe.lines(before, measured.latencies, short=stage.short)


def _reconnects(stage: Stage) -> Iterator[Line]:
    count = SHORT_RECONNECTS if stage.short else RECONNECTS
    with stage.sidecar() as sidecar:
        before = probe.idle(sidecar, SHORT_SECONDS if stage.short else SECONDS)
        for _ in range(100):
            clients.status(sidecar, SCRAPE)
        files, mib = _files(sidecar), _mib(sidecar)
        with probe.probing(sidecar) as measured:
            answered = sum(clients.status(sidecar, SCRAPE) == 200 for _ in range(count))
        yield from probe.lines(before, measured.latencies, short=stage.short)
        yield Line(f"of {count} scrapes over new connections answered", f"{count}", f"{answered}", answered == count)
        time.sleep(1.0)
        more = _files(sidecar) - files
        yield Line("more files of the sidecar afterwards", "≤ 2", f"{more}", more <= 2)
        yield _growth("growth of its anonymous memory", _mib(sidecar) - mib)


def _growth(what: str, mib: float, most: float = MOST_GROWTH_MIB) -> Line:
    return Line(what, f"≤ {most:g} MiB more", f"{mib:+.1f} MiB", mib <= most)


def _files(sidecar: Sidecar) -> int:
    return len(os.listdir(f"/proc/{sidecar.pid}/fd"))  # noqa: PTH208 - a number


def _mib(sidecar: Sidecar) -> float:
    return anonymous_mib(sidecar.pid)


ATTACKS = (
    Attack("scrapers", "scrapes 500 times at once (short: 200), from 50 addresses", _scrapers, (40.0, 15.0)),
    Attack(
        "idle-connections",
        "opens 10,000 connections (short: 1,500) from 1,000 addresses, and is silent",
        _idle,
        (60.0, 20.0),
    ),
    Attack("slow-clients", "sends byte by byte, or never reads the answers", _slow, (50.0, 15.0)),
    Attack("reconnects", "scrapes 1,000 times (short: 300), each over a new connection", _reconnects, (60.0, 20.0)),
)
