"""Proofs of io-capacity-not-for-ssd: flushing that falls behind the redo log."""

from __future__ import annotations

import re
import statistics
import threading
import time
from dataclasses import dataclass
from functools import partial
from typing import Self

from exporter.snapshot import ConfiguredMachine, Snapshot
from lab.captures.scenarios import io
from lab.harness.measure import pages_read, pool_statistic
from lab.harness.records import Data, NotShown
from lab.harness.watch import snapshots
from lab.harness.workloads import Load, make_table, scan
from lab.proofs.base import CounterProof, Proof
from lab.proofs.record import MOST_OFF, Comparison, CounterProofRecord, EvidenceCheck
from lab.proofs.trial import Trial
from lab.servers import Server
from lab.servers.sql import execute

RULE = "io-capacity-not-for-ssd"
SSD = ConfiguredMachine(storage="ssd")
"""Configured, as there are no reads whose latency would reveal the kind of storage."""
FILLING_SECONDS, LEVELLING_SECONDS = 3.0, 3.0
WATCHED, EVERY = 6, 1.0  # times, seconds
SAMPLED_SECONDS = 0.1
ROWS_A_SECOND = 1000
KEPT_UP_ROWS_A_SECOND = 500
FOLKLORE = {"_max": 20_000, "": 10_000}

_LSN = re.compile(r"Log sequence number\s+(\d+)")
_CHECKPOINT = re.compile(r"Last checkpoint at\s+(\d+)")


@dataclass(frozen=True)
class Written:
    """The effects of updates at a steady rate, in the steady state.

    Attributes:
        snapshots: The sidecar's snapshots.
        age: The checkpoint age, mean of many samples, bytes.
        dirty: Dirty pages, mean of the same samples.
        a_thousand: Pages written per thousand updated rows.
        read: Pages read meanwhile; the table fits the pool.
        seconds: Mean seconds of a statement.
        slowest: The 99th percentile of a statement's seconds.
    """

    snapshots: tuple[Snapshot, ...]
    age: float
    dirty: float
    a_thousand: float
    read: int
    seconds: float
    slowest: float


def capacity(trial: Trial) -> Data:
    """A hard disk's capacity lets the redo log fill up; the rule's value keeps it free."""
    server = trial.server
    trial.say("the redo log is filled")
    _make(server)
    with Load(server.connect) as load:
        load.repeat(io.update, pause=0)
        time.sleep(FILLING_SECONDS)
    before = _written(trial, ROWS_A_SECOND)
    found = trial.fires(before.snapshots)
    if found.effect is None or found.effect.now is None or found.cost is None or found.cost.now is None:
        raise NotShown("the rule predicts nothing")
    trial.follow()
    trial.say("the server rests and writes what it put off")
    time.sleep(io.REST)
    after = _written(trial, ROWS_A_SECOND)
    trial.silent(after.snapshots)
    trial.take_back()
    effect = trial.effect(before.age, after.age)
    if effect.error > MOST_OFF:  # the bound for pages; these bytes follow from pages
        raise NotShown(f"of {before.age - after.age:.0f} bytes the prediction misses {effect.error:.0%}")
    return trial.proved(
        condition=(
            f"{ROWS_A_SECOND} rows updated a second at random places, innodb_io_capacity ="
            f" {trial.evidence('innodb_io_capacity'):.0f} and a small redo log"
        ),
        facts=[
            EvidenceCheck(name="age of the checkpoint", said=trial.evidence("checkpoint_age"), known=before.age),
            EvidenceCheck(name="dirty pages", said=trial.evidence("dirty_pages"), known=before.dirty),
        ],
        effects=[effect],
        measures=[
            Comparison(what="read meanwhile", unit="pages", before=before.read, after=after.read),
            Comparison(what="a statement, as a mean", unit="s", before=before.seconds, after=after.seconds),
        ],
        notes=(
            f"Dirty pages fell from {before.dirty:.0f} to {after.dirty:.0f}; the slowest"
            f" hundredth of the statements took {1000 * before.slowest:.0f} ms, and then {1000 * after.slowest:.0f} ms."
            f" Its cost: {after.a_thousand / before.a_thousand:.1f} times as many pages are written for each row (at"
            f" most {found.cost.predicted / found.cost.now:.1f} times predicted). In between the server rests for"
            f" {io.REST} s: under a load that never lets up it stays behind for longer."
        ),
    )


