"""Advice that is followed by hand under load, while the ledger watches and the lab counts."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import pymysql

from advisor.contract.recommendation import Advice
from advisor.ledger.entry import Result
from advisor.ledger.settling import LIMIT
from advisor.observe.window import Window
from exporter.snapshot import Snapshot
from lab.harness.follow import Following
from lab.harness.measure import CLOCK, Figures, Work, counting, per
from lab.harness.records import Data, NotShown, Part
from lab.harness.watch import judge, reasons, the_rule, watch
from lab.harness.workloads import BackgroundLoad, emptied, look_up_pages, scan
from lab.outcomes.record import OUTCOMES, OutcomeRecord
from lab.proofs.harm import WINDOW, graded
from lab.servers import PrivateServer

SERVERS = ("mysql-9.7", "mariadb-11.8")
SCANNED, HOT, BATCH = "orders", "items", "archive"
SCANNED_PAGES, HOT_PAGES, SPREAD_PAGES, BATCH_PAGES = 2_700, 600, 5_000, 4_000
LOOKUPS, BATCH_LOOKUPS = 300, 500
PAUSE, SCAN_PAUSE = 0.3, 1.5
_POOL = {"innodb-buffer-pool-size": "64M", "innodb-lru-scan-depth": "100"}
OPTIONS = {
    "mysql-9.7": _POOL | {"innodb-buffer-pool-chunk-size": "8M"},
    "mariadb-11.8": _POOL | {"performance-schema": "ON", "innodb-buffer-pool-size-max": "256M"},
}
PERIOD = 0.5
"""Seconds between two collections."""
WARM_UP, BEFORE, SETTLING, AFTER = 2, 5, 2, 4
"""Windows: of the load alone, watched before the change, and after it until the lab counts and while it does."""

RunningLoad = tuple[Callable[[], int], Work]
"""What says how many pieces of work are done; and what begins a batch job that reads another table."""


@dataclass(frozen=True)
class FollowedLoad:
    """A load, and the rule whose advice on it is followed.

    Attributes:
        name: In the record.
        about: The load in words.
        rule: The rule's id.
        per_work: Whether the promise is for one piece of work, and not for a second.
        running: Runs it.
        with_batch: Whether a batch job begins when the advice is followed.
    """

    name: str
    about: str
    rule: str
    per_work: bool
    running: Callable[[PrivateServer], AbstractContextManager[RunningLoad]]
    with_batch: bool = False

    def parts(self) -> list[Part]:
        """One for each server."""
        return [Part(OUTCOMES, f"{self.name}, {server}", server, OPTIONS[server], self._run) for server in SERVERS]

    def _run(self, server: PrivateServer, say: Callable[[str], None]) -> Data:
        return _follow(self, server, say).model_dump(mode="json")


@contextmanager
def _scans(server: PrivateServer) -> Iterator[RunningLoad]:
    """Scans of a table that the old sublist does not hold, beside lookups."""
    with emptied(server, {SCANNED: SCANNED_PAGES, HOT: HOT_PAGES, BATCH: BATCH_PAGES}) as connection:
        scan(connection, BATCH)
        with BackgroundLoad(server.connect) as load:
            load.repeat(partial(_look_up, table=HOT, pages=HOT_PAGES, times=LOOKUPS), PAUSE)
            yield _counted(load, partial(scan, table=SCANNED), SCAN_PAUSE)


@contextmanager
def _lookups(server: PrivateServer) -> Iterator[RunningLoad]:
    """Lookups over more pages than the pool has."""
    with emptied(server, {HOT: SPREAD_PAGES}) as connection:
        look_up_pages(connection, HOT, range(SPREAD_PAGES))
        with BackgroundLoad(server.connect) as load:
            yield _counted(load, partial(_look_up, table=HOT, pages=SPREAD_PAGES, times=LOOKUPS), PAUSE / 3)


def _counted(load: BackgroundLoad, work: Callable[[pymysql.Connection[Any]], object], pause: float) -> RunningLoad:
    """Repeat the work that the lab counts."""
    done: list[object] = []
    load.repeat(lambda connection: done.append(work(connection)), pause)
    batch = partial(_look_up, table=BATCH, pages=BATCH_PAGES, times=BATCH_LOOKUPS)
    return lambda: len(done), partial(load.repeat, batch, PAUSE)


def _look_up(connection: pymysql.Connection[Any], table: str, pages: int, times: int) -> None:
    look_up_pages(connection, table, [random.randrange(pages) for _ in range(times)])


def _follow(load: FollowedLoad, server: PrivateServer, say: Callable[[str], None]) -> OutcomeRecord:
    """Watch a load, follow the advice by hand, and watch what becomes of it.

    Raises:
        NotShown: The rule does not fire, or the outcome stays open.
    """
    say("its tables are made")
    history: list[Snapshot] = []
    with load.running(server) as (done, begin_batch):
        # By the server's status: the sidecar reads another table.
        counters = CLOCK | counting(pages="Innodb_pages_read") | {"done": lambda _: done()}

        def watched(windows: int) -> Figures:
            periods = round(windows * WINDOW / PERIOD)
            seen, figures = watch(server, partial(time.sleep, PERIOD), periods, counters=counters)
            history.extend(seen)
            return figures

        say("the load begins")
        time.sleep(WARM_UP * WINDOW)
        say("before the change")
        before = watched(BEFORE)
        advice = _advice(load, history)
        say("the advice is followed")
        advised, following = len(history), Following(server)
        following.follow(advice.recommendations[0].changes)
        if load.with_batch:
            begin_batch()
        watched(SETTLING)
        after = watched(AFTER)
        outcome, windows = graded(history, advice, advised)[0], SETTLING + AFTER
        while outcome.result is Result.OPEN and windows <= LIMIT:
            say("the outcome is open")
            watched(1)
            outcome, windows = graded(history, advice, advised)[0], windows + 1
    if outcome.result is Result.OPEN:
        raise NotShown(f"the outcome is open: {outcome.why}")
    pace = 1.0 if load.per_work else per(before, "clock")["done"]
    return OutcomeRecord(
        about=load.about,
        applied=tuple(following.applied),
        outcome=outcome,
        counted=(per(before, "done")["pages"] * pace, per(after, "done")["pages"] * pace),
        windows=round(((outcome.closed_at or outcome.at) - outcome.at) / WINDOW, 2),
        comparable=not load.with_batch,
    )


def _advice(load: FollowedLoad, history: Sequence[Snapshot]) -> Advice:
    rule, window = the_rule(load.rule), Window.of(history, float("inf"))
    advice = judge(window, [rule])
    if len(advice.recommendations) != 1:
        raise NotShown(f"{rule.id} fires {len(advice.recommendations)} times: {reasons(rule, window)}")
    return advice


_ABOUT_SCANS = f"A table of {SCANNED_PAGES:,} pages is scanned all the time, beside lookups in {HOT_PAGES} pages"
LOADS = (
    FollowedLoad("scans", f"{_ABOUT_SCANS}.", "scan-exceeds-old-sublist", per_work=True, running=_scans),
    FollowedLoad(
        "lookups",
        f"Rows on {SPREAD_PAGES:,} pages are looked up, all alike, in a pool of 4,096.",
        "buffer-pool-too-small",
        per_work=False,
        running=_lookups,
    ),
    FollowedLoad(
        "scans and a batch job",
        f"{_ABOUT_SCANS}. When the advice is followed, a batch job begins to look up rows on {BATCH_PAGES:,} other"
        " pages.",
        "scan-exceeds-old-sublist",
        per_work=True,
        running=_scans,
        with_batch=True,
    ),
)
