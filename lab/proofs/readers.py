"""Proofs of parallel-read-threads-too-few: reader threads that wait for the disk."""

from __future__ import annotations

import statistics
import time
from functools import partial

from exporter.collectors.machine import MACHINE
from lab.captures.scenarios.base import nothing
from lab.captures.scenarios.counts import make_scattered_table
from lab.harness.measure import CPU, PAGES, Figures, machine_load, measure
from lab.harness.records import NotNow, NotShown
from lab.harness.watch import snapshots
from lab.harness.workloads import ask, count, make_table
from lab.proofs.proof import ComparedFigure, CounterProof, EvidenceFigure, PredictedFigure, Proof
from lab.proofs.trial import RuleTrial
from lab.servers import PrivateServer
from lab.servers.sql import execute

RULE = "parallel-read-threads-too-few"
SETTING = "innodb_parallel_read_threads"
COUNTS, ROUNDS, FOLKLORE_ROUNDS = 4, 9, 25
SCATTERED, ORDERED = "scattered", "orders"
LOOK_AT_THE_MACHINE = 10.0
"""Seconds between two samples of the machine."""
TOO_BUSY = 0.7
"""Share of the cores' time; from 0.8 on the rule is silent by design."""
DEFAULT, FOLKLORE = 4, 32
_LITTLE = {"innodb-buffer-pool-size": "24M"}


def _count(server: PrivateServer, table: str, threads: int | None = None) -> Figures:
    """Count once, with the given number of reader threads or the global setting's."""
    with server.connect() as connection:
        if threads is not None:
            ask(connection, f"SET SESSION {SETTING} = {threads}")
        return measure(server, partial(count, connection, table), counters=PAGES | CPU)


def _one_step_below_enough(server: PrivateServer) -> int:
    """The number of threads from which the rule's one step (four times as many) gives two per core."""
    machine = snapshots(server, nothing, 0)[-1][MACHINE]
    if machine is None or machine.cores is None:
        raise NotShown("the server's cores are not known")
    return max(1, int(machine.cores) * 2 // 4)


_TIME, _PAGES = (
    ComparedFigure("time of one COUNT(*)", "s", "seconds"),
    ComparedFigure("pages read by one COUNT(*)", "pages", "pages"),
)


@Proof(
    RULE,
    {"mysql-9.7": _LITTLE},
    condition=f"A table in no order of its keys, larger than the pool, was counted {COUNTS} times with"
    f" {SETTING} = {{few}}, and beside it one in their order, of which the rule says nothing.",
    facts=(
        EvidenceFigure("counts", "counts", "counts", within=0.0),
        EvidenceFigure(SETTING, SETTING, "few", within=0.0),
        EvidenceFigure("seconds_per_count", "seconds_per_count", "a_seconds"),
        EvidenceFigure("pages_read_per_count", "pages_read_per_count", "a_pages"),
    ),
    effect=PredictedFigure("seconds"),
    measures=(_PAGES, _TIME),
    notes="Before and after are medians of counts with one number of threads and with the other in turn. How many"
    " reads at a time a disk serves is not known beforehand: the prediction takes the same time for each.",
)
def _too_few(trial: RuleTrial) -> None:
    server = trial.server
    few = _one_step_below_enough(server)
    execute(server, f"SET GLOBAL {SETTING} = {few}")
    with server.connect() as connection:
        make_scattered_table(connection, SCATTERED, 24_000)
        make_table(connection, ORDERED, 3_000)
    watched: list[Figures] = []

    def both() -> None:
        watched.append(_count(server, SCATTERED))
        _count(server, ORDERED)  # in key order: InnoDB reads ahead, and the rule must say nothing
        time.sleep(LOOK_AT_THE_MACHINE / COUNTS)

    trial.say("both are counted")
    with machine_load() as busy:
        seen = snapshots(server, both, COUNTS)
    if busy() > TOO_BUSY:
        raise NotNow(
            f"{busy():.0%} of the machine's CPU time is used, by the counts and by others: more threads would"
            " have no core to run on, and are rightly not advised"
        )
    if any(finding.subject["table"] == ORDERED for finding in trial.recommendations(seen)):
        raise NotNow(
            "a count in key order mostly waits for reads here, too: the storage does not keep up with InnoDB's"
            " read-ahead, and more threads are rightly advised for both"
        )
    [change] = trial.fires(seen).changes
    trial.before |= {"counts": COUNTS, "few": few}
    trial.before |= {
        f"a_{name}": statistics.mean(figures[name] for figures in watched) for name in ("seconds", "pages")
    }
    trial.follow()
    trial.silent(snapshots(server, lambda: watched.append(_count(server, SCATTERED)), COUNTS))
    many = int(change.to)
    trial.say(f"counts with {few} and with {many} threads")
    trial.in_turn(ROUNDS, *(partial(_count, server, SCATTERED, threads) for threads in (few, many)))
    trial.take_back()


@CounterProof(
    RULE,
    {"mysql-9.7": _LITTLE | {"innodb-parallel-read-threads": f"{DEFAULT}"}},
    folklore=f"set {SETTING} to {FOLKLORE}",
    source="the table of measured times in seed 000, where it was the fastest",
    condition=f"A table in the order of its keys, larger than the pool, was counted with {DEFAULT} reader threads:"
    " InnoDB reads ahead, and nobody waits long.",
    measures=(_TIME, ComparedFigure("CPU time of one COUNT(*)", "ms", "cpu", times=1000.0), _PAGES),
)
def _in_key_order(trial: RuleTrial) -> None:
    server = trial.server
    with server.connect() as connection:
        make_table(connection, ORDERED, 4_500)
    trial.silent(snapshots(server, partial(_count, server, ORDERED), COUNTS))
    trial.in_turn(FOLKLORE_ROUNDS, *(partial(_count, server, ORDERED, threads) for threads in (DEFAULT, FOLKLORE)))
    trial.folklore.append(f"SET SESSION {SETTING} = {FOLKLORE}")


PROOFS = (_too_few,)
COUNTER_PROOFS = (_in_key_order,)
