"""Proofs of change-did-harm: a setting is changed by hand, and the ledger compares both sides with short windows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial

from advisor.advice.interpreter import Remembered
from advisor.contract.recommendation import Advice
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
from lab.harness.measure import CLOCK, PAGES, Figures, Work, per
from lab.harness.records import NotShown
from lab.harness.watch import watch
from lab.harness.workloads import SCHEMA, BackgroundLoad, insert_rows
from lab.proofs import insert_load
from lab.proofs.proof import ComparedFigure, CounterProof, EvidenceFigure, Options, PredictedFigure, Proof
from lab.proofs.scans import POOL
from lab.proofs.trial import RuleTrial
from lab.servers import PrivateServer
from lab.servers.sql import execute, query_number

RULE = "change-did-harm"
ROWS, ROW_PAUSE = 40, 0.1
WINDOW = 8.0
"""Seconds of a window that counts as one, in place of five minutes: the work of a lab is steady within seconds."""
PERIOD = 0.8
"""Seconds between two collections: two for each slice of a window."""
BEFORE, AFTER, BACK = 5, 5, 3
"""Windows before the change, after it, and after it is taken back."""
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

SteadyLoad = tuple[Work, Work]
"""What brings the pool into the state that it has under the load and the settings of now; and what begins more work."""


@dataclass(frozen=True)
class HarmfulChange:
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
    load: Callable[[PrivateServer], AbstractContextManager[SteadyLoad]]
    condition: str

    @property
    def statement(self) -> str:
        """Makes it."""
        return f"SET GLOBAL {self.setting} = {self.after}"


@contextmanager
def _lookups_and_scans(server: PrivateServer) -> Iterator[SteadyLoad]:
    """Lookups in a hot set that fits the young sublist, and scans larger than the pool; more lookups are of these."""
    reads = _READS.format(HOT)
    with scans_beside_a_hot_set(server) as (promote, more):

        def settle() -> None:
            """Make the hot set young, again and again: on some servers scans still evict a part of it at first."""
            for _ in range(_MOST_ROUNDS):
                before = query_number(server, reads)
                promote()
                if query_number(server, reads) - before < _STILL * HOT_PAGES:
                    return

        yield settle, more


@contextmanager
def _insertions(server: PrivateServer) -> Iterator[SteadyLoad]:
    """Rows with random keys for secondary indexes that are larger than the pool; there is nothing more to do."""
    insert_load.prepare(server)
    with BackgroundLoad(server.connect) as load:
        work = partial(insert_rows, table=EVENTS, rows=ROWS, indexes=INDEXES, read_back=False, seed=None)
        load.repeat(work, ROW_PAUSE)
        yield partial(time.sleep, WINDOW), lambda: None


OLD_SUBLIST = HarmfulChange(
    "innodb_old_blocks_pct",
    "37",
    "95",
    HOT,
    _lookups_and_scans,
    f"Rows on {HOT_PAGES:,} pages are looked up again and again, and a table of {SCANNED_PAGES:,} pages, more than the"
    f" pool has, is scanned every {SCAN_PAUSE:g} s",
)
UNBUFFERED = HarmfulChange(
    "innodb_change_buffering",
    "'all'",
    "'none'",
    EVENTS,
    _insertions,
    f"Rows are inserted into {insert_load.ROWS:,} rows with {INDEXES} secondary indexes on random keys, larger than the"
    " pool",
)


def watch_windows(server: PrivateServer, table: str, windows: int) -> tuple[tuple[Snapshot, ...], Figures]:
    """Watch so many windows; the snapshots, and figures a second.

    Returns:
        In the figures, ``pages`` are read by everything, ``reads`` are pages of the table, ``rows`` its rows that were
        asked for.
    """
    of_table = {
        name: partial(query_number, sql=sql.format(table)) for name, sql in (("reads", _READS), ("rows", _ROWS))
    }
    wait, periods = partial(time.sleep, PERIOD), round(windows * WINDOW / PERIOD)
    seen, counted = watch(server, wait, periods, counters=CLOCK | PAGES | of_table)
    return seen, per(counted, "clock")


def graded(history: Sequence[Snapshot], advice: Advice | None = None, advised: int = 2) -> tuple[Outcome, float | None]:
    """The outcome of the only change in a history, and windows after which it was certain that it did harm.

    Args:
        history: Snapshots.
        advice: What the sidecar advised from so many snapshots on; None for nothing.
        advised: That number.

    Raises:
        NotShown: There is no outcome, or there are several.
    """
    ledger, certain = Ledger(window_seconds=WINDOW), None
    for count in range(advised, len(history) + 1):
        ledger, _ = ledger.observe(history[:count], advice)
        for outcome in ledger.outcomes.values():
            if certain is None and outcome.harm:
                certain = (history[count - 1].at - outcome.at) / WINDOW
    if len(ledger.outcomes) != 1:
        raise NotShown(f"a change has {len(ledger.outcomes)} outcomes")
    return next(iter(ledger.outcomes.values())), certain


def _harmful(change: HarmfulChange, options: Options) -> Proof:
    """Somebody changes a setting by hand, and others read more; the rule takes it back."""

    @Proof(
        RULE,
        options,
        condition=f"{change.condition}. Then somebody executes {change.statement}.",
        facts=(
            EvidenceFigure("pages read a second since the change, by the same work", "after", "reads", within=0.2),
            EvidenceFigure("pages read a second more than before it, by the same work", "more", "more", within=0.2),
        ),
        effect=PredictedFigure("reads"),
        measures=(ComparedFigure("pages read by everything", "pages per second", "pages"),),
        notes="Certain {certain:.1f} windows after the change: {summary}.",
        why_altered=f"Windows of {WINDOW:g} s count in place of five minutes: the load is steady within seconds.",
    )
    def proof(trial: RuleTrial) -> None:
        server = trial.server
        with change.load(server) as (settle, _):
            trial.say("the load begins")
            settle()
            earlier, before = watch_windows(server, change.table, BEFORE)
            trial.say(change.statement)
            execute(server, change.statement)
            seen, after = watch_windows(server, change.table, AFTER)
            outcome, certain = graded((*earlier, *seen))
            trial.remembered = Remembered(outcomes=(outcome,))
            finding = trial.fires(seen, setting=change.setting)
            trial.follow()
            settle()
            seen, back = watch_windows(server, change.table, BACK)
            trial.silent(seen)
            trial.take_back()
        if certain is None:
            raise NotShown("the harm was never certain")
        # Clients wait for each read: what they would read a second if they did the work of before.
        reads, reads_back = (side["reads"] * before["rows"] / side["rows"] for side in (after, back))
        trial.evidence["more"] = trial.evidence["after"] - trial.evidence["before"]
        trial.before |= {"reads": reads, "more": reads - before["reads"], "pages": after["pages"]}
        trial.before |= {"certain": certain, "summary": finding.summary}
        trial.after |= {"reads": reads_back, "pages": back["pages"]}

    return proof


_MEND = f"SET GLOBAL {OLD_SUBLIST.setting} = {OLD_SUBLIST.before}"


@CounterProof(
    RULE,
    {"mysql-9.7": POOL | {"innodb-old-blocks-pct": "95"}},
    folklore="It became slower when the setting was changed, so the change did it: take it back.",
    source="widespread advice on incidents: undo the last change",
    condition=f"{OLD_SUBLIST.condition}; {OLD_SUBLIST.setting} is {OLD_SUBLIST.after}. Somebody executes {_MEND}, and"
    " rows of the scanned table are looked up from then on, too: {earlier:,.0f} pages a second were read, and"
    " {now:,.0f} are now. The rule is silent, for the work changed.",
    measures=(ComparedFigure(f"pages of {OLD_SUBLIST.table} read", "pages per second", "reads"),),
    notes=f"After {AFTER} windows the outcome is {{result}}: {{why}}.",
)
def _other_work(trial: RuleTrial) -> None:
    server, change = trial.server, OLD_SUBLIST
    with change.load(server) as (settle, add):
        settle()
        earlier, before = watch_windows(server, change.table, BEFORE)
        execute(server, _MEND)
        settle()
        add()
        seen, after = watch_windows(server, change.table, AFTER)
        if after["pages"] <= before["pages"]:
            raise NotShown(f"folklore is silent too: {before['pages']:.0f}, then {after['pages']:.0f} pages a second")
        outcome, _ = graded((*earlier, *seen))
        trial.remembered = Remembered(outcomes=(outcome,))
        trial.silent(seen)
        if outcome.result not in (Result.OPEN, Result.NOT_COMPARABLE):
            raise NotShown(f"the other work was not seen: {outcome.result}")
        trial.follow_folklore(change.statement)
        settle()
        _, followed = watch_windows(server, change.table, BACK)
    trial.before |= {"reads": after["reads"], "earlier": before["pages"], "now": after["pages"]}
    trial.before |= {"result": outcome.result.value, "why": outcome.why}
    trial.after |= {"reads": followed["reads"]}


PROOFS = (_harmful(OLD_SUBLIST, {"mysql-9.7": POOL, "mariadb-11.8": POOL}),)
COUNTER_PROOFS = (_other_work,)