def no_pressure(trial: Trial) -> CounterProofRecord:
    """If flushing keeps up, an SSD's capacity only makes InnoDB write the same pages more often."""
    server = trial.server
    _make(server)
    _start_clean(server)
    before = _written(trial, KEPT_UP_ROWS_A_SECOND)
    trial.silent(before.snapshots)
    trial.say("folklore is followed")
    followed = tuple(f"SET GLOBAL innodb_io_capacity{which} = {value}" for which, value in FOLKLORE.items())
    execute(server, *followed)
    after = _written(trial, KEPT_UP_ROWS_A_SECOND)
    return CounterProofRecord(
        folklore="The disk is an SSD: set innodb_io_capacity to what it can do.",
        source="widespread advice for SSDs, and MySQL's default from 8.4 on",
        condition=(
            f"{KEPT_UP_ROWS_A_SECOND} rows updated a second at random places, which flushing keeps up with at"
            f" innodb_io_capacity = {server.options['innodb-io-capacity']}"
        ),
        followed=followed,
        measures=(
            Comparison(
                what="written per 1,000 rows updated", unit="pages", before=before.a_thousand, after=after.a_thousand
            ),
            Comparison(what="a statement, as a mean", unit="s", before=before.seconds, after=after.seconds),
        ),
        notes=f"There are {before.dirty:.0f} dirty pages, and then {after.dirty:.0f}.",
    )


def _make(server: Server) -> None:
    """Create a table that fits the pool; many of its pages are still dirty."""
    with server.connect() as connection:
        make_table(connection, io.ORDERS, io.WRITTEN_PAGES)


def _start_clean(server: Server) -> None:
    """Restart with the table in the pool and no dirty page: faster than waiting for the writes."""
    server.restart()
    with server.connect() as connection:
        scan(connection, io.ORDERS)


def _written(trial: Trial, rate: float) -> Written:
    """Observe updates at a rate of rows a second."""
    server = trial.server
    trial.say(f"{rate:.0f} rows are updated a second")
    paced = io.Paced(rate)
    with Load(server.connect) as load:
        load.repeat(paced, pause=0)
        time.sleep(LEVELLING_SECONDS)
        with _Sampled(server) as sampled:
            statements, read = len(paced.took), pages_read(server)
            written = pool_statistic(server, "NUMBER_PAGES_WRITTEN")
            taken = snapshots(server, partial(time.sleep, EVERY), WATCHED, machine=SSD)
            written = pool_statistic(server, "NUMBER_PAGES_WRITTEN") - written
            read = pages_read(server) - read
            took = paced.took[statements:]
    rows = len(took) * io.STATEMENT_ROWS
    return Written(
        snapshots=taken,
        age=statistics.fmean(sampled.ages),
        dirty=statistics.fmean(sampled.dirty),
        a_thousand=1000 * written / rows,
        read=read,
        seconds=statistics.fmean(took),
        slowest=statistics.quantiles(took, n=100)[-1],
    )


class _Sampled:
    """Samples the checkpoint age and the dirty pages, in its own thread.

    Attributes:
        ages: Checkpoint ages, bytes.
        dirty: Dirty pages.
    """

    def __init__(self, server: Server) -> None:
        self.ages: list[float] = []
        self.dirty: list[float] = []
        self._server = server
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        with self._server.connect() as connection, connection.cursor() as cursor:
            while not self._stop.wait(SAMPLED_SECONDS):
                cursor.execute("SHOW ENGINE INNODB STATUS")
                text = str(cursor.fetchall()[0][2])
                lsn, checkpoint = _LSN.search(text), _CHECKPOINT.search(text)
                if lsn and checkpoint:
                    self.ages.append(int(lsn[1]) - int(checkpoint[1]))
                cursor.execute("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'")
                self.dirty.append(float(cursor.fetchall()[0][1]))


_OPTIONS = {name: io.WRITTEN_POOL | io.HARD_DISK | io.LOGS[name] for name in ("mariadb-10.11", "mysql-9.7")}
PROOFS = (Proof(RULE, {"mariadb-10.11": _OPTIONS["mariadb-10.11"]}, capacity, takes=40.0),)
COUNTER_PROOFS = (CounterProof(RULE, "mysql-9.7", _OPTIONS["mysql-9.7"], no_pressure, takes=40.0),)
