"""Proofs of read-ahead-wasted: pages read ahead in vain, and the loss of scans without read-ahead."""

from __future__ import annotations

import threading
from functools import partial

from exporter.snapshot import Snapshot
from lab.captures.scenarios import io
from lab.harness.measure import Figures, counting, measure
from lab.harness.watch import snapshots
from lab.harness.workloads import make_table, scan
from lab.proofs.proof import ComparedFigure, CounterProof, EvidenceFigure, Proof
from lab.proofs.trial import RuleTrial
from lab.servers import PrivateServer
from lab.servers.sql import execute, query_number

RULE = "read-ahead-wasted"
TABLE_PAGES = 10_000
"""Several times the pool, so that a range rarely finds pages of an earlier one."""
RANGES, ROUNDS = 80, 2
CLIENTS, CLIENTS_RANGES = 8, 40
"""Enough to keep the disk busy: on an idle disk wasted reads cost no time."""
ALTERNATIONS, SCANS = 4, 3

_THRESHOLD = "innodb_read_ahead_threshold"
# Evictions by the page cleaner are not counted; a shorter free list reduces them.
_SMALL = {
    "innodb-buffer-pool-size": "24M",
    "innodb-lru-scan-depth": "100",
    "innodb-doublewrite": "0",
    "innodb-flush-method": "O_DIRECT",
}
_COUNTED = counting(
    pages_read="Innodb_pages_read",
    pages_read_ahead="Innodb_buffer_pool_read_ahead",
    pages_evicted_without_access="Innodb_buffer_pool_read_ahead_evicted",
)
"""The evidence comes from INNODB_BUFFER_POOL_STATS; these are of SHOW GLOBAL STATUS."""


@Proof(
    RULE,
    dict.fromkeys(("mysql-9.7", "mysql-5.6", "mariadb-10.5"), _SMALL | {"innodb-read-ahead-threshold": "32"}),
    condition=f"ranges of {io.RANGE_PAGES} pages at random places of a table of {TABLE_PAGES} pages, in a pool of"
    f" {_SMALL['innodb-buffer-pool-size']}, {_THRESHOLD} = {{threshold:.0f}}",
    facts=(
        *(EvidenceFigure(name.replace("_", " "), name, name) for name in _COUNTED),
        EvidenceFigure(
            "pages in vain, and what is not read without read-ahead",
            "pages_evicted_without_access",
            "in_vain",
            within=0.2,
        ),
    ),
    measures=(
        ComparedFigure("read by the same ranges", "pages", "pages_read"),
        ComparedFigure(
            f"ranges of {CLIENTS} clients at once, the least disturbed of {ALTERNATIONS} runs each, in turn",
            "s",
            "least_seconds",
        ),
    ),
    notes=f"The rule is followed until it is silent: {_THRESHOLD} = {{thresholds}}. A single client on an idle disk"
    " may gain no time from it: then nobody waits for what is read in vain.",
)
def _wasted(trial: RuleTrial) -> None:
    server = trial.server
    with server.connect() as connection:
        make_table(connection, io.ORDERS, TABLE_PAGES)
    _ranges(server)
    seen, first = _ranges(server)
    read, thresholds = [first["pages_read"]], [_threshold(server)]
    while thresholds[-1]:  # a low threshold is first raised to the default; from there only 0 reads less
        effect = trial.fires(seen).effect
        trial.follow()
        thresholds.append(_threshold(server))
        _ranges(server)
        seen, counted = _ranges(server)
        read.append(counted["pages_read"])
        trial.predicts(
            *read[-2:],
            quantity=f"{effect.quantity if effect else ''}, at {thresholds[-1]:.0f} instead of {thresholds[-2]:.0f}",
            finding=-1,
        )
    trial.silent(seen)
    trial.say("both are timed, in turn")
    trial.in_turn(ALTERNATIONS, *(partial(_busy, server, threshold) for threshold in (thresholds[0], thresholds[-1])))
    trial.take_back()
    trial.before |= first | {
        "in_vain": read[0] - read[-1],
        "threshold": thresholds[0],
        "thresholds": ", then ".join(f"{threshold:.0f}" for threshold in thresholds[1:]),
    }
    trial.after["pages_read"] = read[-1]


@CounterProof(
    RULE,
    {"mysql-9.7": _SMALL},
    folklore="Read-ahead is for hard disks: set innodb_read_ahead_threshold = 0 on an SSD.",
    source="widespread advice for SSDs",
    condition=f"full scans of a table of {TABLE_PAGES} pages, several times the pool",
    measures=(
        ComparedFigure("reads that a scan waits for", "pages", "waited"),
        ComparedFigure("a scan", "s", "least_seconds"),
    ),
    notes="A scan reads {pages:.0f} pages either way.",
)
def _scanned(trial: RuleTrial) -> None:
    server = trial.server
    with server.connect() as connection:
        make_table(connection, io.ORDERS, TABLE_PAGES)
        one_scan = partial(scan, connection, io.ORDERS)
        trial.silent(snapshots(server, one_scan, 3))

        def timed(threshold: float) -> Figures:
            execute(server, f"SET GLOBAL {_THRESHOLD} = {threshold:.0f}")
            return measure(server, one_scan, counters=counting(waited="Innodb_buffer_pool_reads"))

        trial.in_turn(SCANS, partial(timed, _threshold(server)), partial(timed, 0.0))
        trial.before["pages"] = measure(server, one_scan)["pages"]
    trial.folklore.append(f"SET GLOBAL {_THRESHOLD} = 0")


def _ranges(server: PrivateServer) -> tuple[tuple[Snapshot, ...], Figures]:
    """Read the same ranges each time; the sidecar's snapshots, and the growth of the status counters."""
    before = {name: read(server) for name, read in _COUNTED.items()}
    with server.connect() as connection:
        seen = snapshots(server, partial(io.RangeReads(TABLE_PAGES), connection, RANGES), ROUNDS)
    return seen, {name: read(server) - before[name] for name, read in _COUNTED.items()}


def _busy(server: PrivateServer, threshold: float) -> Figures:
    """Ranges that several clients read at once; the ranges are the same each time."""
    execute(server, f"SET GLOBAL {_THRESHOLD} = {threshold:.0f}")
    connections = [server.connect() for _ in range(CLIENTS)]
    threads = [
        threading.Thread(target=io.RangeReads(TABLE_PAGES, seed), args=(connection, CLIENTS_RANGES))
        for seed, connection in enumerate(connections)
    ]

    def read() -> None:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    figures = measure(server, read)
    for connection in connections:
        connection.close()
    return figures


def _threshold(server: PrivateServer) -> float:
    return query_number(server, f"SELECT @@{_THRESHOLD}")


PROOFS = (_wasted,)
COUNTER_PROOFS = (_scanned,)
