"""Loads whose advice is followed by hand, on real servers."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import pymysql

from lab.harness.workloads import Load, emptied, look_up_pages, scan
from lab.servers import Server

SERVERS = ("mysql-9.7", "mariadb-11.8")
SCANNED, HOT, BATCH = "orders", "items", "archive"
SCANNED_PAGES, HOT_PAGES, SPREAD_PAGES, BATCH_PAGES = 2_700, 600, 5_000, 4_000
LOOKUPS, BATCH_LOOKUPS = 300, 500
PAUSE, SCAN_PAUSE = 0.3, 1.5
_POOL = {"innodb-buffer-pool-size": "64M", "innodb-lru-scan-depth": "100"}
OPTIONS: Mapping[str, Mapping[str, str]] = {
    "mysql-9.7": _POOL | {"innodb-buffer-pool-chunk-size": "8M"},
    "mariadb-11.8": _POOL | {"performance-schema": "ON", "innodb-buffer-pool-size-max": "256M"},
}

Client = Callable[["pymysql.Connection[Any]"], None]


class Count:
    """How often clients did their work: the lab's own count."""

    def __init__(self) -> None:
        self.done = 0
        self._lock = threading.Lock()

    def counted(self, work: Client) -> Client:
        """The work, counted once it is done."""

        def run(connection: pymysql.Connection[Any]) -> None:
            work(connection)
            with self._lock:
                self.done += 1

        return run


@dataclass(frozen=True)
class Playing:
    """A load that runs.

    Attributes:
        count: Pieces of work, of which a finding promises the reads.
        batch: Begins a job that reads another table.
    """

    count: Count
    batch: Callable[[], None]


@dataclass(frozen=True)
class Workload:
    """A load, and the rule whose advice on it is followed.

    Attributes:
        name: In the record.
        about: The load in words.
        rule: The rule's id.
        work: What the lab counts.
        per_work: Whether the promise is for one piece of work, and not for a second.
        play: Runs it.
        with_batch: Whether a batch job begins when the advice is followed.
    """

    name: str
    about: str
    rule: str
    work: str
    per_work: bool
    play: Callable[[Server], Any]
    with_batch: bool = False


@contextmanager
def scans(server: Server) -> Iterator[Playing]:
    """Scans of a table that the old sublist does not hold, beside lookups."""
    with emptied(server, {SCANNED: SCANNED_PAGES, HOT: HOT_PAGES, BATCH: BATCH_PAGES}) as connection:
        scan(connection, BATCH)
        count = Count()
        with Load(server.connect) as load:
            load.repeat(count.counted(partial(scan, table=SCANNED)), SCAN_PAUSE)
            load.repeat(partial(_look_up, table=HOT, pages=HOT_PAGES, times=LOOKUPS), PAUSE)
            yield Playing(count, partial(_begin_batch, load))


@contextmanager
def lookups(server: Server) -> Iterator[Playing]:
    """Lookups over more pages than the pool has."""
    with emptied(server, {HOT: SPREAD_PAGES}) as connection:
        look_up_pages(connection, HOT, range(SPREAD_PAGES))
        count = Count()
        with Load(server.connect) as load:
            load.repeat(count.counted(partial(_look_up, table=HOT, pages=SPREAD_PAGES, times=LOOKUPS)), PAUSE / 3)
            yield Playing(count, partial(_begin_batch, load))


def _begin_batch(load: Load) -> None:
    load.repeat(partial(_look_up, table=BATCH, pages=BATCH_PAGES, times=BATCH_LOOKUPS), PAUSE)


def _look_up(connection: pymysql.Connection[Any], table: str, pages: int, times: int) -> None:
    look_up_pages(connection, table, [random.randrange(pages) for _ in range(times)])


_SCANS = f"A table of {SCANNED_PAGES:,} pages is scanned all the time, beside lookups in {HOT_PAGES} pages"
WORKLOADS = (
    Workload("scans", f"{_SCANS}.", "scan-exceeds-old-sublist", "scans", True, scans),
    Workload(
        "lookups",
        f"Rows on {SPREAD_PAGES:,} pages are looked up, all alike, in a pool of 4,096.",
        "buffer-pool-too-small",
        f"{LOOKUPS} lookups",
        False,
        lookups,
    ),
    Workload(
        "scans and a batch job",
        f"{_SCANS}. When the advice is followed, a batch job begins to look up rows on {BATCH_PAGES:,} other pages.",
        "scan-exceeds-old-sublist",
        "scans",
        True,
        scans,
        with_batch=True,
    ),
)
