"""Settings that are changed without advice: the ledger reports harm in time, and none of ordinary work."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pymysql

from advisor.contract.recommendation import Frozen
from advisor.ledger import words
from advisor.ledger.entry import Outcome, Result
from advisor.ledger.ledger import Ledger
from advisor.ledger.settling import LIMIT
from exporter.collectors.variables import VARIABLES
from exporter.snapshot import Snapshot
from lab.harness.campaign import Study, judged
from lab.harness.records import Data, NotShown, Part, Say
from lab.harness.watch import snapshots
from lab.harness.workloads import SCHEMA, BackgroundLoad, ask, emptied, look_up_pages, scan
from lab.outcomes.followed import OPTIONS, PERIOD, SERVERS
from lab.proofs import harm
from lab.proofs.harm import AFTER, BEFORE, OLD_SUBLIST, UNBUFFERED, WINDOW, HarmfulChange, graded, watch_windows
from lab.proofs.insert_load import BUFFERED, PREPARING, RARELY_MERGED
from lab.proofs.scans import POOL
from lab.reports.criterion import Criterion, broken
from lab.servers import PrivateServer
from lab.servers.sql import execute

CHANGES = "changes"
"""lab/records/changes.json."""
IN_TIME = 3.0 + 2 * harm.PERIOD / WINDOW
"""Windows within which the ledger must report harm: three, and the collections at both ends."""
LEAST_COMPARED = 10
"""Changes without effect whose both sides have to be compared on each server: a silence that was never tried is none"""
WINDOWS = 60
"""Of ordinary work: five hours, where a window has five minutes."""
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


class ChangesRecord(Frozen):
    """Changes under a load, and the harm that the ledger reported.

    Attributes:
        about: The load in words.
        changed: The change, in words or as the statement.
        windows: How long the load was watched.
        changes: How many changes there were.
        compared: Those whose both sides could be compared.
        reported_after: Windows from a harmful change to the report of its harm; None where there is no harm.
        harm: The reported harm.
    """

    about: str
    changed: str
    windows: int
    changes: int
    compared: int
    reported_after: float | None
    harm: tuple[str, ...]

    def __str__(self) -> str:
        harm = "no harm" if self.reported_after is None else f"harm reported after {self.reported_after} windows"
        return f"{harm} of {self.changes} changes, {self.compared} compared"

    def broken(self) -> Iterator[str]:
        """Bounds that do not hold, in words."""
        if self.reported_after is not None:
            if not self.harm:
                yield "no harm is reported"
            yield from broken([Criterion("windows until harm is reported", self.reported_after, most=IN_TIME)])
        elif self.harm:
            yield f"harm is reported, though the changes have no effect: {self.harm}"
        else:
            compared = Criterion("changes that could be compared", self.compared, LEAST_COMPARED, cases=self.changes)
            yield from broken([compared])


def _change(change: HarmfulChange, server: PrivateServer, say: Say) -> Data:
    """Change a setting that does harm under its load."""
    with change.load(server) as (settle, _):
        settle()
        say("before the change")
        before, _ = watch_windows(server, change.table, BEFORE)
        say(change.statement)
        execute(server, change.statement)
        after, _ = watch_windows(server, change.table, AFTER)
    outcome, certain = graded((*before, *after))
    if certain is None:
        raise NotShown(f"no harm was reported: {outcome.result}, {outcome.why}")
    record = ChangesRecord(
        about=f"{change.condition}.",
        changed=change.statement,
        windows=BEFORE + AFTER,
        changes=1,
        compared=1,
        reported_after=round(certain, 2),
        harm=tuple(map(words.rise, outcome.harm)),
    )
    return record.model_dump(mode="json")


class WorkingDay:
    """The time of day of ordinary work, as a share of the whole."""

    def __init__(self, seconds: float) -> None:
        self._began, self._seconds = time.monotonic(), seconds
        chance = random.Random(seconds)
        begins = [chance.random() for _ in range(_BURSTS)]
        self._bursts = [(begin, begin + chance.uniform(0.2, 4.0) / WINDOWS) for begin in begins]

    @property
    def now(self) -> float:
        """The share of the day that is over."""
        return (time.monotonic() - self._began) / self._seconds

    @property
    def pace(self) -> float:
        """How much is asked for, by day and night and in bursts; 1 at most without a burst."""
        now = self.now
        burst = 4.0 if any(begin <= now < end for begin, end in self._bursts) else 1.0
        return burst * (0.6 + 0.4 * math.sin(2.0 * math.pi * now))

    @property
    def backup(self) -> bool:
        """Whether a backup reads all tables."""
        return any(begin <= self.now < end for begin, end in _BACKUPS)


def _look_up(connection: pymysql.Connection[Any], day: WorkingDay) -> None:
    """Pages around a hot one that moves through a fifth of the table, the nearer the more often."""
    pages, hot = PAGES[ITEMS], round(day.now * PAGES[ITEMS] / 5)
    look_up_pages(connection, ITEMS, [(hot + int(pages * random.random() ** 3)) % pages for _ in range(_LOOKUPS)])
    time.sleep(_PAUSE / day.pace)


def _report(connection: pymysql.Connection[Any], day: WorkingDay) -> None:
    time.sleep(random.expovariate(1.0) * WINDOW / 4 / day.pace)
    first, rows = random.randrange(PAGES[ORDERS] * 4), random.randrange(200, 4_000)
    ask(connection, f"SELECT SUM(LENGTH(filler)) FROM {SCHEMA}.{ORDERS} WHERE id BETWEEN {first} AND {first + rows}")


def _write(connection: pymysql.Connection[Any], day: WorkingDay) -> None:
    ask(connection, f"INSERT INTO {SCHEMA}.{LOG} (filler) VALUES " + ", ".join(["(REPEAT('y', 900))"] * 8))
    row = random.randrange(PAGES[ORDERS] * 8)
    ask(connection, f"UPDATE {SCHEMA}.{ORDERS} SET filler = CONCAT('z', SUBSTR(filler, 2)) WHERE id = {row}")
    time.sleep(0.2 / day.pace)


def _back_up(connection: pymysql.Connection[Any], day: WorkingDay) -> None:
    if day.backup:
        for table in PAGES:
            scan(connection, table)
    time.sleep(0.5)


def _ordinary(server: PrivateServer, say: Say) -> Data:
    """Record ordinary work for hours, and put changes without effect into the recording.

    The recording is replayed once for each window between two changes, so that a change comes in each window.
    """
    say("hours of ordinary work")
    seconds = WINDOWS * WINDOW
    with emptied(server, PAGES) as connection, BackgroundLoad(server.connect) as load:
        scan(connection, ITEMS)
        day = WorkingDay(seconds)
        for work in (_look_up, _look_up, _report, _write, _back_up):
            load.repeat(partial(work, day=day), 0.0)
        history = snapshots(server, partial(time.sleep, PERIOD), round(seconds / PERIOD))
    say("changes without effect")
    outcomes: list[Outcome] = []
    harms: dict[str, str] = {}
    for shift in range(LIMIT):
        ledger, altered = Ledger(window_seconds=WINDOW), _with_placebos(history, shift)
        for end, latest in enumerate(altered[1:], start=2):
            recent = [snapshot for snapshot in altered[:end] if snapshot.at >= latest.at - _HISTORY * WINDOW]
            ledger, news = ledger.observe(recent, None)
            harms |= {new.id: f"{new.id}: {new.harm}" for new in news if isinstance(new, Outcome) and new.harm}
        outcomes += ledger.outcomes.values()
    record = ChangesRecord(
        about=ABOUT,
        changed=f"{PLACEBO} in the recording, not on the server",
        windows=WINDOWS,
        changes=len(outcomes),
        compared=sum(outcome.result not in (Result.OPEN, Result.NOT_COMPARABLE) for outcome in outcomes),
        reported_after=None,
        harm=tuple(harms.values()),
    )
    return record.model_dump(mode="json")


def _with_placebos(history: Sequence[Snapshot], shift: int) -> list[Snapshot]:
    """A change after so many windows more than those before any, and then one after each LIMIT windows."""
    sections: dict[int, dict[str, str]] = {}
    altered = []
    for snapshot in history:
        windows = (snapshot.at - history[0].at) / WINDOW - BEFORE - shift
        number = max(0, 1 + math.floor(windows / LIMIT))
        variables = snapshot[VARIABLES] or {}
        section = sections.setdefault(number, {**variables, PLACEBO: str(200 + number)})
        altered.append(snapshot.with_section(VARIABLES, section))
    return altered


def study() -> Study:
    """All changes, on their servers."""
    buffering = PREPARING | RARELY_MERGED | BUFFERED

    def part(name: str, server: str, options: Mapping[str, str], run: Callable[[PrivateServer, Say], Data]) -> Part:
        return Part(CHANGES, f"{name}, {server}", server, options, run)

    parts = [
        *(part(OLD_SUBLIST.setting, server, POOL, partial(_change, OLD_SUBLIST)) for server in SERVERS),
        part(UNBUFFERED.setting, "mysql-9.7", buffering, partial(_change, UNBUFFERED)),
        *(part("ordinary work", server, OPTIONS[server], _ordinary) for server in SERVERS),
    ]
    return judged(parts, ChangesRecord.model_validate)
