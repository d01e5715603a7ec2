"""Proofs of change-did-harm: a setting is changed by hand, and the ledger compares both sides with short windows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial

from advisor.advice.remembered import Remembered
from advisor.ledger.entry import Outcome, Result
from advisor.ledger.ledger import Ledger
from exporter.snapshot import Snapshot
from lab.captures.scenarios.change_buffer import EVENTS, INDEXES
from lab.captures.scenarios.changes import (
    HOT,
    HOT_PAGES,
    SCAN_PAUSE,
    SCANNED_PAGES,
    scans_beside_a_hot_set,
)
from lab.harness.measure import pages_read
from lab.harness.records import Data, NotShown
from lab.harness.watch import snapshots
from lab.harness.workloads import SCHEMA, Load, insert_rows
from lab.proofs import insert_load
from lab.proofs.base import CounterProof, Proof
from lab.proofs.insert_load import BUFFERED, PREPARING, RARELY_MERGED
from lab.proofs.record import Comparison, CounterProofRecord, EvidenceCheck
from lab.proofs.scans import POOL
from lab.proofs.trial import Trial
from lab.servers import Server
from lab.servers.sql import execute, query_number

RULE = "change-did-harm"
ROWS, ROW_PAUSE = 40, 0.1
WINDOW = 8.0
"""Seconds of a window that counts as one, in place of five minutes: the work of a lab is steady within seconds."""
PERIOD = 0.8
"""Seconds between two collections: two for each slice of a window."""
BEFORE, AFTER, BACK = 5, 5, 3
"""Windows before the change, after it, and after it is taken back."""
ALTERED = f"Windows of {WINDOW:g} s count in place of five minutes: the load is steady within seconds."
_MOST_ROUNDS = 6
_STILL = 0.01
"""Share of the hot set: where fewer pages of it are read while it is made young, it is."""
_READS = (
    "SELECT SUM(COUNT_READ) FROM performance_schema.file_summary_by_instance"
    f" WHERE FILE_NAME LIKE '%%/{SCHEMA}/{{}}.ibd'"
)
_ROWS = (
    "SELECT SUM(COUNT_STAR) FROM performance_schema.table_io_waits_summary_by_table"
    f" WHERE OBJECT_SCHEMA = '{SCHEMA}' AND OBJECT_NAME = '{{}}'"
)
_PCT, _BUFFERING = "innodb_old_blocks_pct", "innodb_change_buffering"


@dataclass(frozen=True)
class Running:
    """A load that runs.

    Attributes:
        settle: Bring the pool into the state that it has under the load and the settings of now.
        add: Begin more work.
    """

    settle: Callable[[], None]
    add: Callable[[], None]


@dataclass(frozen=True)
class Harmful:
    """A change that does harm.

    Attributes:
        setting, before, after: The change.
        table: Whose reads rise.
        load: Runs the load on a server.
        condition: The load, in words.
    """

    setting: str
    before: str
    after: str
    table: str
    load: Callable[[Server], AbstractContextManager[Running]]
    condition: str


@dataclass(frozen=True)
class Side:
    """What was watched on one side of a change.

    Attributes:
        history: Snapshots.
        all_reads, reads: Pages that everything, and the table, read a second meanwhile, as the lab counted them.
        rows: Of the table that were asked for a second.
    """

    history: tuple[Snapshot, ...]
    all_reads: float
    reads: float
    rows: float

    def reads_at_work_of(self, other: Side) -> float:
        """Pages that the table would read a second if it did the work of the other side: clients wait for each read."""
        return self.reads * other.rows / self.rows


@contextmanager
def _lookups_and_scans(server: Server) -> Iterator[Running]:
    """Lookups in a hot set that fits the young sublist, and scans larger than the pool; more lookups are of these."""
    with scans_beside_a_hot_set(server) as (promote, more):

        def settle() -> None:
            """Make the hot set young, again and again: on some servers scans still evict a part of it at first."""
            for _ in range(_MOST_ROUNDS):
                before = query_number(server, _READS.format(HOT))
                promote()
                if query_number(server, _READS.format(HOT)) - before < _STILL * HOT_PAGES:
                    return

        yield Running(settle, more)


@contextmanager
def insertions(server: Server) -> Iterator[Running]:
    """Rows with random keys for secondary indexes that are larger than the pool; there is nothing more to do."""
    insert_load.prepare(server)
    with Load(server.connect) as load:
        work = partial(insert_rows, table=EVENTS, rows=ROWS, indexes=INDEXES, read_back=False, seed=None)
        load.repeat(work, ROW_PAUSE)
        yield Running(partial(time.sleep, WINDOW), lambda: None)


OLD_SUBLIST = Harmful(
    _PCT,
    "37",
    "95",
    HOT,
    _lookups_and_scans,
    f"Rows on {HOT_PAGES:,} pages are looked up again and again, and a table of {SCANNED_PAGES:,} pages, more than the"
    f" pool has, is scanned every {SCAN_PAUSE:g} s",
)
UNBUFFERED = Harmful(
    _BUFFERING,
    "'all'",
    "'none'",
    EVENTS,
    insertions,
    f"Rows are inserted into {insert_load.ROWS:,} rows with {INDEXES} secondary indexes on random keys, larger than the"
    " pool",
)


def watch(server: Server, table: str, windows: int) -> Side:
    """Watch so many windows."""

    def counts() -> tuple[float, ...]:
        of_table = (query_number(server, counter.format(table)) for counter in (_READS, _ROWS))
        return time.monotonic(), pages_read(server), *of_table

    began = counts()
    history = snapshots(server, partial(time.sleep, PERIOD), round(windows * WINDOW / PERIOD))
    seconds, *amounts = (after - before for after, before in zip(counts(), began, strict=True))
    return Side(history, *(each / seconds for each in amounts))


def graded(history: Sequence[Snapshot]) -> tuple[Outcome, float | None]:
    """The outcome of the only change in a history, and windows after which it was certain that it did harm.

    Raises:
        NotShown: There is no outcome, or there are several.
    """
    ledger, certain = Ledger(window_seconds=WINDOW), None
    for count in range(2, len(history) + 1):
        ledger, _ = ledger.observe(history[:count], None)
        for each in ledger.outcomes.values():
            if certain is None and each.harm:
                certain = (history[count - 1].at - each.at) / WINDOW
    if len(ledger.outcomes) != 1:
        raise NotShown(f"a change has {len(ledger.outcomes)} outcomes")
    return next(iter(ledger.outcomes.values())), certain


def harmful(trial: Trial) -> Data:
    """Somebody changes a setting by hand, and others read more; the rule takes it back."""
    server = trial.server
    change = UNBUFFERED if server.name == "mariadb-10.11" else OLD_SUBLIST
    statement = f"SET GLOBAL {change.setting} = {change.after}"
    with change.load(server) as load:
        trial.say("the load begins")
        load.settle()
        before = watch(server, change.table, BEFORE)
        trial.say(statement)
        execute(server, statement)
        after = watch(server, change.table, AFTER)
        outcome, certain = graded((*before.history, *after.history))
        trial.remembered = Remembered(outcomes=(outcome,))
        found = trial.fires(after.history, setting=change.setting)
        trial.follow()
        load.settle()
        back = watch(server, change.table, BACK)
        trial.silent(back.history)
        trial.take_back()
    if certain is None:
        raise NotShown("the harm was never certain")
    reads, reads_back = (side.reads_at_work_of(before) for side in (after, back))
    return trial.proved(
        condition=f"{change.condition}. Then somebody executes {statement}.",
        altered=ALTERED,
        facts=(
            EvidenceCheck(
                name="pages read a second since the change, by the same work",
                said=trial.evidence("after"),
                known=reads,
                within=0.2,
            ),
            EvidenceCheck(
                name="pages read a second more than before it, by the same work",
                said=trial.evidence("after") - trial.evidence("before"),
                known=reads - before.reads,
                within=0.2,
            ),
        ),
        effects=[trial.effect(reads, reads_back)],
        measures=(
            Comparison(
                what="pages read by everything",
                unit="pages per second",
                before=after.all_reads,
                after=back.all_reads,
            ),
        ),
        notes=f"Certain {certain:.1f} windows after the change: {found.summary}.",
    )


def other_work(trial: Trial) -> CounterProofRecord:
    """The setting is mended, and in the same minute more work begins: more is read than before."""
    server, change = trial.server, OLD_SUBLIST
    mend, spoil = (f"SET GLOBAL {change.setting} = {value}" for value in (change.before, change.after))
    with change.load(server) as load:
        load.settle()
        before = watch(server, change.table, BEFORE)
        execute(server, mend)
        load.settle()
        load.add()
        after = watch(server, change.table, AFTER)
        if after.all_reads <= before.all_reads:
            raise NotShown(f"folklore is silent too: {before.all_reads:.0f}, then {after.all_reads:.0f} pages a second")
        outcome, _ = graded((*before.history, *after.history))
        trial.remembered = Remembered(outcomes=(outcome,))
        trial.silent(after.history)
        if outcome.result not in (Result.OPEN, Result.NOT_COMPARABLE):
            raise NotShown(f"the other work was not seen: {outcome.result}")
        execute(server, spoil)
        load.settle()
        followed = watch(server, change.table, BACK)
    return CounterProofRecord(
        folklore="It became slower when the setting was changed, so the change did it: take it back.",
        source="widespread advice on incidents: undo the last change",
        condition=(
            f"{change.condition}; {change.setting} is {change.after}. Somebody executes {mend}, and rows of the scanned"
            f" table are looked up from then on, too: {before.all_reads:,.0f} pages a second were read, and"
            f" {after.all_reads:,.0f} are now. The rule is silent, for the work changed."
        ),
        followed=(spoil,),
        measures=(
            Comparison(
                what=f"pages of {change.table} read", unit="pages per second", before=after.reads, after=followed.reads
            ),
        ),
        notes=f"After {AFTER} windows the outcome is {outcome.result.value}: {outcome.why}.",
    )


PROOFS = (
    Proof(
        RULE,
        {
            "mysql-9.7": POOL,
            "mariadb-11.8": POOL,
            "mariadb-10.11": PREPARING | RARELY_MERGED | BUFFERED | {"performance-schema": "ON"},
        },
        harmful,
        takes=160.0,
    ),
)
COUNTER_PROOFS = (CounterProof(RULE, "mysql-9.7", POOL | {"innodb-old-blocks-pct": "95"}, other_work, takes=150.0),)
