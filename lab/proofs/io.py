"""Proofs of read-ahead-wasted: pages read ahead in vain, and the loss of scans without read-ahead."""

from __future__ import annotations

import threading
import time
from functools import partial

from exporter.snapshot import Snapshot
from lab.captures.scenarios import io
from lab.harness.measure import reads, seconds
from lab.harness.records import Data
from lab.harness.watch import snapshots
from lab.harness.workloads import make_table, scan
from lab.proofs.base import CounterProof, Proof
from lab.proofs.record import Comparison, CounterProofRecord, EvidenceCheck, MeasuredEffect
from lab.proofs.trial import Trial
from lab.servers import Server
from lab.servers.sql import execute, global_status, query_number

RULE = "read-ahead-wasted"
PAGES = 10_000
"""Several times the pool, so that a range rarely finds pages of an earlier one."""
RANGES, ROUNDS = 80, 2
CLIENTS, CLIENTS_RANGES = 8, 40
"""Enough to keep the disk busy: on an idle disk wasted reads cost no time."""
ALTERNATIONS = 4
SCANS = 3

_THRESHOLD = "innodb_read_ahead_threshold"
# Evictions by the page cleaner are not counted; a shorter free list reduces them.
_SMALL = {
    "innodb-buffer-pool-size": "24M",
    "innodb-lru-scan-depth": "100",
    "innodb-doublewrite": "0",
    "innodb-flush-method": "O_DIRECT",
}
_COUNTERS = {
    "pages_read": "Innodb_pages_read",
    "pages_read_ahead": "Innodb_buffer_pool_read_ahead",
    "pages_evicted_without_access": "Innodb_buffer_pool_read_ahead_evicted",
}
"""The evidence comes from INNODB_BUFFER_POOL_STATS; these are of SHOW GLOBAL STATUS."""


def wasted(trial: Trial) -> Data:
    """Ranges as long as an extent trigger read-ahead and do not use most of it."""
    server = trial.server
    trial.say("a table is made")
    with server.connect() as connection:
        make_table(connection, io.ORDERS, PAGES)
    _ranges(server)
    window, counted = _ranges(server)
    first, read = counted, [counted["pages_read"]]
    effects: list[MeasuredEffect] = []
    facts: list[EvidenceCheck] = []
    thresholds = [_threshold(server)]
    while thresholds[-1]:  # a low threshold is first raised to the default; from there only 0 reads less
        trial.fires(window)
        facts = facts or [
            EvidenceCheck(name=name.replace("_", " "), said=trial.evidence(name), known=first[name])
            for name in _COUNTERS
        ]
        trial.follow()
        thresholds.append(_threshold(server))
        _ranges(server)
        window, counted = _ranges(server)
        read.append(counted["pages_read"])
        effect = trial.effect(read[-2], read[-1])
        where = f"at {thresholds[-1]:.0f} instead of {thresholds[-2]:.0f}"
        effects.append(effect.model_copy(update={"quantity": f"{effect.quantity}, {where}"}))
    trial.silent(window)
    trial.say("both are timed, in turn")
    times: dict[float, list[float]] = {thresholds[0]: [], thresholds[-1]: []}
    for _ in range(ALTERNATIONS):
        for threshold, took in times.items():
            execute(server, f"SET GLOBAL {_THRESHOLD} = {threshold:.0f}")
            took.append(_busy(server))
    trial.take_back()
    before, after = (min(times[threshold]) for threshold in (thresholds[0], thresholds[-1]))
    return trial.proved(
        condition=(
            f"ranges of {io.RANGE_PAGES} pages at random places of a table of {PAGES} pages, in a pool of"
            f" {_SMALL['innodb-buffer-pool-size']}, {_THRESHOLD} = {thresholds[0]:.0f}"
        ),
        facts=[
            *facts,
            EvidenceCheck(
                name="pages in vain, and what is not read without read-ahead",
                said=first["pages_evicted_without_access"],
                known=read[0] - read[-1],
                within=0.2,
            ),
        ],
        effects=effects,
        measures=[
            Comparison(what="read by the same ranges", unit="pages", before=read[0], after=read[-1]),
            Comparison(
                what=f"ranges of {CLIENTS} clients at once, the least disturbed of {ALTERNATIONS} runs each, in turn",
                unit="s",
                before=before,
                after=after,
            ),
        ],
        notes=(
            f"The rule is followed until it is silent: {_THRESHOLD} = "
            + ", then ".join(f"{threshold:.0f}" for threshold in thresholds[1:])
            + ". A single client on an idle disk may gain no time from it: then nobody waits for what is read in vain."
        ),
    )


def scanned(trial: Trial) -> CounterProofRecord:
    """Scans use read-ahead: without it they wait for every page."""
    server = trial.server
    with server.connect() as connection:
        make_table(connection, io.ORDERS, PAGES)
        one = partial(scan, connection, io.ORDERS)
        trial.silent(snapshots(server, one, 3))
        threshold = _threshold(server)
        times: dict[float, list[float]] = {threshold: [], 0.0: []}
        waited: dict[float, float] = {}
        for _ in range(SCANS):
            for each, took in times.items():
                execute(server, f"SET GLOBAL {_THRESHOLD} = {each:.0f}")
                before = global_status(server, "Innodb_buffer_pool_reads")
                took.append(seconds(one, times=1))
                waited[each] = global_status(server, "Innodb_buffer_pool_reads") - before
        read = reads(server, one)
    return CounterProofRecord(
        folklore="Read-ahead is for hard disks: set innodb_read_ahead_threshold = 0 on an SSD.",
        source="widespread advice for SSDs",
        condition=f"full scans of a table of {PAGES} pages, several times the pool",
        followed=(f"SET GLOBAL {_THRESHOLD} = 0",),
        measures=(
            Comparison(what="reads that a scan waits for", unit="pages", before=waited[threshold], after=waited[0.0]),
            Comparison(what="a scan", unit="s", before=min(times[threshold]), after=min(times[0.0])),
        ),
        notes=f"A scan reads {read:.0f} pages either way.",
    )


def _ranges(server: Server) -> tuple[tuple[Snapshot, ...], dict[str, float]]:
    """Read the same ranges each time; the sidecar's snapshots, and the growth of the status counters."""
    before = {name: global_status(server, counter) for name, counter in _COUNTERS.items()}
    with server.connect() as connection:
        taken = snapshots(server, partial(io.RangeReads(PAGES), connection, RANGES), ROUNDS)
    return taken, {name: global_status(server, counter) - before[name] for name, counter in _COUNTERS.items()}


def _busy(server: Server) -> float:
    """Seconds for ranges that several clients read at once; the ranges are the same each time."""
    connections = [server.connect() for _ in range(CLIENTS)]
    threads = [
        threading.Thread(target=io.RangeReads(PAGES, seed), args=(connection, CLIENTS_RANGES))
        for seed, connection in enumerate(connections)
    ]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - began
    for connection in connections:
        connection.close()
    return took


def _threshold(server: Server) -> float:
    return query_number(server, f"SELECT @@{_THRESHOLD}")


PROOFS = (
    Proof(
        RULE,
        dict.fromkeys(("mysql-9.7", "mysql-5.6", "mariadb-10.5"), _SMALL | {"innodb-read-ahead-threshold": "32"}),
        wasted,
        takes=45.0,
    ),
)
COUNTER_PROOFS = (CounterProof(RULE, "mysql-9.7", _SMALL, scanned, takes=25.0),)
