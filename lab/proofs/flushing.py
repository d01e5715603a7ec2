"""Proofs of io-capacity-not-for-ssd: flushing that falls behind the redo log."""

from __future__ import annotations

import re
import statistics
import time
from functools import partial
from typing import Any

import pymysql

from exporter.snapshot import ConfiguredMachine, Snapshot
from lab.captures.scenarios import io
from lab.harness.measure import PAGES, WRITTEN
from lab.harness.records import NotShown
from lab.harness.watch import watch
from lab.harness.workloads import BackgroundLoad, ask, make_table, scan
from lab.proofs.proof import ComparedFigure, CounterProof, EvidenceFigure, Proof
from lab.proofs.record import MOST_OFF
from lab.proofs.trial import RuleTrial

RULE = "io-capacity-not-for-ssd"
SSD = ConfiguredMachine(storage="ssd")
"""Configured, as there are no reads whose latency would reveal the kind of storage."""
FILLING_SECONDS, LEVELLING_SECONDS = 3.0, 3.0
WATCHED, EVERY, SAMPLED = 6, 1.0, 0.1
"""Collections, and seconds between two of them and two samples."""
ROWS_A_SECOND, KEPT_UP_ROWS_A_SECOND = 1000, 500
FOLKLORE = {"_max": 20_000, "": 10_000}

_LSN = re.compile(r"Log sequence number\s+(\d+)")
_CHECKPOINT = re.compile(r"Last checkpoint at\s+(\d+)")


_OPTIONS = {name: io.WRITTEN_POOL | io.HARD_DISK | io.LOGS[name] for name in ("mariadb-10.11", "mysql-9.7")}
_STATEMENT = ComparedFigure("a statement, as a mean", "s", "seconds")


@Proof(
    RULE,
    {"mariadb-10.11": _OPTIONS["mariadb-10.11"]},
    condition=f"{ROWS_A_SECOND} rows updated a second at random places, innodb_io_capacity ="
    " {evidence[innodb_io_capacity]:.0f} and a small redo log",
    facts=(
        EvidenceFigure("age of the checkpoint", "checkpoint_age", "age"),
        EvidenceFigure("dirty pages", "dirty_pages", "dirty"),
    ),
    measures=(ComparedFigure("read meanwhile", "pages", "pages"), _STATEMENT),
    notes="Dirty pages fell from {dirty:.0f} to {after[dirty]:.0f}; the slowest"
    " hundredth of the statements took {slowest_ms:.0f} ms, and then {after[slowest_ms]:.0f} ms."
    " Its cost: {written_times:.1f} times as many pages are written for each row (at"
    " most {most_times:.1f} times predicted). In between the server rests for"
    f" {io.REST} s: under a load that never lets up it stays behind for longer.",
)
def _capacity(trial: RuleTrial) -> None:
    server = trial.server
    with server.connect() as connection:
        make_table(connection, io.ORDERS, io.WRITTEN_PAGES)  # fits the pool; many of its pages are still dirty
    trial.say("the redo log is filled")
    with BackgroundLoad(server.connect) as load:
        load.repeat(io.update, pause=0)
        time.sleep(FILLING_SECONDS)
    finding = trial.fires(_updated(trial, ROWS_A_SECOND))
    if finding.cost is None or finding.cost.now is None:
        raise NotShown("the rule does not say what it costs")
    trial.follow()
    trial.say("the server rests and writes what it put off")
    time.sleep(io.REST)
    trial.silent(_updated(trial, ROWS_A_SECOND))
    trial.take_back()
    trial.predicts(trial.before["age"], trial.after["age"])
    [effect] = trial.effects
    if effect.error > MOST_OFF:  # the bound for pages; these bytes follow from pages
        raise NotShown(f"of {effect.before - effect.after:.0f} bytes the prediction misses {effect.error:.0%}")
    trial.before |= {
        "written_times": trial.after["written"] / trial.before["written"],
        "most_times": finding.cost.predicted / finding.cost.now,
    }


@CounterProof(
    RULE,
    {"mysql-9.7": _OPTIONS["mysql-9.7"]},
    folklore="The disk is an SSD: set innodb_io_capacity to what it can do.",
    source="widespread advice for SSDs, and MySQL's default from 8.4 on",
    condition=f"{KEPT_UP_ROWS_A_SECOND} rows updated a second at random places, which flushing keeps up with at"
    f" innodb_io_capacity = {io.HARD_DISK['innodb-io-capacity']}",
    measures=(ComparedFigure("written per 1,000 rows updated", "pages", "written"), _STATEMENT),
    notes="There are {dirty:.0f} dirty pages, and then {after[dirty]:.0f}.",
)
def _no_pressure(trial: RuleTrial) -> None:
    server = trial.server
    with server.connect() as connection:
        make_table(connection, io.ORDERS, io.WRITTEN_PAGES)
    server.restart()  # with no dirty page: faster than waiting for the writes
    with server.connect() as connection:
        scan(connection, io.ORDERS)
    trial.silent(_updated(trial, KEPT_UP_ROWS_A_SECOND))
    trial.follow_folklore(*(f"SET GLOBAL innodb_io_capacity{name} = {value}" for name, value in FOLKLORE.items()))
    _updated(trial, KEPT_UP_ROWS_A_SECOND)


def _updated(trial: RuleTrial, rate: float) -> tuple[Snapshot, ...]:
    """Watch updates of so many rows a second, in the steady state.

    The figures: ``age`` of the checkpoint in bytes and ``dirty`` pages, means of many samples; pages ``written`` for a
    thousand rows; pages ``read`` meanwhile, of a table that fits the pool; the mean milliseconds of a statement and
    those of the ``slowest`` hundredth.
    """
    server = trial.server
    trial.say(f"{rate:.0f} rows are updated a second")
    paced = io.Paced(rate)
    ages: list[float] = []
    dirty: list[float] = []

    def sample(connection: pymysql.Connection[Any]) -> None:
        [(_, _, status)] = ask(connection, "SHOW ENGINE INNODB STATUS")
        lsn, checkpoint = _LSN.search(status), _CHECKPOINT.search(status)
        if lsn and checkpoint:
            ages.append(int(lsn[1]) - int(checkpoint[1]))
        [(_, pages)] = ask(connection, "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'")
        dirty.append(float(pages))

    with BackgroundLoad(server.connect) as load, BackgroundLoad(server.connect) as samples:
        load.repeat(paced, pause=0)
        time.sleep(LEVELLING_SECONDS)
        samples.repeat(sample, pause=SAMPLED)
        statements = len(paced.took)
        seen, counted = watch(server, partial(time.sleep, EVERY), WATCHED, counters=PAGES | WRITTEN, machine=SSD)
        took = paced.took[statements:]
    trial.record(
        {
            "age": statistics.fmean(ages),
            "dirty": statistics.fmean(dirty),
            "written": 1000 * WATCHED * counted["written"] / (len(took) * io.STATEMENT_ROWS),
            "pages": WATCHED * counted["pages"],
            "seconds": statistics.fmean(took),
            "slowest_ms": 1000 * statistics.quantiles(took, n=100)[-1],
        }
    )
    return seen


PROOFS = (_capacity,)
COUNTER_PROOFS = (_no_pressure,)
