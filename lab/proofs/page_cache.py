"""Proofs of double-buffering: pages in both the operating system's page cache and the buffer pool."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from lab.captures.scenarios import io
from lab.harness.measure import Counters, measure
from lab.harness.watch import snapshots
from lab.harness.workloads import look_up, make_table, scan, with_connection
from lab.packages.cache import UnavailableHere
from lab.processes.usage import io_bytes
from lab.proofs.proof import ComparedFigure, CounterProof, EvidenceFigure, PredictedFigure, Proof
from lab.proofs.trial import RuleTrial
from lab.servers import PrivateServer
from lab.servers.sql import query_number

RULE = "double-buffering"
PAGE_BYTES = 16_384
TABLE_PAGES = 2500
MISSED_PAGES = 8000
"""Several times the small pool."""
LOOKUPS, SCANS, TIMED = 1000, 15, 5
SETTLING_SECONDS = 0.5

_DIRECT = {"innodb-flush-method": "O_DIRECT"}
_LARGE = {"innodb-buffer-pool-size": "96M"}
_SMALL = {"innodb-buffer-pool-size": "24M", "innodb-lru-scan-depth": "100"}
_BUFFERED = {"innodb-flush-method": "fsync"}
_SETTINGS = ("innodb-flush-method", "innodb-data-file-buffering")
_DISK: Counters = {"disk": lambda server: io_bytes(server.pid, "read_bytes") / PAGE_BYTES}


@Proof(
    RULE,
    {
        "mysql-9.7": _LARGE | _BUFFERED,
        "mysql-5.6": _LARGE | _BUFFERED,
        "mariadb-10.11": _LARGE | _BUFFERED,
        "mariadb-11.8": _LARGE | {"innodb-data-file-buffering": "ON"},
    },
    condition=f"scans of a table of {TABLE_PAGES} pages that fits the pool, whose pages are read through the page cache"
    " ({through})",
    facts=(EvidenceFigure("pages in the pool", "pages_in_the_pool", "in_pool"),),
    effect=PredictedFigure("cached", now="cached"),
    measures=(
        ComparedFigure("read by the first scan after a start", "pages", "cold"),
        ComparedFigure("read by a later scan", "pages", "pages"),
    ),
    notes="The rule does not know how many pages the page cache holds: what is now is what fincore counts. Both"
    " caches are emptied before. A later scan took {ms:.0f} ms, and then {after[ms]:.0f} ms.",
)
def _direct(trial: RuleTrial) -> None:
    server = trial.server
    one_scan = with_connection(server, scan, io.ORDERS)
    _need_fincore()
    with server.connect() as connection:
        make_table(connection, io.ORDERS, TABLE_PAGES)

    def scanned_cold(options: Mapping[str, str]) -> None:
        """Scan after a start with empty caches, and count the pages in the page cache afterwards."""
        _restart_with_empty_caches(server, options)
        cold = measure(server, one_scan)["pages"]
        time.sleep(SETTLING_SECONDS)
        trial.record({"cold": cold, "cached": _cached(server)})

    def scanned_warm() -> None:
        trial.measure(one_scan)
        trial.record({"ms": 1000 * measure(server, one_scan, SCANS)["seconds"]})

    def watched() -> None:
        """Only the second observation counts.

        After a start the first one itself reads some pages of the dictionary and the statistics (seen: 25). In a
        window of 0.2 s they would be a pool that misses 112 pages per second.
        """
        snapshots(server, one_scan, 1)

    scanned_cold({})
    trial.before["through"] = ", ".join(
        f"{name} = {server.options[name]}" for name in _SETTINGS if name in server.options
    )
    watched()
    finding = trial.fires(snapshots(server, one_scan, 3))
    trial.before["in_pool"] = query_number(server, "SELECT COUNT(*) FROM information_schema.INNODB_BUFFER_PAGE_LRU")
    scanned_warm()
    trial.follow()
    lines = [change.config for change in finding.changes]  # keeps across the restart what SET GLOBAL changed
    scanned_cold(dict(line.split(" = ") for line in lines))
    watched()
    trial.silent(snapshots(server, one_scan, 3))
    scanned_warm()
    trial.take_back()


@CounterProof(
    RULE,
    {"mariadb-10.11": _SMALL | _BUFFERED},
    folklore="Always set innodb_flush_method = O_DIRECT: the page cache is a waste of memory.",
    source="widespread advice on innodb_flush_method",
    condition=f"lookups at random places of a table of {MISSED_PAGES} pages, in a pool of"
    f" {_SMALL['innodb-buffer-pool-size']}; the page cache holds all of it",
    measures=(
        ComparedFigure(f"read from the disk by {LOOKUPS} lookups", "pages", "disk"),
        ComparedFigure(f"{LOOKUPS} lookups, as a median", "s", "seconds"),
    ),
    notes=f"{LOOKUPS} lookups miss the pool {{missed:.0f}} times. The rule changes no setting here: it says to"
    " enlarge the pool first.",
)
def _page_cache_serves(trial: RuleTrial) -> None:
    server = trial.server
    lookups = with_connection(server, look_up, io.ORDERS, MISSED_PAGES, LOOKUPS)
    _need_fincore()
    with server.connect() as connection:
        make_table(connection, io.ORDERS, MISSED_PAGES)
        scan(connection, io.ORDERS)  # into the page cache
    trial.changes_nothing(snapshots(server, lookups, 3))
    trial.measure(lookups, TIMED, counters=_DISK)
    trial.restart_with_folklore(_DIRECT)
    lookups()
    trial.measure(lookups, TIMED, counters=_DISK)
    trial.before["missed"] = measure(server, lookups)["pages"]


def _restart_with_empty_caches(server: PrivateServer, options: Mapping[str, str]) -> None:
    server.restart(options)
    for file in _data_files(server):
        with file.open("rb") as opened:
            os.fsync(opened.fileno())
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _cached(server: PrivateServer) -> float:
    """Pages of all data files in the page cache."""
    shown = subprocess.run(
        ["fincore", "-nb", "-o", "RES", *map(str, _data_files(server))],
        capture_output=True,
        text=True,
        check=True,
    )
    return sum(map(int, shown.stdout.split())) / PAGE_BYTES


def _data_files(server: PrivateServer) -> Iterator[Path]:
    yield from sorted(server.datadir.glob("ibdata*"))
    yield from sorted(server.datadir.rglob("*.ibd"))


def _need_fincore() -> None:
    """Check that the machine can count pages in the page cache."""
    if shutil.which("fincore") is None:
        raise UnavailableHere("fincore (of util-linux), which counts pages in the page cache, is not installed")


PROOFS = (_direct,)
COUNTER_PROOFS = (_page_cache_serves,)
