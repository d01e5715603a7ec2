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

from advisor.contract.recommendation import Advice, Frozen
from advisor.ledger.entry import Outcome, Result
from advisor.ledger.settling import LIMIT
from advisor.observe.window import Window
from exporter.snapshot import Snapshot
from lab.harness.campaign import Study, judged
from lab.harness.follow import Following
from lab.harness.measure import CLOCK, Figures, Work, counting, per
from lab.harness.records import Data, NotShown, Part, Say
from lab.harness.watch import judge, reasons, the_rule, watch
from lab.harness.workloads import BackgroundLoad, emptied, look_up_pages, scan
from lab.proofs.harm import WINDOW, graded
from lab.reports.criterion import Criterion, broken
from lab.servers import PrivateServer

OUTCOMES = "outcomes"
"""lab/records/outcomes.json."""
MOST_OFF = 0.2
"""The largest difference between what the ledger measured and what the lab counted, as a share of the count."""
NEARLY_NOTHING = 0.01
"""Share of the reads before: fewer are none, for which no share is a bound."""
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

CountedLoad = tuple[Callable[[], int], Work]
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
    running: Callable[[PrivateServer], AbstractContextManager[CountedLoad]]
    with_batch: bool = False


class OutcomeRecord(Frozen):
    """An outcome of advice that was followed by hand.

    Attributes:
        about: The load in words.
        applied: The statements.
        outcome: As the ledger closed it.
        counted: Pages read before and after, by the lab's count, in the unit of what the ledger measured.
        windows: After so many windows it was closed.
        comparable: Whether the work went on as before.
    """

    about: str
    applied: tuple[str, ...]
    outcome: Outcome
    counted: tuple[float, float]
    windows: float
    comparable: bool

    def __str__(self) -> str:
        return f"{self.outcome.result}, {self.outcome.why}, counted {self.counted}"

    def broken(self) -> Iterator[str]:
        """Bounds that do not hold, in words."""
        outcome, measured = self.outcome, self.outcome.measured
        if not outcome.followed:
            yield "the outcome does not say that the advice was followed"
        if outcome.harm:
            yield f"harm: {outcome.harm}"
        if not self.comparable:
            if outcome.result is not Result.NOT_COMPARABLE:
                yield f"other work began, and the outcome is {outcome.result}"
            return
        if outcome.result is not Result.KEPT or measured is None:
            yield f"the outcome is {outcome.result}: {outcome.why}"
            return
        for what, value, count in zip(
            ("before", "after"), (measured.before, measured.after), self.counted, strict=True
        ):
            most_off = max(MOST_OFF * count, NEARLY_NOTHING * self.counted[0])
            yield from broken([Criterion(f"reads {what}, by the ledger", value, count - most_off, count + most_off)])


@contextmanager
def _scans(server: PrivateServer) -> Iterator[CountedLoad]:
    """Scans of a table that the old sublist does not hold, beside lookups."""
    with emptied(server, {SCANNED: SCANNED_PAGES, HOT: HOT_PAGES, BATCH: BATCH_PAGES}) as connection:
        scan(connection, BATCH)
        with BackgroundLoad(server.connect) as load:
            load.repeat(partial(_look_up, table=HOT, pages=HOT_PAGES, times=LOOKUPS), PAUSE)
            yield _counted(load, partial(scan, table=SCANNED), SCAN_PAUSE)


@contextmanager
def _lookups(server: PrivateServer) -> Iterator[CountedLoad]:
    """Lookups over more pages than the pool has."""
    with emptied(server, {HOT: SPREAD_PAGES}) as connection:
        look_up_pages(connection, HOT, range(SPREAD_PAGES))
        with BackgroundLoad(server.connect) as load:
            yield _counted(load, partial(_look_up, table=HOT, pages=SPREAD_PAGES, times=LOOKUPS), PAUSE / 3)


def _counted(load: BackgroundLoad, work: Callable[[pymysql.Connection[Any]], object], pause: float) -> CountedLoad:
    """Repeat the work that the lab counts."""
    done: list[object] = []
    load.repeat(lambda connection: done.append(work(connection)), pause)
    batch = partial(_look_up, table=BATCH, pages=BATCH_PAGES, times=BATCH_LOOKUPS)
    return lambda: len(done), partial(load.repeat, batch, PAUSE)


def _look_up(connection: pymysql.Connection[Any], table: str, pages: int, times: int) -> None:
    look_up_pages(connection, table, [random.randrange(pages) for _ in range(times)])


def _follow(load: FollowedLoad, server: PrivateServer, say: Say) -> Data:
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
    record = OutcomeRecord(
        about=load.about,
        applied=tuple(following.applied),
        outcome=outcome,
        counted=(per(before, "done")["pages"] * pace, per(after, "done")["pages"] * pace),
        windows=round(((outcome.closed_at or outcome.at) - outcome.at) / WINDOW, 2),
        comparable=not load.with_batch,
    )
    return record.model_dump(mode="json")


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


def study() -> Study:
    """Each load on each server."""
    parts = [
        Part(OUTCOMES, f"{load.name}, {server}", server, OPTIONS[server], partial(_follow, load))
        for load in LOADS
        for server in SERVERS
    ]
    return judged(parts, OutcomeRecord.model_validate)
