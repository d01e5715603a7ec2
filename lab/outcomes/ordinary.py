"""Ordinary work for hours, in short windows, and changes without effect that are put into its recording."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import pymysql

from advisor.ledger.entry import Outcome, Result
from advisor.ledger.ledger import Ledger
from advisor.ledger.settling import LIMIT
from exporter.collectors.variables import VARIABLES
from exporter.snapshot import Snapshot
from lab.harness.watch import snapshots
from lab.harness.workloads import SCHEMA, Load, emptied, look_up_pages, scan
from lab.outcomes.trial import BEFORE, PERIOD, WINDOW
from lab.servers import Server

WINDOWS = 60
"""Five hours, where a window has five minutes."""
PLACEBO = "innodb_io_capacity"
"""The setting that changes in the recording, though it did not change on the server."""
ITEMS, ORDERS, ARCHIVE, LOG = "items", "orders", "archive", "log"
PAGES = {ITEMS: 5_000, ORDERS: 1_200, ARCHIVE: 3_000, LOG: 100}
ABOUT = (
    f"{PAGES[ITEMS]:,} pages whose hot part drifts are looked up, in a pool of 4,096. The rate swings as by day and"
    " night, with bursts of four times as many lookups. Rows are written, reports read ranges, and a backup reads all"
    " tables twice."
)
_LOOKUPS, _PAUSE = 150, 0.25
_BURSTS, _BACKUPS = 12, ((0.25, 0.32), (0.7, 0.77))
_HISTORY = 2 * LIMIT + 1
"""Windows of the sidecar's history. One of an hour has fewer, so that this asks more of the ledger."""


class _Day:
    """The time of day of a load, as a share of the whole."""

    def __init__(self, seconds: float) -> None:
        self._began, self._seconds = time.monotonic(), seconds
        chance = random.Random(seconds)
        begins = [chance.random() for _ in range(_BURSTS)]
        self._bursts = [(each, each + chance.uniform(0.2, 4.0) / WINDOWS) for each in begins]

    @property
    def now(self) -> float:
        return (time.monotonic() - self._began) / self._seconds

    @property
    def pace(self) -> float:
        """How much is asked for, by day and night and in bursts; 1 at most without a burst."""
        now = self.now
        burst = 4.0 if any(begin <= now < end for begin, end in self._bursts) else 1.0
        return burst * (0.6 + 0.4 * math.sin(2.0 * math.pi * now))

    @property
    def backup(self) -> bool:
        return any(begin <= self.now < end for begin, end in _BACKUPS)


@contextmanager
def play(server: Server, seconds: float) -> Iterator[None]:
    """The work, for so many seconds."""
    with emptied(server, PAGES) as connection, Load(server.connect) as load:
        scan(connection, ITEMS)
        day = _Day(seconds)
        for work in (_look_up, _look_up, _report, _write, _back_up):
            load.repeat(partial(work, day=day), 0.0)
        yield


def _look_up(connection: pymysql.Connection[Any], day: _Day) -> None:
    """Pages around a hot one that moves through a fifth of the table, the nearer the more often."""
    pages, hot = PAGES[ITEMS], round(day.now * PAGES[ITEMS] / 5)
    look_up_pages(connection, ITEMS, [(hot + int(pages * random.random() ** 3)) % pages for _ in range(_LOOKUPS)])
    time.sleep(_PAUSE / day.pace)


def _report(connection: pymysql.Connection[Any], day: _Day) -> None:
    time.sleep(random.expovariate(1.0) * WINDOW / 4 / day.pace)
    first, rows = random.randrange(PAGES[ORDERS] * 4), random.randrange(200, 4_000)
    _ask(connection, f"SELECT SUM(LENGTH(filler)) FROM {SCHEMA}.{ORDERS} WHERE id BETWEEN {first} AND {first + rows}")


def _write(connection: pymysql.Connection[Any], day: _Day) -> None:
    _ask(connection, f"INSERT INTO {SCHEMA}.{LOG} (filler) VALUES " + ", ".join(["(REPEAT('y', 900))"] * 8))
    row = random.randrange(PAGES[ORDERS] * 8)
    _ask(connection, f"UPDATE {SCHEMA}.{ORDERS} SET filler = CONCAT('z', SUBSTR(filler, 2)) WHERE id = {row}")
    time.sleep(0.2 / day.pace)


def _back_up(connection: pymysql.Connection[Any], day: _Day) -> None:
    if day.backup:
        for table in PAGES:
            scan(connection, table)
    time.sleep(0.5)


def _ask(connection: pymysql.Connection[Any], sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        cursor.fetchall()


def record(server: Server) -> tuple[Snapshot, ...]:
    """Snapshots of the whole work."""
    seconds = WINDOWS * WINDOW
    with play(server, seconds):
        return snapshots(server, partial(time.sleep, PERIOD), round(seconds / PERIOD))


@dataclass(frozen=True)
class Replayed:
    """What the ledger said of changes without effect.

    Attributes:
        changes: How many were put into the recording.
        compared: Those whose both sides were compared; the others were not comparable.
        told: Harm that it told of, in words.
    """

    changes: int
    compared: int
    told: tuple[str, ...]


def replayed(history: Sequence[Snapshot]) -> Replayed:
    """Replay a recording once for each window between two changes, so that one comes in each window of the work."""
    found, told = list[Outcome](), list[Outcome]()
    for shift in range(LIMIT):
        ledger = Ledger(window_seconds=WINDOW)
        altered = _with_placebos(history, shift)
        for end, latest in enumerate(altered[1:], start=2):
            recent = [each for each in altered[:end] if each.at >= latest.at - _HISTORY * WINDOW]
            ledger, new = ledger.observe(recent, None)
            told += [each for each in new if isinstance(each, Outcome) and each.harm]
        found += ledger.outcomes.values()
    closed = [each for each in found if each.result is not Result.OPEN]
    return Replayed(
        len(found),
        sum(each.result is not Result.NOT_COMPARABLE for each in closed),
        tuple(f"{each.id}: {each.harm}" for each in {each.id: each for each in told}.values()),
    )


def _with_placebos(history: Sequence[Snapshot], shift: int) -> list[Snapshot]:
    """A change after so many windows more than BEFORE, and then one after each LIMIT windows."""
    sections: dict[int, dict[str, str]] = {}
    altered = []
    for each in history:
        windows = (each.at - history[0].at) / WINDOW - BEFORE - shift
        number = max(0, 1 + math.floor(windows / LIMIT))
        known = each[VARIABLES] or {}
        variables = sections.setdefault(number, {**known, PLACEBO: str(200 + number)})
        altered.append(each.with_section(VARIABLES, variables))
    return altered
