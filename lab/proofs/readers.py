"""Proofs of parallel-read-threads-too-few: reader threads that wait for the disk."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Sequence

from exporter.collectors.machine import MACHINE
from lab.captures.scenarios.base import nothing
from lab.captures.scenarios.counts import make_scattered_table
from lab.harness.measure import pages_read
from lab.harness.records import Data, NotNow, NotShown
from lab.harness.watch import snapshots
from lab.harness.workloads import count, make_table
from lab.processes.usage import cpu_seconds
from lab.proofs.base import CounterProof, Proof
from lab.proofs.cpu import machine_load
from lab.proofs.record import Comparison, CounterProofRecord, EvidenceCheck
from lab.proofs.trial import Trial
from lab.servers import Server
from lab.servers.sql import execute

_RULE = "parallel-read-threads-too-few"
_SETTING = "innodb_parallel_read_threads"
_COUNTS = 4
_LOOK_AT_THE_MACHINE = 10.0
"""Seconds between two samples of the machine."""
_TOO_BUSY = 0.7
"""Share of the cores' time; from 0.8 on the rule is silent by design."""
_LITTLE = {"innodb-buffer-pool-size": "24M"}


class _Counts:
    """Timed counts of tables larger than the pool.

    Attributes:
        seconds, pages, cpu: Duration, pages read and server CPU seconds of each count.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self.seconds: list[float] = []
        self.pages: list[float] = []
        self.cpu: list[float] = []

    def count(self, table: str, threads: int | None = None) -> None:
        """Count once, with the given number of reader threads or the global setting's."""
        with self._server.connect() as connection:
            if threads is not None:
                with connection.cursor() as cursor:
                    cursor.execute(f"SET SESSION {_SETTING} = {threads}")
            pages, cpu, began = pages_read(self._server), cpu_seconds(self._server.pid), time.perf_counter()
            count(connection, table)
            self.seconds.append(time.perf_counter() - began)
            self.cpu.append(cpu_seconds(self._server.pid) - cpu)
            self.pages.append(pages_read(self._server) - pages)


def _in_turn(server: Server, table: str, threads: Sequence[int], rounds: int) -> dict[int, _Counts]:
    """Counts with each number of threads in turn, in rounds: a disturbance affects all."""
    counts: dict[int, _Counts] = defaultdict(lambda: _Counts(server))
    for _ in range(rounds):
        for each in threads:
            counts[each].count(table, each)
    return counts


def _one_step_below_enough(server: Server) -> int:
    """The number of threads from which the rule's one step (four times as many) gives two per core."""
    machine = snapshots(server, nothing, 0)[-1][MACHINE]
    if machine is None or machine.cores is None:
        raise NotShown("the server's cores are not known")
    return max(1, int(machine.cores) * 2 // 4)


def _prove(trial: Trial) -> Data:
    server, watched = trial.server, _Counts(trial.server)
    few = _one_step_below_enough(server)
    execute(server, f"SET GLOBAL {_SETTING} = {few}")
    trial.say("the tables are made")
    with server.connect() as connection:
        make_scattered_table(connection, "scattered", 24_000)
        make_table(connection, "orders", 3_000)

    def both() -> None:
        watched.count("scattered")
        _Counts(server).count("orders")  # in key order: InnoDB reads ahead, and the rule must say nothing
        time.sleep(_LOOK_AT_THE_MACHINE / _COUNTS)

    trial.say("both are counted")
    with machine_load() as machine:
        window = snapshots(server, both, _COUNTS)
    if machine.busy > _TOO_BUSY:
        raise NotNow(
            f"{machine.busy:.0%} of the machine's CPU time is used, by the counts and by others: more threads would"
            " have no core to run on, and are rightly not advised"
        )
    if any(each.subject["table"] == "orders" for each in trial.said(window)):
        raise NotNow(
            "a count in key order mostly waits for reads here, too: the storage does not keep up with InnoDB's"
            " read-ahead, and more threads are rightly advised for both"
        )
    found = trial.fires(window)
    facts = [
        EvidenceCheck(name="counts", said=trial.evidence("counts"), known=_COUNTS, within=0),
        EvidenceCheck(name="innodb_parallel_read_threads", said=trial.evidence(_SETTING), known=few, within=0),
        EvidenceCheck(
            name="seconds_per_count",
            said=trial.evidence("seconds_per_count"),
            known=statistics.mean(watched.seconds),
        ),
        EvidenceCheck(
            name="pages_read_per_count",
            said=trial.evidence("pages_read_per_count"),
            known=statistics.mean(watched.pages),
        ),
    ]
    trial.follow()
    trial.silent(snapshots(server, lambda: watched.count("scattered"), _COUNTS))
    [change] = found.changes
    many = int(change.to)
    trial.say(f"counts with {few} and with {many} threads")
    took = _in_turn(server, "scattered", (few, many), 9)
    trial.take_back()
    seconds, pages = (
        {threads: statistics.median(getattr(took[threads], name)) for threads in (few, many)}
        for name in ("seconds", "pages")
    )
    return trial.proved(
        condition=f"A table in no order of its keys, larger than the pool, was counted {_COUNTS} times with"
        f" {_SETTING} = {few}, and beside it one in their order, of which the rule says nothing.",
        facts=facts,
        effects=[trial.effect(seconds[few], seconds[many])],
        measures=[
            Comparison(what="pages read by one COUNT(*)", unit="pages", before=pages[few], after=pages[many]),
            Comparison(what="time of one COUNT(*)", unit="s", before=seconds[few], after=seconds[many]),
        ],
        notes="Before and after are medians of counts with one number of threads and with the other in turn. How many"
        " reads at a time a disk serves is not known beforehand: the prediction takes the same time for each.",
    )


_DEFAULT, _FOLKLORE = 4, 32


def _counter(trial: Trial) -> CounterProofRecord:
    server = trial.server
    with server.connect() as connection:
        make_table(connection, "orders", 4_500)
    trial.say("the table is counted")
    trial.silent(snapshots(server, lambda: _Counts(server).count("orders"), _COUNTS))
    took = _in_turn(server, "orders", (_DEFAULT, _FOLKLORE), 25)

    def measured(what: str, unit: str, name: str, times: float = 1.0) -> Comparison:
        before, after = (times * statistics.mean(getattr(took[each], name)) for each in (_DEFAULT, _FOLKLORE))
        return Comparison(what=what, unit=unit, before=before, after=after)

    return CounterProofRecord(
        folklore=f"set {_SETTING} to {_FOLKLORE}",
        source="the table of measured times in seed 000, where it was the fastest",
        condition=f"A table in the order of its keys, larger than the pool, was counted with {_DEFAULT} reader threads:"
        " InnoDB reads ahead, and nobody waits long.",
        followed=(f"SET SESSION {_SETTING} = {_FOLKLORE}",),
        measures=(
            measured("time of one COUNT(*)", "s", "seconds"),
            measured("CPU time of one COUNT(*)", "ms", "cpu", 1000.0),
            measured("pages read by one COUNT(*)", "pages", "pages"),
        ),
    )


PROOFS = (Proof(_RULE, {"mysql-9.7": _LITTLE}, _prove, takes=50.0),)
COUNTER_PROOFS = (
    CounterProof(_RULE, "mysql-9.7", _LITTLE | {"innodb-parallel-read-threads": str(_DEFAULT)}, _counter, takes=25.0),
)
